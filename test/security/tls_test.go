package security

import (
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"testing"

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
func shake(addr string, config *tls.Config) (*tls.Conn, error) {
	config.InsecureSkipVerify = true
	return tls.DialWithDialer(&net.Dialer{Timeout: servertest.Patience}, "tcp", addr, config)
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
		if _, err := shake(addr, &tls.Config{MinVersion: version, MaxVersion: version}); err == nil {
			t.Errorf("%s is taken", tls.VersionName(version))
		}
	}
	for _, suite := range slices.Concat(tls.InsecureCipherSuites(), tls.CipherSuites()) {
		if !suite.Insecure && !strings.Contains(suite.Name, "_CBC_") {
			continue
		}
		if _, err := shake(addr, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}}); err == nil {
			t.Errorf("%s is taken", suite.Name)
		}
	}
	c, err := shake(addr, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}})
	if err != nil {
		t.Fatalf("a good cipher is refused: %v", err)
	}
	c.Close()
	certify(t, s.dir, "second")
	servertest.Eventually(t, "the new certificate is shown", func() bool {
		c, err := shake(addr, &tls.Config{})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName == "second"
	})
	if resp, err := client.Get("http://" + addr); err == nil {
		resp.Body.Close()
		t.Errorf("a request without TLS was answered: %d", resp.StatusCode)
	}
}
