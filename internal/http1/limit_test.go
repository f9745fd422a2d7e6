package http1

import (
	"errors"
	"fmt"
	"net"
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
	must(t, err)
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
	must(l.t, err)
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
	must(l.t, err)
	l.t.Cleanup(func() { client.Close() })
	return client
}

// recognize shows a key of a workspace.
func (p pair) recognize(workspace int64) {
	p.server.(*countedConn).recognize(workspace, fmt.Sprint("key_", workspace))
}

// want checks whether the client's connection is closed, or stays open.
func (p pair) want(name string, open bool) {
	p.t.Helper()
	timeout := 10 * time.Second
	if open {
		timeout = 20 * time.Millisecond
	}
	must(p.t, p.client.SetReadDeadline(time.Now().Add(timeout)))
	_, err := p.client.Read(make([]byte, 1))
	if got := errors.Is(err, os.ErrDeadlineExceeded); got != open {
		p.t.Errorf("%s: open is %v (%v), want %v", name, got, err, open)
	}
}

func TestLimitClosesTheOldestWithoutKey(t *testing.T) {
	t.Parallel()
	l := newCrowdedListener(t, Limits{Connections: 3})
	known, first, second := l.connect("127.0.0.1"), l.connect("127.0.0.1"), l.connect("127.0.0.1")
	known.recognize(1)
	third := l.connect("127.0.0.1")
	known.want("the one with a key", true)
	first.want("the oldest without a key", false)
	second.want("a younger one", true)
	third.want("the newcomer", true)
	if s := l.Connections(); s.Used != 3 || s.Yielded != 1 {
		t.Errorf("%d open and %d closed, want 3 and 1", s.Used, s.Yielded)
	}
}

// Connections of proxies are never closed for others, whatever key comes on them.
func TestLimitLeavesProxies(t *testing.T) {
	t.Parallel()
	l := newCrowdedListener(t, Limits{Connections: 3, Exempt: []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")}})
	first, second := l.connect("127.0.0.9"), l.connect("127.0.0.9")
	second.recognize(1)
	alone := l.connect("127.0.0.1")
	other := l.connect("127.0.0.2")
	first.want("one of a proxy", true)
	second.want("another of it", true)
	alone.want("the only other", false)
	other.want("the newcomer", true)
}

// A key that has ended gives its connections no credential: they count for their address.
func TestLimitRechecksKeys(t *testing.T) {
	t.Parallel()
	l := newCrowdedListener(t, Limits{Connections: 2})
	revoked, valid := l.connect("127.0.0.1"), l.connect("127.0.0.2")
	revoked.recognize(1)
	valid.recognize(2)
	l.Recheck(func(key string) bool { return key == "key_2" })
	l.connect("127.0.0.3").want("the newcomer", true)
	revoked.want("the one whose key is not valid any more", false)
	valid.want("the one whose key is valid", true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.identified) != 1 {
		t.Errorf("%d connections have a credential, want 1", len(l.identified))
	}
}

func TestHolderOfAnAddress(t *testing.T) {
	t.Parallel()
	l := NewLimit(Limits{Exempt: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	for addr, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1", "[2001:db8::1:2:3:4]:80": "2001:db8::",
		"[fe80::1%eth0]:80": "fe80::", "10.1.2.3:80": "invalid IP",
	} {
		h, exempt := l.holder(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr)))
		if got := h.Address.String(); got != want || exempt != !h.Address.IsValid() {
			t.Errorf("holder(%s) = %s, exempt %t, want %s", addr, got, exempt, want)
		}
	}
	if h, exempt := l.holder(&net.UnixAddr{Name: "@", Net: "unix"}); h.Address.IsValid() || !exempt {
		t.Errorf("a Unix socket is of %v, exempt %t, want none and exempt", h, exempt)
	}
}
