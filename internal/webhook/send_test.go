package webhook

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// loopback are the addresses on which tests receive.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// newTestSender returns a sender that reaches receivers on this machine.
func newTestSender(t *testing.T, allowed ...netip.Prefix) *Sender {
	t.Helper()
	s := NewSender(SenderOptions{Guard: NewGuard(true, allowed), Now: time.Now, Version: "test"})
	t.Cleanup(s.Close)
	return s
}

// receive returns the URL of a receiver.
func receive(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// TestSignVector: the published vector of Standard Webhooks.
func TestSignVector(t *testing.T) {
	t.Parallel()
	h := make(http.Header)
	m := Message{ID: "msg_p5jXN8AQM9LWM0D4loKWxJek", Secrets: []string{testSecret}, Body: []byte(`{"test": 2432232314}`)}
	must(t, Sign(h, m, time.Unix(1614265330, 0)))
	for name, want := range map[string]string{
		"webhook-id":        "msg_p5jXN8AQM9LWM0D4loKWxJek",
		"webhook-timestamp": "1614265330",
		"webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

// TestSend: what a receiver gets is what the published library verifies, with each of
// the secrets and with no other.
func TestSend(t *testing.T) {
	t.Parallel()
	old, other := MintSecret(), MintSecret()
	url := receive(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != `{"id":1}` || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.UserAgent() != "Petstore/test" {
			t.Errorf("received %s %q %q: %s, %v", r.Method, r.UserAgent(), r.Header.Get("Content-Type"), body, err)
		}
		for secret, want := range map[string]bool{testSecret: true, old: true, other: false} {
			v, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				t.Error(err)
			} else if err := v.Verify(body, r.Header); (err == nil) != want {
				t.Errorf("Verify with %s = %v, want success: %t", secret, err, want)
			}
		}
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "thanks\x00\xff")
	})
	a := newTestSender(t, loopback...).Send(t.Context(), Message{ID: "evt_1_1", URL: url, Secrets: []string{testSecret, old}, Body: []byte(`{"id":1}`)})
	if a.Status != 202 || a.Text != "thanks\ufffd\ufffd" || a.Error != "" || a.RetryAfter != 2*time.Minute || a.Latency <= 0 || !a.OK() {
		t.Errorf("Send = %+v", a)
	}
}

// TestReason has reasons that no receiver of a test gives.
func TestReason(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"The name of the host could not be looked up.": &net.DNSError{Err: "server misbehaving"},
		"The connection was refused.":                  &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"The connection could not be made.":            &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH},
		string(errInvalid):                             &net.OpError{Op: "read", Err: syscall.ECONNRESET},
	} {
		if got := reason(t.Context(), err); got != want {
			t.Errorf("reason(%v) = %q, want %q", err, got, want)
		}
	}
}

// TestDirect: a message goes to its host itself, over HTTP/1.1, whatever else the host
// speaks, and whatever proxies the environment has.
func TestDirect(t *testing.T) {
	t.Parallel()
	resolver := (&nameserver{answers: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}).resolver(t)
	for _, secure := range []bool{false, true} {
		var got string
		receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if got = r.Proto + " " + r.Host + r.RequestURI; r.TLS != nil {
				got += " " + r.TLS.ServerName
			}
		}))
		t.Cleanup(receiver.Close)
		options, scheme, name := SenderOptions{Guard: NewGuard(true, loopback), Now: time.Now, Resolver: resolver}, "http://", ""
		if receiver.EnableHTTP2 = true; secure {
			receiver.StartTLS()
			options.TLS = receiver.Client().Transport.(*http.Transport).TLSClientConfig
			scheme, name = "https://", " example.com"
		} else {
			receiver.Start()
		}
		_, port, err := net.SplitHostPort(receiver.Listener.Addr().String())
		must(t, err)
		s := NewSender(options)
		t.Cleanup(s.Close)
		a := s.Send(t.Context(), Message{ID: "1", URL: scheme + "example.com:" + port + "/", Secrets: []string{testSecret}})
		if want := "HTTP/1.1 example.com:" + port + "/" + name; !a.OK() || got != want {
			t.Errorf("Send = %+v; received %q, want %q", a, got, want)
		}
	}
}

func TestSendCertificate(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	receiver.Config.ErrorLog = log.New(io.Discard, "", 0)
	receiver.StartTLS()
	t.Cleanup(receiver.Close)
	m := Message{ID: "1", URL: receiver.URL, Secrets: []string{testSecret}}
	if a := newTestSender(t, loopback...).Send(t.Context(), m); a.Error != "The certificate is not valid: x509: certificate signed by unknown authority" {
		t.Errorf("Send to an unknown certificate = %+v", a)
	}
	trusting := NewSender(SenderOptions{
		Guard: NewGuard(false, loopback), Now: time.Now,
		TLS: &tls.Config{RootCAs: receiver.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12},
	})
	t.Cleanup(trusting.Close)
	if a := trusting.Send(t.Context(), m); !a.OK() {
		t.Errorf("Send to a known certificate = %+v", a)
	}
}
