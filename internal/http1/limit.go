package http1

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/fairshare"
)

// Limits bound the connections of a listener, and what they hold in memory.
type Limits struct {
	// Connections is how many are open at once.
	Connections int

	// Memory is how many bytes are held at once by requests of HTTP/2, by answers
	// that are being sent, and by what else a client can make wait. What a
	// connection of HTTP/1.1 holds at least is not counted.
	Memory int64

	// SendBuffer is how many bytes the system is asked to keep of what a connection sends;
	// 0 leaves that to it. Linux takes up to some megabytes for a client that reads slowly.
	SendBuffer int

	// Short says that memory is short: a connection of HTTP/2 that is ahead of its handlers
	// waits for them before it reads more, and not only when those with requests could fill
	// the memory. What is left of requests that their clients have reset, nothing counts.
	Short bool

	// Exempt are proxies. Their connections carry requests of many clients, count
	// for none of them and are never closed for others.
	Exempt []netip.Prefix
}

// A Limit divides connections and memory among the clients of a listener. A
// client is the workspace of the key that it has shown, or else its address
// (RFC 4291: of IPv6 the /64). If all is in use, the client that holds most of it
// gives way to one that holds less, see package fairshare: its oldest connection
// is closed, or its oldest request of HTTP/2 or answer is broken off.
type Limit struct {
	connections, memory *fairshare.Pool
	most                int64        // bytes of memory
	busy                atomic.Int64 // bytes that the connections of HTTP/2 with requests may hold at most
	sendBuffer          int
	short               bool
	exempt              []netip.Prefix

	mu    sync.Mutex
	known map[*countedConn]struct{} // with standing
}

// NewLimit returns a Limit without connections.
func NewLimit(l Limits) *Limit {
	return &Limit{
		connections: fairshare.New(fairshare.Options{Capacity: int64(l.Connections), Wait: connectionWait}),
		memory:      fairshare.New(fairshare.Options{Capacity: l.Memory, Queue: l.Memory / 4, Wait: memoryWait}),
		most:        l.Memory,
		sendBuffer:  l.SendBuffer,
		short:       l.Short,
		exempt:      l.Exempt,
		known:       make(map[*countedConn]struct{}),
	}
}

// Listener returns a listener whose connections count. TLS comes above it.
func (l *Limit) Listener(on net.Listener) net.Listener { return &limited{on, l} }

// Connections returns the numbers of connections.
func (l *Limit) Connections() fairshare.Stats { return l.connections.Stats() }

// Memory returns the numbers of bytes.
func (l *Limit) Memory() fairshare.Stats { return l.memory.Stats() }

// Recheck takes the standing of their workspace from the connections on which a
// key was shown that is not valid any more. They count for their address again. It calls
// valid for each connection.
func (l *Limit) Recheck(valid func(key string) bool) {
	l.mu.Lock()
	all := make([]*countedConn, 0, len(l.known))
	for m := range l.known {
		all = append(all, m)
	}
	l.mu.Unlock()
	for _, m := range all {
		if s := m.standing.Load(); s != nil && !valid(s.key) {
			m.stand(s, nil)
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
		_ = c.Close() // nothing was said
	}
}

// A countedConn is a connection that a Limit counts.
type countedConn struct {
	net.Conn
	limit    *Limit
	address  fairshare.Holder
	exempt   bool
	standing atomic.Pointer[standing] // nil if no key was shown

	http2       atomic.Bool
	idleTimeout time.Duration // of HTTP/2
	most        int64         // bytes that its requests of HTTP/2 hold at once at most
	debt        debt          // of HTTP/2
	ahead       atomic.Int64  // what was read since a handler did something, see Read
	wentOn      chan struct{} // has one when a handler did something
	reading     atomic.Int64  // handlers that read a body

	mu     sync.Mutex
	share  *fairshare.Share // nil before it is known
	ended  bool
	active bool        // it has requests of HTTP/2
	idle   *time.Timer // closes it when it had none for long; nil before HTTP/2
}

// A standing is whose key was shown on a connection.
type standing struct {
	workspace int64
	key       string // its id
}

// lingering is how long others wait for the end of a connection that was closed
// for them. Most end at once. But a connection of HTTP/2 that broke a rule of
// framing net/http keeps for a second, so that the client reads why, and one whose
// request is being carried out ends after that.
const lingering = 20 * time.Millisecond

// connectionWait is how long a connection waits for the end of another. It is
// longer than lingering on a busy machine.
const connectionWait = 5 * time.Second

// admit counts a connection. It returns nil if there is no room for it.
func (l *Limit) admit(c net.Conn) *countedConn {
	if tcp, ok := c.(*net.TCPConn); ok && l.sendBuffer > 0 {
		_ = tcp.SetWriteBuffer(l.sendBuffer) // it works without, too
	}
	m := &countedConn{Conn: c, limit: l, wentOn: make(chan struct{}, 1)}
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

// giveWay closes the connection for another one.
func (m *countedConn) giveWay() {
	go func() {
		_ = m.Conn.Close() // who is at work with it notices, and calls Close
		time.AfterFunc(lingering, m.leave)
	}()
}

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
	if m.active {
		m.limit.busy.Add(-m.most)
	}
	if m.share != nil {
		m.share.Leave()
	}
	m.limit.mu.Lock()
	delete(m.limit.known, m)
	m.limit.mu.Unlock()
}

// Close implements net.Conn.
func (m *countedConn) Close() error {
	err := m.Conn.Close()
	m.leave()
	return err
}

// CloseWrite tells the peer that no more comes.
func (m *countedConn) CloseWrite() error { return closeWrite(m.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// holder returns for whom the connection counts.
func (m *countedConn) holder() fairshare.Holder {
	if s := m.standing.Load(); s != nil {
		return fairshare.Holder{Workspace: s.workspace}
	}
	return m.address
}

// recognize notes whose key was shown on the connection.
func (m *countedConn) recognize(workspace int64, key string) {
	if s := m.standing.Load(); !m.exempt && (s == nil || s.key != key) {
		m.stand(s, &standing{workspace, key})
	}
}

// stand changes the standing of the connection, if it still is what it was.
func (m *countedConn) stand(was, is *standing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended || !m.standing.CompareAndSwap(was, is) {
		return
	}
	m.share.Move(m.holder())
	m.limit.mu.Lock()
	defer m.limit.mu.Unlock()
	if is != nil {
		m.limit.known[m] = struct{}{}
	} else {
		delete(m.limit.known, m)
	}
}

// countedOf returns what is counted below a connection, or nil.
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

// withCounted is a server's ConnContext: the contexts of the requests know their
// connection.
func withCounted(ctx context.Context, c net.Conn) context.Context {
	if m := countedOf(c); m != nil {
		return context.WithValue(ctx, countedKey{}, m)
	}
	return ctx
}

// Recognize notes that the client to which w answers has shown a valid key of a
// workspace. From then on its connection, and this request, count for that.
func Recognize(w http.ResponseWriter, workspace int64, key string) {
	if r, ok := find[interface{ recognize(int64, string) }](w); ok {
		r.recognize(workspace, key)
	}
}

// find returns what implements T of a ResponseWriter and those below it.
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

// holder returns for whom connections of an address count before a key is shown.
// Those of a proxy, and of what is no address of IP, are exempt.
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
