package tenants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/sys/unix"
)

// A caller is one connection of a greedy workspace, which takes no answers: over
// HTTP/1.1 it never reads, over HTTP/2 its window is 0.
type caller struct {
	net.Conn
	ctx     context.Context
	site    *site
	tenant  *tenant
	row     *row
	number  int           // of the connection among the tenant's
	conns   int           // that the tenant has
	framer  *http2.Framer // nil over HTTP/1.1
	packed  bytes.Buffer
	table   *hpack.Encoder
	streams uint32
	ended   chan struct{} // over HTTP/2, closed when the server has ended it
}

// key returns one of the tenant's keys.
func (c *caller) key() string { return c.tenant.keys[c.number%len(c.tenant.keys)].Key }

// session returns the cookie of one of the tenant's sessions.
func (c *caller) session() string { return c.tenant.cookies[c.number%len(c.tenant.cookies)] }

// share returns how many of what the tenant may have are this connection's.
func (c *caller) share() int {
	share := c.row.each / c.conns
	if c.number < c.row.each%c.conns {
		share++
	}
	return share
}

// A sent request may lack its end.
type sent struct {
	method, path string
	by           string   // a key or a cookie, or ""
	fields       []string // NAME, VALUE, …
	body         string
	length       int // of the body; more than it has if the rest comes later or never
}

func (c *caller) get(path string) sent { return sent{method: "GET", path: path, by: c.key()} }

// all returns the fields of a request.
func (q sent) all() []string {
	fields := q.fields
	switch {
	case strings.HasPrefix(q.by, "petstore_session="):
		fields = append(fields, "cookie", q.by)
	case q.by != "":
		fields = append(fields, "authorization", "Bearer "+q.by)
	}
	if n := max(q.length, len(q.body)); n > 0 {
		fields = append(fields, "content-length", strconv.Itoa(n))
	}
	return fields
}

// send sends a request and waits for nothing.
func (c *caller) send(q sent) error {
	if c.framer != nil {
		return c.frame(q)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: x\r\n", q.method, q.path)
	for fields := q.all(); len(fields) > 0; fields = fields[2:] {
		fmt.Fprintf(&b, "%s: %s\r\n", fields[0], fields[1])
	}
	b.WriteString("\r\n" + q.body)
	_, err := io.WriteString(c, b.String())
	return err
}

// times sends a request so many times.
func (c *caller) times(n int, q sent) error {
	for range n {
		if err := c.send(q); err != nil {
			return err
		}
	}
	return nil
}

func (c *caller) frame(q sent) error {
	c.packed.Reset()
	fields := append([]string{":method", q.method, ":scheme", "http", ":authority", "x", ":path", q.path}, q.all()...)
	for ; len(fields) > 0; fields = fields[2:] {
		_ = c.table.WriteField(hpack.HeaderField{Name: fields[0], Value: fields[1]}) // into memory
	}
	c.streams += 2
	whole := len(q.body) >= q.length
	err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.streams - 1, BlockFragment: c.packed.Bytes(), EndHeaders: true, EndStream: whole && q.body == ""})
	for rest := q.body; err == nil && rest != ""; {
		n := min(len(rest), 16<<10)
		err = c.framer.WriteData(c.streams-1, whole && n == len(rest), []byte(rest[:n]))
		rest = rest[n:]
	}
	return err
}

// more sends a part of the body of every request on the connection.
func (c *caller) more(part string) error {
	if c.framer == nil {
		_, err := io.WriteString(c, part)
		return err
	}
	for stream := uint32(1); stream <= c.streams; stream += 2 {
		if err := c.framer.WriteData(stream, false, []byte(part)); err != nil {
			return err
		}
	}
	return nil
}

// await returns when the server has ended the connection, or the context has.
func (c *caller) await() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !c.over() {
		select {
		case <-c.ctx.Done():
			return
		case <-c.ended:
			return
		case <-tick.C:
		}
	}
}

// over asks the kernel, since over HTTP/1.1 nobody reads.
func (c *caller) over() bool {
	raw, err := c.Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return true
	}
	const established = 1
	state := uint8(0)
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), syscall.SOL_TCP, unix.TCP_INFO); err == nil {
			state = info.State
		}
	})
	return state != established
}

// A siege is what greedy workspaces do until it is lifted.
type siege struct {
	lift   func() // returns when all have gone
	opened atomic.Int64
}

// besiege has each greedy workspace hold what a row says, on so many connections, each
// again when the server has ended it: at most a thousand times a second.
func (s *site) besiege(r *row) *siege {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	g := &siege{lift: func() { stop(); all.Wait() }}
	conns := s.connections(r)
	again := max(200*time.Millisecond, time.Duration(conns*greedyWorkspaces)*time.Millisecond)
	for _, w := range s.greedy {
		for number := range conns {
			all.Go(func() {
				for ctx.Err() == nil {
					c := &caller{ctx: ctx, site: s, tenant: w, row: r, number: number, conns: conns}
					_ = c.hold(&g.opened) // whatever ends it, it comes again
					pause(ctx, again)
				}
			})
		}
	}
	return g
}

// connections returns how many a greedy workspace has.
func (s *site) connections(r *row) int {
	switch n := min(max(4, s.capacity/16), 32); {
	case r.floods:
		return s.capacity / 8 // ten want more than there are
	case r.conns > 0:
		return r.conns
	case r.each > 0:
		return min(n, r.each)
	default:
		return n
	}
}

// pause waits for so long, or for the end of a context.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// hold connects, does what the row says, and keeps what that holds.
func (c *caller) hold(opened *atomic.Int64) error {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: c.tenant.from}, Timeout: 5 * time.Second, Control: smallBuffer}
	conn, err := d.DialContext(c.ctx, "tcp", c.site.addr())
	if err != nil {
		return err
	}
	opened.Add(1)
	defer conn.Close()
	defer context.AfterFunc(c.ctx, func() { conn.Close() })()
	c.Conn = conn
	if c.site.http2 {
		if err := c.beginFrames(); err != nil {
			return err
		}
		defer func() { conn.Close(); <-c.ended }()
	}
	if err := c.row.hold(c); err != nil {
		return err
	}
	c.await()
	return nil
}

// smallBuffer has what is not read stay with the server.
func smallBuffer(_, _ string, raw syscall.RawConn) error {
	var err error
	return errors.Join(raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<10) }), err)
}

// beginFrames begins HTTP/2 with a window of 0, and drops what comes.
func (c *caller) beginFrames() error {
	c.framer, c.table, c.ended = http2.NewFramer(c.Conn, nil), hpack.NewEncoder(&c.packed), make(chan struct{})
	go func() {
		defer close(c.ended)
		_, _ = io.Copy(io.Discard, c.Conn)
	}()
	if _, err := io.WriteString(c.Conn, http2.ClientPreface); err != nil {
		return err
	}
	return c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
}
