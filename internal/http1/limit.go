package http1

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/fairshare"
)

// Limits are the limits of a listener's connections and of their memory.
type Limits struct {
	// Connections is how many may be open at once.
	Connections int

	// Memory is how many bytes may be held at once by requests of HTTP/2, by answers
	// that are being sent, and by whatever else a client can cause to wait in memory.
	// The fixed cost of a connection of HTTP/1.1 is not counted.
	Memory int64

	// SendBuffer is the size of the system's send buffer of a connection; 0 means the
	// system's default. Linux uses up to some megabytes for a client that reads slowly.
	SendBuffer int

	// Exempt are the addresses of proxies. Their connections carry requests of many
	// clients. They are not counted for any client, and are never closed for others.
	Exempt []netip.Prefix
}

// A Limit divides connections and memory among the clients of a listener. A client is
// identified by the workspace of its key, or else by its address (of IPv6 the /64). If
// everything is in use, the client that holds most makes room for one that holds less,
// see package fairshare: its oldest connection is closed, or its oldest request of
// HTTP/2 or answer is broken off.
type Limit struct {
	connections, memory *fairshare.Pool
	sendBuffer          int
	exempt              []netip.Prefix

	mu         sync.Mutex
	identified map[*countedConn]struct{} // the connections with a credential
}

// NewLimit returns a Limit without connections.
func NewLimit(l Limits) *Limit {
	return &Limit{
		connections: fairshare.New(fairshare.Options{Capacity: int64(l.Connections)}),
		memory:      fairshare.New(fairshare.Options{Capacity: l.Memory, Queue: l.Memory / 2, Wait: memoryWait}),
		sendBuffer:  l.SendBuffer,
		exempt:      l.Exempt,
		identified:  make(map[*countedConn]struct{}),
	}
}

// Listener returns a listener whose connections count. TLS comes above it.
func (l *Limit) Listener(on net.Listener) net.Listener { return &limited{on, l} }

// Connections returns the statistics of the connections.
func (l *Limit) Connections() fairshare.Stats { return l.connections.Stats() }

// Memory returns the statistics of the memory, in bytes.
func (l *Limit) Memory() fairshare.Stats { return l.memory.Stats() }

// Recheck calls valid for the key of each connection. Connections whose key is not valid
// any more are counted for their address again.
func (l *Limit) Recheck(valid func(key string) bool) {
	l.mu.Lock()
	all := slices.Collect(maps.Keys(l.identified))
	l.mu.Unlock()
	for _, m := range all {
		if s := m.credential.Load(); s != nil && !valid(s.key) {
			m.setCredential(s, nil)
		}
	}
}

type limited struct {
	net.Listener
	limit *Limit
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if m := l.limit.admit(c); m != nil {
			return m, nil
		}
		_ = c.Close() // the client gets no answer
	}
}

// A countedConn is a connection that a Limit counts.
type countedConn struct {
	net.Conn
	limit      *Limit
	address    fairshare.Holder
	exempt     bool
	credential atomic.Pointer[credential] // nil if no key was used

	http2       atomic.Bool
	idleTimeout time.Duration // of HTTP/2
	writing     chan struct{} // of HTTP/2: holds a token during a write

	mu     sync.Mutex
	share  *fairshare.Share // nil until admit has it
	ended  bool
	active bool        // it has requests of HTTP/2
	idle   *time.Timer // closes it after idleTimeout without requests; nil before HTTP/2
}

// A credential is the key that was used on a connection, and its workspace.
type credential struct {
	workspace int64
	key       string // its id
}

// admit counts a connection. It returns nil if there may be no more connections.
func (l *Limit) admit(c net.Conn) *countedConn {
	if tcp, ok := c.(*net.TCPConn); ok && l.sendBuffer > 0 {
		_ = tcp.SetWriteBuffer(l.sendBuffer) // an error does no harm
	}
	m := &countedConn{Conn: c, limit: l, writing: make(chan struct{}, 1)}
	var yield func()
	if m.address, m.exempt = l.holder(c.RemoteAddr()); !m.exempt {
		yield = m.giveWay
	}
	share, err := l.connections.Enter(context.Background(), m.address, 1, yield)
	if err != nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.share = share; m.ended {
		share.Leave()
		return nil
	}
	return m
}

// giveWay closes the connection for another one. The goroutine that uses it gets an error,
// and ends soon: after the request that it carries out, or, if net/http waits for the client
// to read an error of HTTP/2, after a second.
func (m *countedConn) giveWay() { go m.Close() }

func (m *countedConn) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return
	}
	m.ended = true
	if m.idle != nil {
		m.idle.Stop()
	}
	if m.share != nil {
		m.share.Leave()
	}
	m.limit.mu.Lock()
	delete(m.limit.identified, m)
	m.limit.mu.Unlock()
}

// Close implements net.Conn.
func (m *countedConn) Close() error {
	err := m.Conn.Close()
	m.leave()
	return err
}

// CloseWrite closes the connection for writing.
func (m *countedConn) CloseWrite() error { return closeWrite(m.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// holder returns the client that the connection is counted for.
func (m *countedConn) holder() fairshare.Holder {
	if s := m.credential.Load(); s != nil {
		return fairshare.Holder{Workspace: s.workspace}
	}
	return m.address
}

// recognize counts the connection for the workspace of a key that was used on it.
func (m *countedConn) recognize(workspace int64, key string) {
	if s := m.credential.Load(); !m.exempt && (s == nil || s.key != key) {
		m.setCredential(s, &credential{workspace, key})
	}
}

// setCredential replaces the credential of the connection, unless it is no longer before.
func (m *countedConn) setCredential(before, after *credential) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended || !m.credential.CompareAndSwap(before, after) {
		return
	}
	m.share.Move(m.holder())
	m.limit.mu.Lock()
	defer m.limit.mu.Unlock()
	if after != nil {
		m.limit.identified[m] = struct{}{}
	} else {
		delete(m.limit.identified, m)
	}
}

// countedOf returns the countedConn below a connection, or nil.
func countedOf(c net.Conn) *countedConn {
	for {
		if m, ok := c.(*countedConn); ok {
			return m
		}
		above, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = above.NetConn()
	}
}

type countedKey struct{}

// withCounted is a server's ConnContext. It puts the countedConn into the contexts of
// the requests.
func withCounted(ctx context.Context, c net.Conn) context.Context {
	if m := countedOf(c); m != nil {
		return context.WithValue(ctx, countedKey{}, m)
	}
	return ctx
}

// Recognize says that the request that w answers has a valid key of a workspace. From
// then on its connection, and the request, are counted for the workspace.
func Recognize(w http.ResponseWriter, workspace int64, key string) {
	if r, ok := find[interface{ recognize(int64, string) }](w); ok {
		r.recognize(workspace, key)
	}
}

// find returns the first ResponseWriter that implements T, of w and those that it
// wraps.
func find[T any](w http.ResponseWriter) (found T, ok bool) {
	for {
		if found, ok = w.(T); ok {
			return found, true
		}
		above, wraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			return found, false
		}
		w = above.Unwrap()
	}
}

// holder returns the client that connections of an address are counted for before a key
// is used. Proxies, and addresses that are not of IP, are exempt.
func (l *Limit) holder(a net.Addr) (h fairshare.Holder, exempt bool) {
	peer, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return h, true
	}
	ip := peer.Addr().Unmap().WithZone("")
	if slices.ContainsFunc(l.exempt, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return h, true
	}
	return fairshare.HolderAt(ip), false
}
