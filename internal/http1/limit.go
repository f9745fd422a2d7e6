package http1

import (
	"container/list"
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Limits bound the connections of a listener. One on which no key was shown is
// anonymous, and yields to those that come after: see Limit.
type Limits struct {
	All        int            // connections
	PerAddress int            // anonymous ones of one address; of IPv6, one /64
	HTTP2      int            // anonymous ones that speak HTTP/2, which may have many requests waiting
	Exempt     []netip.Prefix // proxies, whose address says nothing of their clients
}

// A Limit holds the connections of a listener to their bounds. Where a bound is
// reached an anonymous connection is closed for the one that comes: the oldest of
// the address that has most of them. If there is none, the one that comes is
// closed. So connections of clients with a key are never closed for others, and
// such a client finds room unless they hold all of it.
type Limit struct {
	perAddress int
	exempt     []netip.Prefix
	shut       atomic.Uint64

	mu         sync.Mutex
	left       sync.Cond // somebody has
	all, http2 room
}

// A room has so many places. Who is closed for others keeps its own until it has
// really ended: else many that come one after the other would fill the memory. Of
// HTTP/2 see lingering.
type room struct {
	most, used int
	ending     int
	anonymous  list.List                   // of *member, the oldest first
	addresses  map[netip.Prefix]*list.List // the same, but without those of proxies
}

// NewLimit returns a Limit without connections.
func NewLimit(l Limits) *Limit {
	limit := &Limit{perAddress: l.PerAddress, exempt: l.Exempt}
	limit.left.L = &limit.mu
	limit.all, limit.http2 = newRoom(l.All), newRoom(l.HTTP2)
	return limit
}

func newRoom(most int) room { return room{most: most, addresses: make(map[netip.Prefix]*list.List)} }

// Listener returns a listener whose connections count. TLS comes above it.
func (l *Limit) Listener(on net.Listener) net.Listener { return &limited{on, l} }

// Open returns how many connections are open.
func (l *Limit) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.used
}

// Closed returns how many connections were closed for a bound.
func (l *Limit) Closed() uint64 { return l.shut.Load() }

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
		l.limit.shut.Add(1)
		_ = c.Close() // nothing was said
	}
}

// A member is a connection that counts.
type member struct {
	net.Conn
	limit *Limit
	addr  netip.Prefix // zero if it does not count
	known atomic.Bool  // a key was shown on it
	busy  atomic.Int32 // requests of HTTP/2 that are being answered

	// Below the limit's mutex.
	rooms       []*room
	places      []place // among their anonymous ones
	yields, end bool
	idle        *time.Timer   // closes a connection of HTTP/2 that is idle; else nil
	idleTimeout time.Duration // of it
}

// A place is where a member stands among the anonymous ones of a room.
type place struct {
	room             *room
	inAll, ofAddress *list.Element
}

// admit counts a connection, and makes room for it. It returns nil if there is none.
func (l *Limit) admit(c net.Conn) *member {
	m := &member{Conn: c, limit: l, addr: l.network(c.RemoteAddr())}
	l.mu.Lock()
	defer l.mu.Unlock()
	if group := l.all.addresses[m.addr]; group != nil && group.Len() >= l.perAddress {
		l.dismiss(group)
	}
	if !l.enter(m, &l.all) {
		return nil
	}
	return m
}

// enter gives a member a place in a room, for which an anonymous one may have to go. It
// returns false if none can, or the member itself had to meanwhile.
func (l *Limit) enter(m *member, r *room) bool {
	for r.used >= r.most {
		if r.used-r.ending >= r.most && !l.dismiss(r.largest()) {
			return false
		}
		if l.left.Wait(); !m.lives() {
			return false
		}
	}
	r.used++
	m.rooms = append(m.rooms, r)
	m.places = append(m.places, r.join(m))
	return true
}

// looked is at how many addresses largest looks, which are others each time.
const looked = 64

// largest returns the anonymous members of the address that has most of them, or
// of all addresses if none has more than one.
func (r *room) largest() *list.List {
	most, n := &r.anonymous, 0
	for _, group := range r.addresses {
		if group.Len() > 1 && (most == &r.anonymous || group.Len() > most.Len()) {
			most = group
		}
		if n++; n == looked {
			break
		}
	}
	return most
}

