package http1

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"time"
)

// A crowdedListener accepts on the loopback, within limits.
type crowdedListener struct {
	t *testing.T
	net.Listener
	*Limit
}

func newCrowdedListener(t *testing.T, l Limits) crowdedListener {
	t.Helper()
	on, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { on.Close() })
	limit := NewLimit(l)
	return crowdedListener{t, limit.Listener(on), limit}
}

// A pair is both ends of a connection. The server's end serves as net/http would:
// it is closed once the read fails.
type pair struct {
	t              *testing.T
	client, server net.Conn
}

// connect returns a connection that was admitted.
func (l crowdedListener) connect(from string) pair {
	l.t.Helper()
	client := l.dial(from)
	server, err := l.Accept()
	if err != nil {
		l.t.Fatal(err)
	}
	go func() {
		_, _ = server.Read(make([]byte, 1))
		server.Close()
	}()
	l.t.Cleanup(func() { server.Close() })
	return pair{l.t, client, server}
}

func (l crowdedListener) dial(from string) net.Conn {
	l.t.Helper()
	client, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", l.Addr().String())
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { client.Close() })
	return client
}

// recognize shows a key.
func (p pair) recognize() { Recognize(withMember(context.Background(), p.server)) }

// want checks whether the client's connection is closed, or stays open.
func (p pair) want(name string, open bool) {
	p.t.Helper()
	patience := 10 * time.Second
	if open {
		patience = 20 * time.Millisecond
	}
	if err := p.client.SetReadDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	_, err := p.client.Read(make([]byte, 1))
	if got := errors.Is(err, os.ErrDeadlineExceeded); got != open {
		p.t.Errorf("%s: open is %v (%v), want %v", name, got, err, open)
	}
}

func TestLimitClosesTheOldestWithoutKey(t *testing.T) {
	t.Parallel()
	l := newCrowdedListener(t, Limits{All: 3, PerAddress: 9, HTTP2: 9})
	known, first, second := l.connect("127.0.0.1"), l.connect("127.0.0.1"), l.connect("127.0.0.1")
	known.recognize()
	third := l.connect("127.0.0.1")
	known.want("the one with a key", true)
	first.want("the oldest without a key", false)
	second.want("a younger one", true)
	third.want("the newcomer", true)
	if open, closed := l.Open(), l.Closed(); open != 3 || closed != 1 {
		t.Errorf("%d open and %d closed, want 3 and 1", open, closed)
	}
}

func TestLimitClosesOfTheLargestAddress(t *testing.T) {
	t.Parallel()
	l := newCrowdedListener(t, Limits{All: 3, PerAddress: 9, HTTP2: 9})
	alone, one, two := l.connect("127.0.0.1"), l.connect("127.0.0.2"), l.connect("127.0.0.2")
	last := l.connect("127.0.0.3")
	alone.want("the oldest of all, alone at its address", true)
	one.want("the oldest of the largest address", false)
	two.want("the other of it", true)
	last.want("the newcomer", true)
}

