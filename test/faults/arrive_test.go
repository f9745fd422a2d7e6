package faults

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestAStopWaitsForTheFirstRequest over HTTP/2: a client that has connected, and
// asks when the server has begun to stop, is answered.
func TestAStopWaitsForTheFirstRequest(t *testing.T) {
	for name, secure := range map[string]bool{"HTTP/2": false, "HTTP/2 over TLS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := servertest.Options{Dir: t.TempDir(), Flags: []string{"--log-level=warn", "--h2c=on"}}
			settings := &tls.Config{NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
			if secure {
				trust, err := writeCertificate(options.Dir)
				if err != nil {
					t.Fatal(err)
				}
				settings.RootCAs = trust
				options.Flags = append(options.Flags, "--tls-cert=cert.pem", "--tls-key=key.pem")
			}
			server, err := petstore.Serve(options)
			if err != nil {
				t.Fatal(err)
			}
			_, addr, _ := strings.Cut(server.URL, "://")
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if secure {
				settings.ServerName = "127.0.0.1"
				c = tls.Client(c, settings)
			}
			f := agree(t, c)
			stopped := make(chan error, 1)
			go func() { stopped <- server.Stop() }()
			refusesNew(t, addr)
			if got := statusOf(t, f); got != "401" {
				t.Errorf("the first request, after the stop has begun = %s, want 401", got)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		})
	}
}

// agree begins HTTP/2 and waits for the server's settings.
func agree(t *testing.T, c net.Conn) *http2.Framer {
	t.Helper()
	f := http2.NewFramer(c, c)
	_, err := io.WriteString(c, http2.ClientPreface)
	if err == nil {
		err = f.WriteSettings()
	}
	if err == nil {
		err = c.SetDeadline(time.Now().Add(servertest.Patience))
	}
	for err == nil {
		var frame http2.Frame
		if frame, err = f.ReadFrame(); err == nil && frame.Header().Type == http2.FrameSettings {
			return f
		}
	}
	t.Fatal(err)
	return nil
}

// refusesNew waits until nobody accepts connections.
func refusesNew(t *testing.T, addr string) {
	t.Helper()
	servertest.Eventually(t, "the server accepts no connections", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
}

// statusOf asks for the pets and returns the status of the answer.
func statusOf(t *testing.T, f *http2.Framer) (status string) {
	t.Helper()
	var header bytes.Buffer
	e := hpack.NewEncoder(&header)
	for _, h := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/pets"}} {
		if err := e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			t.Fatal(err)
		}
	}
	err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: header.Bytes(), EndHeaders: true, EndStream: true})
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for err == nil {
		var frame http2.Frame
		frame, err = f.ReadFrame()
		if head, ok := frame.(*http2.MetaHeadersFrame); ok && err == nil {
			return head.PseudoValue("status")
		}
	}
	t.Fatal(err)
	return ""
}
