package security

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/processtest"
	"example.com/petstore/test/servertest"
)

// certify writes a new certificate and its key for 127.0.0.1 into dir.
func certify(t *testing.T, dir, name string) (flags []string) {
	t.Helper()
	cert, key, err := processtest.WriteCertificate(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--tls-cert=" + cert, "--tls-key=" + key}
}

// shake agrees on TLS. Whose certificate it is, the tests look at themselves.
func shake(addr, from string, config *tls.Config) (*tls.Conn, error) {
	config.InsecureSkipVerify = true
	return tls.DialWithDialer(&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: servertest.Patience}, "tcp", addr, config)
}

// TestTLS offers what is no longer safe, and has the certificate change while
// the service runs.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.workspace("shop")
	s.serve(certify(t, s.dir, "first")...)
	addr := strings.TrimPrefix(s.URL, "https://")
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11} {
		if _, err := shake(addr, "127.0.0.1", &tls.Config{MinVersion: version, MaxVersion: version}); err == nil {
			t.Errorf("%s is taken", tls.VersionName(version))
		}
	}
	for _, suite := range tls.InsecureCipherSuites() {
		if _, err := shake(addr, "127.0.0.1", &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}}); err == nil {
			t.Errorf("%s is taken", suite.Name)
		}
	}
	for _, suite := range tls.CipherSuites() {
		if !strings.Contains(suite.Name, "_CBC_") {
			continue
		}
		if _, err := shake(addr, "127.0.0.1", &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}}); err == nil {
			t.Errorf("%s is taken", suite.Name)
		}
	}
	c, err := shake(addr, "127.0.0.1", &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}})
	if err != nil {
		t.Fatalf("a good cipher is refused: %v", err)
	}
	c.Close()
	certify(t, s.dir, "second")
	servertest.Eventually(t, "the new certificate is shown", func() bool {
		c, err := shake(addr, "127.0.0.1", &tls.Config{})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName == "second"
	})
	plain := dial(t, addr)
	plain.write(t, get+"\r\n")
	if resp, text, err := plain.read("GET"); err == nil {
		t.Errorf("a request without TLS was answered: %d %s", resp.StatusCode, text)
	}
}

// TestSmugglingUnderTLS sends the vectors within TLS.
func TestSmugglingUnderTLS(t *testing.T) {
	t.Parallel()
	onLoopbacks(t)
	s := newSite(t)
	key := s.workspace("shop")
	s.serve(append(certify(t, s.dir, "shop"), "--log-level=error")...)
	for i, v := range vectors() {
		c, err := shake(strings.TrimPrefix(s.URL, "https://"), fmt.Sprint("127.0.1.", i), &tls.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(servertest.Patience)); err != nil {
			t.Fatal(err)
		}
		l := line{c, bufio.NewReader(c)}
		raw, want := v.complete(key)
		l.write(t, raw)
		if got := l.statuses(t); !slices.Equal(got, want) {
			t.Errorf("%s: answers %v, want %v", v.name, got, want)
		}
	}
}
