package webhook

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// checkedURLs are URLs that both guards of TestCheckURL allow, that the lax one allows, and that none does.
var checkedURLs = []struct {
	strict, lax bool
	urls        []string
}{
	{true, true, []string{
		"https://example.com/events?shop=1", "https://example.com:8443", "https://[2606:4700::1111]/", "https://168.63.129.17/",
		"https://127.1.example.com/", "https://example.com:65535/",
	}},
	{false, true, []string{
		"http://example.com/", "https://10.1.2.3/", "https://127.0.0.1/", "https://localhost:8080/", "https://[::ffff:10.1.2.3]/",
	}},
	{false, false, []string{
		"https://10.2.0.1/", "https://127.0.0.2/", "https://169.254.169.254/latest", "https://168.63.129.16/metadata", "https://161.26.0.10/",
		"https://166.9.1.2/", "https://100.100.100.200/", "https://[fd00:ec2::254]/", "https://100.64.0.1/", "https://0.0.0.0/", "https://224.0.0.1/",
		"https://0x7f.1/", "https://1.2.3/", "https://127.1/", "https://./", "https://example.com../", "https://example.com:0/",
		"https://example.com:65536/", "https://example.com:/", "https://[::1]/", "https://[fd00::1]/", "https://[::ffff:127.0.0.2]/",
		"https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/", "https://user:secret@example.com/", "https://example.com/#", "https:///events",
		"example.com/events", "ftp://example.com/", "https://exämple.com/", "https://example.com/a b", "https://example.com:port/",
		"https://" + strings.Repeat("a", 2048), "",
	}},
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	strict, lax := NewGuard(false, nil), NewGuard(true, []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("127.0.0.1/32")})
	for _, want := range checkedURLs {
		for _, url := range want.urls {
			for _, g := range []struct {
				*Guard
				want bool
			}{{strict, want.strict}, {lax, want.lax}} {
				fields := g.checkURL(nil, url)
				if got := len(fields) == 0; got != g.want {
					t.Errorf("checkURL(%.60q) = %v, want it allowed: %t", url, fields, g.want)
				}
				if len(fields) > 0 && fields[0].Pointer != "/url" {
					t.Errorf("checkURL(%.60q) names %q", url, fields[0].Pointer)
				}
			}
		}
	}
}

// A nameserver answers each question for an address with the next of its addresses.
type nameserver struct {
	answers []netip.Addr
	asked   atomic.Int64
}

// resolver returns a resolver that asks the nameserver.
func (n *nameserver) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	at, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.serve(at)
	}()
	t.Cleanup(func() { _ = at.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", at.LocalAddr().String())
	}}
}

func (n *nameserver) serve(at net.PacketConn) {
	buffer := make([]byte, 1500)
	for {
		size, from, err := at.ReadFrom(buffer)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buffer[:size]) != nil {
			continue
		}
		q := m.Questions[0]
		m.Header = dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true}
		m.Additionals = nil
		if len(n.answers) == 0 {
			m.RCode = dnsmessage.RCodeNameError
		} else if q.Type == dnsmessage.TypeA {
			ip := n.answers[(n.asked.Add(1)-1)%int64(len(n.answers))]
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: ip.As4()},
			}}
		}
		if answer, err := m.Pack(); err == nil {
			_, _ = at.WriteTo(answer, from)
		}
	}
}

// TestNames: what a name stands for is looked at for each connection, also if the name
// stood for something else a moment before. A name that does not exist looks like one of
// a private network.
func TestNames(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	receiver := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.Header().Set("Connection", "close")
	})}
	served := make(chan struct{})
	go func() { defer close(served); _ = receiver.Serve(l) }()
	t.Cleanup(func() { _ = receiver.Close(); <-served })
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	names := &nameserver{answers: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("169.254.169.254")}}
	allowed := NewGuard(true, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}) // stands for what is public
	s := NewSender(SenderOptions{Guard: allowed, Now: time.Now, Resolver: names.resolver(t)})
	t.Cleanup(s.Close)
	m := Message{ID: "1", URL: "http://rebind.example:" + port + "/", Secrets: []string{testSecret}}
	if a := s.Send(t.Context(), m); !a.OK() {
		t.Errorf("the first look-up: %+v, want success", a)
	}
	for range 3 {
		if a := s.Send(t.Context(), m); a.Status != 0 || a.Error != notFound {
			t.Errorf("a later look-up: %+v, want a refusal", a)
		}
	}
	if hits.Load() != 1 {
		t.Errorf("the receiver was reached %d times, want once", hits.Load())
	}
	none := NewSender(SenderOptions{Guard: allowed, Now: time.Now, Resolver: new(nameserver).resolver(t)})
	m.URL = "http://absent.example/"
	if a := none.Send(t.Context(), m); a.Error != notFound {
		t.Errorf("a name that there is not: %+v", a)
	}
	for host, want := range map[string]string{"redis.prod": "redis.prod.", "example.com.": "example.com.", "receiver": "receiver"} {
		_, err := none.dial(t.Context(), "tcp", host+":80")
		if name, ok := errors.AsType[*net.DNSError](err); !ok || name.Name != want {
			t.Errorf("%s is looked up as %+v, want %s", host, name, want)
		}
	}
}

const notFound = "The host was not found, or has no public address."
