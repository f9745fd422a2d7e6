package node

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"example.com/petstore/internal/config"
)

func TestTrustInEverybody(t *testing.T) {
	t.Parallel()
	for proxies, want := range map[string]bool{"127.0.0.1/32 10.0.0.0/8": false, "10.0.0.0/8 0.0.0.0/0": true, "::/0": true} {
		c := config.New()
		for text := range strings.FieldsSeq(proxies) {
			c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix(text))
		}
		var log bytes.Buffer
		(&node{Options: Options{Config: c}, log: slog.New(slog.NewJSONHandler(&log, nil))}).warnTrustAll()
		if got := strings.Contains(log.String(), "every caller is trusted"); got != want {
			t.Errorf("with %s the log has %q", proxies, &log)
		}
	}
}

func TestOfWorld(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"127.0.0.1:9090": false, "[::1]:9090": false, "10.1.2.3:9090": false, "192.168.0.9:1": false, "[fd00::1]:1": false, "[fe80::1%eth0]:1": false, "@": false,
		"0.0.0.0:9090": true, "[::]:9090": true, "203.0.113.7:9090": true, "[2001:db8::1]:9090": true, "[::ffff:203.0.113.7]:1": true,
	} {
		if got := isPublic(addr); got != want {
			t.Errorf("isPublic(%q) = %v, want %v", addr, got, want)
		}
	}
}

func TestLocalURL(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:80":   "http://127.0.0.1:80",
		"0.0.0.0:8080":   "http://localhost:8080",
		"[::]:8080":      "http://localhost:8080",
		":8080":          "http://localhost:8080",
		"[::1]:1":        "http://[::1]:1",
		"pets.example:2": "http://pets.example:2",
	} {
		if got := LocalURL(addr); got != want {
			t.Errorf("LocalURL(%q) = %q, want %q", addr, got, want)
		}
	}
}