func TestLimitOfAnAddress(t *testing.T) {
	t.Parallel()
	l := newCrowdedListener(t, Limits{All: 9, PerAddress: 2, HTTP2: 9, Exempt: []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")}})
	first, second, third := l.connect("127.0.0.1"), l.connect("127.0.0.1"), l.connect("127.0.0.1")
	first.want("the oldest", false)
	second.want("the second", true)
	third.want("the newcomer", true)
	for range 3 {
		l.connect("127.0.0.9").want("one of a proxy", true)
	}
}

func TestLimitRefusesAmongKeys(t *testing.T) {
	t.Parallel()
	l := newCrowdedListener(t, Limits{All: 1, PerAddress: 9, HTTP2: 9})
	known := l.connect("127.0.0.1")
	known.recognize()
	refused := pair{t, l.dial("127.0.0.1"), nil}
	go func() { _, _ = l.Accept() }() // until the listener is closed
	refused.want("one more", false)
	known.want("the one with a key", true)
}

func TestLimitOfHTTP2(t *testing.T) {
	t.Parallel()
	l := newCrowdedListener(t, Limits{All: 9, PerAddress: 9, HTTP2: 1})
	first, second, third := l.connect("127.0.0.1"), l.connect("127.0.0.1"), l.connect("127.0.0.1")
	speaksHTTP2(first.server, time.Minute)
	first.recognize()
	speaksHTTP2(second.server, time.Minute)
	first.want("the one with a key", true)
	second.want("the only one without a key", true)
	speaksHTTP2(third.server, time.Minute)
	second.want("the one before, without a key", false)
	third.want("the newcomer", true)
}

func TestLimitOfHTTP2ClosesOfTheLargestAddress(t *testing.T) {
	t.Parallel()
	l := newCrowdedListener(t, Limits{All: 9, PerAddress: 9, HTTP2: 3})
	alone, one, two := l.connect("127.0.0.1"), l.connect("127.0.0.2"), l.connect("127.0.0.2")
	last := l.connect("127.0.0.3")
	for _, p := range []pair{alone, one, two, last} {
		speaksHTTP2(p.server, time.Minute)
	}
	alone.want("the oldest of all, alone at its address", true)
	one.want("the oldest of the largest address", false)
	two.want("the other of it", true)
	last.want("the newcomer", true)
}

// A connection that was closed for another keeps its place until its requests have
// ended, which hold memory as long.
func TestLimitOfHTTP2WaitsForRequests(t *testing.T) {
	t.Parallel()
	l := newCrowdedListener(t, Limits{All: 9, PerAddress: 9, HTTP2: 1})
	first, second := l.connect("127.0.0.1"), l.connect("127.0.0.1")
	speaksHTTP2(first.server, time.Minute)
	begun, end := make(chan struct{}), make(chan struct{})
	handler := counted(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(begun); <-end }))
	request := (&http.Request{ProtoMajor: 2}).WithContext(withMember(context.Background(), first.server))
	go handler.ServeHTTP(nil, request)
	<-begun
	entered := make(chan struct{})
	go func() { speaksHTTP2(second.server, time.Minute); close(entered) }()
	first.want("the first", false)
	select {
	case <-entered:
		t.Error("the second has the place while a request of the first is being answered")
	case <-time.After(20 * time.Millisecond):
	}
	close(end)
	<-entered
	second.want("the second", true)
}

// One of HTTP/2 that nobody reads from any more, as net/http does once it has sent
// GOAWAY, does not keep others waiting when it was closed for them.
func TestLimitDoesNotWaitForTheDeaf(t *testing.T) {
	t.Parallel()
	l := newCrowdedListener(t, Limits{All: 2, PerAddress: 9, HTTP2: 1})
	deaf := func() pair {
		client := l.dial("127.0.0.1")
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		speaksHTTP2(server, time.Minute)
		return pair{t, client, server}
	}
	all := []pair{deaf(), deaf(), deaf(), deaf()}
	for _, p := range all[:3] {
		p.want("one that was closed for others", false)
	}
	all[3].want("the newcomer", true)
	l.connect("127.0.0.1").want("one of HTTP/1.1", true)
}

func TestNetworkOfAnAddress(t *testing.T) {
	t.Parallel()
	l := NewLimit(Limits{Exempt: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	for addr, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1/32", "[::ffff:192.0.2.1]:80": "192.0.2.1/32", "[2001:db8::1:2:3:4]:80": "2001:db8::/64",
		"[fe80::1%eth0]:80": "fe80::/64", "10.1.2.3:80": "invalid Prefix",
	} {
		if got := l.network(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))).String(); got != want {
			t.Errorf("network(%s) = %s, want %s", addr, got, want)
		}
	}
	if got := l.network(&net.UnixAddr{Name: "@", Net: "unix"}); got.IsValid() {
		t.Errorf("a Unix socket is of %v, want none", got)
	}
}