// lingering is how long others wait for the end of a connection of HTTP/2 that was
// closed for them. Most end at once. But one that broke a rule of framing net/http
// keeps for a second, so that the client reads why. It reads nothing from it any
// more, so it does not notice that it is closed, and holds little.
const lingering = 20 * time.Millisecond

// dismiss closes the oldest of a group, if there is one.
func (l *Limit) dismiss(group *list.List) bool {
	if group.Len() == 0 {
		return false
	}
	m := group.Front().Value.(*member)
	m.settle()
	m.yields = true
	for _, r := range m.rooms {
		r.ending++
	}
	l.shut.Add(1)
	l.left.Broadcast() // it may wait for a place itself
	go m.Conn.Close()  // who is at work with it notices, and calls Close
	if m.idle != nil {
		time.AfterFunc(lingering, m.leave)
	}
	return true
}

func (m *member) lives() bool { return !m.yields && !m.end }

// join puts a member among the anonymous ones of a room.
func (r *room) join(m *member) place {
	p := place{room: r, inAll: r.anonymous.PushBack(m)}
	if m.addr.IsValid() {
		if r.addresses[m.addr] == nil {
			r.addresses[m.addr] = list.New()
		}
		p.ofAddress = r.addresses[m.addr].PushBack(m)
	}
	return p
}

// settle takes a member from among the anonymous ones.
func (m *member) settle() {
	for _, p := range m.places {
		p.room.anonymous.Remove(p.inAll)
		if group := p.room.addresses[m.addr]; group != nil {
			if group.Remove(p.ofAddress); group.Len() == 0 {
				delete(p.room.addresses, m.addr)
			}
		}
	}
	m.places = nil
}

func (m *member) leave() {
	m.limit.mu.Lock()
	defer m.limit.mu.Unlock()
	if m.end {
		return
	}
	m.end = true
	if m.idle != nil {
		m.idle.Stop()
	}
	m.settle()
	m.release()
}

// release gives the places back: the one of HTTP/2 when all its requests have ended,
// since what they hold outlives the connection.
func (m *member) release() {
	for len(m.rooms) > 0 {
		r := m.rooms[0]
		if r == &m.limit.http2 && m.busy.Load() > 0 {
			break
		}
		m.rooms = m.rooms[1:]
		r.used--
		if m.yields {
			r.ending--
		}
	}
	m.limit.left.Broadcast()
}

// Close implements net.Conn.
func (m *member) Close() error {
	err := m.Conn.Close()
	m.leave()
	return err
}

// CloseWrite tells the peer that no more comes.
func (m *member) CloseWrite() error { return closeWrite(m.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// memberOf returns what is counted below a connection, or nil.
func memberOf(c net.Conn) *member {
	for {
		if m, ok := c.(*member); ok {
			return m
		}
		above, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = above.NetConn()
	}
}

type memberKey struct{}

// withMember is a server's ConnContext: the contexts of the requests know their
// connection.
func withMember(ctx context.Context, c net.Conn) context.Context {
	if m := memberOf(c); m != nil {
		return context.WithValue(ctx, memberKey{}, m)
	}
	return ctx
}

// Recognize notes that a client has shown a key on the connection of a request,
// whose context is ctx.
func Recognize(ctx context.Context) {
	m, ok := ctx.Value(memberKey{}).(*member)
	if !ok || m.known.Load() {
		return
	}
	l := m.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	if !m.lives() {
		return
	}
	m.known.Store(true)
	m.settle()
	if len(m.rooms) > 1 { // HTTP/2's is for anonymous ones
		m.rooms = m.rooms[:1]
		l.http2.used--
		l.left.Broadcast()
	}
}

// network returns what counts as one address: a /64 of IPv6, since a subscriber
// has no less. Of a proxy, and of what is no address of IP, it is the zero Prefix.
func (l *Limit) network(a net.Addr) netip.Prefix {
	peer, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := peer.Addr().Unmap().WithZone(""), 32
	if slices.ContainsFunc(l.exempt, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return netip.Prefix{}
	}
	if ip.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(ip, bits).Masked()
}
