package node

import "testing"

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
