package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/processtest"
)

// writePair writes a new self-signed certificate for the loopback, and its key.
func writePair(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	cert, key, err := processtest.WriteCertificate(dir, name)
	must(t, err)
	return cert, key
}

func TestCertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := writePair(t, dir, "first")
	var said strings.Builder
	c := &certificate{cert: cert, key: key, log: slog.New(slog.NewTextHandler(&said, nil))}
	want := func(what, name string, fails bool) {
		t.Helper()
		err := c.read(t.Context())
		pair, _ := c.get(nil)
		if fails != strings.HasPrefix(fmt.Sprint(err), cert+" and "+key+": ") || pair.Leaf.Subject.CommonName != name {
			t.Errorf("the certificate %s = %v, %v; want %s", what, pair.Leaf.Subject.CommonName, err, name)
		}
	}
	want("at first", "first", false)
	writePair(t, dir, "second")
	want("when the files have changed", "second", false)
	want("when they are the same", "second", false)
	if lines := strings.Split(said.String(), "\n"); len(lines) != 2 || !strings.Contains(lines[0], "until=") {
		t.Errorf("the log has %q, want one line with the end of the new certificate", lines)
	}
	_, wrong := writePair(t, t.TempDir(), "third")
	text, err := os.ReadFile(wrong)
	must(t, err)
	must(t, os.WriteFile(key, append(text, '\n'), 0o600))
	want("with the key of another", "second", true)
	writePair(t, dir, "fourth")
	want("when both fit again", "fourth", false)
}

// settings returns those of a node that listens on any port of the loopback,
// with its database in a new folder.
func settings(t *testing.T) *config.Config {
	t.Helper()
	c := config.New()
	c.Addr, c.OpsAddr, c.DB = "127.0.0.1:0", config.Off, filepath.Join(t.TempDir(), "petstore.db")
	return c
}

func noEnvironment(string) string { return "" }

// serveTLS runs a node with TLS until ctx ends, and returns its URL and a client
// that trusts it.
func serveTLS(t *testing.T, ctx context.Context) (url string, trust *tls.Config) { //nolint:revive // t comes first in a test
	t.Helper()
	c := settings(t)
	c.TLSCert, c.TLSKey = writePair(t, t.TempDir(), "petstore")
	serves, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{
			Config: c, Getenv: noEnvironment, Log: io.Discard,
			Ready: func(s Serving) error { serves <- s.URL; return nil },
		})
	}()
	select {
	case url = <-serves:
	case err := <-ended:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Errorf("Run = %v, want none", err)
		}
	})
	pool := x509.NewCertPool()
	text, err := os.ReadFile(c.TLSCert)
	must(t, err)
	pool.AppendCertsFromPEM(text)
	return url, &tls.Config{RootCAs: pool} //nolint:gosec // the versions are what is tested
}

func TestServeTLS(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	url, trust := serveTLS(t, ctx)
	if !strings.HasPrefix(url, "https://127.0.0.1:") {
		t.Fatalf("the service announces %s, want https", url)
	}
	for _, test := range []struct {
		proto  string
		client *http.Transport
	}{
		{"HTTP/1.1", &http.Transport{TLSClientConfig: trust.Clone(), TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}},
		{"HTTP/2.0", &http.Transport{TLSClientConfig: trust.Clone(), ForceAttemptHTTP2: true}},
	} {
		resp, err := (&http.Client{Transport: test.client}).Get(url + "/pets")
		if err != nil {
			t.Fatalf("%s: %v", test.proto, err)
		}
		resp.Body.Close()
		test.client.CloseIdleConnections()
		if resp.Proto != test.proto || resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("GET /pets = %s %d, HSTS %q; want %s 401 with HSTS", resp.Proto, resp.StatusCode, resp.Header.Get("Strict-Transport-Security"), test.proto)
		}
	}
	host := strings.TrimPrefix(url, "https://")
	for version, want := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		only := trust.Clone()
		only.MinVersion, only.MaxVersion = version, version
		c, err := tls.Dial("tcp", host, only)
		if err == nil {
			c.Close()
		}
		if (err == nil) != want {
			t.Errorf("%s: %v, want it taken: %v", tls.VersionName(version), err, want)
		}
	}
	for _, suite := range slices.Concat(tls.InsecureCipherSuites(), tls.CipherSuites()) {
		only := trust.Clone()
		only.MaxVersion, only.CipherSuites = tls.VersionTLS12, []uint16{suite.ID}
		if c, err := tls.Dial("tcp", host, only); err == nil && (suite.Insecure || strings.Contains(suite.Name, "_CBC_")) {
			c.Close()
			t.Errorf("%s is taken", suite.Name)
		}
	}
	c, err := tls.Dial("tcp", host, trust)
	must(t, err)
	defer c.Close()
	if _, err := io.WriteString(c, "GET /pets HTTP/1.1\r\n\r\n"); err != nil { // no Host
		t.Fatal(err)
	}
	if text, err := io.ReadAll(c); err != nil || !strings.Contains(string(text), `"code":"invalid_parameter"`) {
		t.Errorf("a request that is not well-formed = %q, %v; want an Error", text, err)
	}
}

func TestTLSFaults(t *testing.T) {
	t.Parallel()
	cert, key := writePair(t, t.TempDir(), "petstore")
	for _, test := range []struct {
		name      string
		cert, key string
		want      string
	}{
		{"no file", cert, "nowhere.pem", "--tls-key: nowhere.pem cannot be read: no such file or directory"},
		{"the wrong way round", key, cert, "--tls-cert: tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := settings(t)
			c.TLSCert, c.TLSKey = test.cert, test.key
			err := Run(t.Context(), Options{Config: c, Getenv: noEnvironment, Log: io.Discard})
			if _, fault := errors.AsType[*config.Fault](err); !fault || err.Error() != test.want {
				t.Errorf("Run = %v, want the fault %s", err, test.want)
			}
			if _, err := os.Stat(c.DB); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a database was made: %v", err)
			}
		})
	}
}
