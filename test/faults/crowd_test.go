//go:build linux

package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/petstore/test/servertest"
)

// crowded is the address of all crowds. Who asks properly has another: of one that
// holds more strangers than any other, a connection may be closed before it has
// shown its key.
const crowded = "127.0.0.2"

// from dials from an address of the loopback.
func from(address string) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
}

// A crowd is what keeps a server busy without asking for anything useful.
type crowd struct {
	name    string
	members int
	one     func(ctx context.Context, c net.Conn) error // until the server ends it
}

// crowds have a key: who has none is sent away before the body is read.
func crowds(key string) []crowd {
	head := "POST /pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + key + "\r\n"
	return []crowd{
		{"slow headers", 300, func(ctx context.Context, c net.Conn) error { return trickle(ctx, c, head+"X: ", "a") }},
		{"slow bodies", 100, func(ctx context.Context, c net.Conn) error {
			return trickle(ctx, c, head+"Content-Length: 60000\r\n\r\n{", " ")
		}},
		{"half open", 300, func(ctx context.Context, c net.Conn) error { return trickle(ctx, c, "", "") }},
		{"header floods", 4, func(ctx context.Context, c net.Conn) error { return flood(ctx, c, head) }},
		{"rapid resets", 4, rapidReset},
		{"pings", 2, pings},
	}
}

// pace calls f at every tick until it fails or ctx ends: a crowd on this very
// machine would else take its processors, whatever the server did. The members of
// a crowd do not keep step.
func pace(ctx context.Context, every time.Duration, f func() error) error {
	rest(ctx, rand.N(every))
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := f(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// trickle sends first, and then a byte ten times a second. When the server has ended
// it, it takes up to a second before it begins again: hundreds that come back at once
// would be a flood.
func trickle(ctx context.Context, c net.Conn, first, then string) error {
	defer func() { rest(ctx, rand.N(time.Second)) }()
	if _, err := io.WriteString(c, first); err != nil {
		return err
	}
	return pace(ctx, 100*time.Millisecond, func() error {
		_, err := io.WriteString(c, then)
		return err
	})
}

// flood sends header lines without end.
func flood(ctx context.Context, c net.Conn, head string) error {
	if _, err := io.WriteString(c, head); err != nil {
		return err
	}
	line := "X-Flood: " + strings.Repeat("x", 1000) + "\r\n"
	return pace(ctx, time.Millisecond, func() error {
		_, err := io.WriteString(c, line)
		return err
	})
}

// speakHTTP2 begins HTTP/2 without TLS, and reads what the server says.
func speakHTTP2(c net.Conn) (*http2.Framer, error) {
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		return nil, err
	}
	go func() { _, _ = io.Copy(io.Discard, c) }() // ends with the connection
	f := http2.NewFramer(c, nil)
	return f, f.WriteSettings()
}

// rapidReset opens streams and takes them back at once (CVE-2023-44487).
func rapidReset(ctx context.Context, c net.Conn) error {
	f, err := speakHTTP2(c)
	var header bytes.Buffer
	e := hpack.NewEncoder(&header)
	for _, h := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/pets"}} {
		if err := e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	id := uint32(1)
	return pace(ctx, time.Millisecond, func() error {
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: header.Bytes(), EndHeaders: true, EndStream: true})
		if err == nil {
			err = f.WriteRSTStream(id, http2.ErrCodeCancel)
		}
		id += 2
		return err
	})
}

// pings sends pings.
func pings(ctx context.Context, c net.Conn) error {
	f, err := speakHTTP2(c)
	if err != nil {
		return err
	}
	return pace(ctx, time.Millisecond, func() error { return f.WritePing(false, [8]byte{}) })
}

// gather lets every member of a crowd begin again whenever the server ends its
// connection, until ctx ends. It returns when each has been connected once, and
// counts the connections.
func (w crowd) gather(ctx context.Context, addr string) (wait func() int, err error) {
	var all sync.WaitGroup
	var count atomic.Int64
	for range w.members {
		all.Go(func() {
			for ctx.Err() == nil {
				c, err := from(crowded).DialContext(ctx, "tcp", addr)
				if err != nil {
					return
				}
				count.Add(1)
				free := context.AfterFunc(ctx, func() { c.Close() })
				_ = w.one(ctx, c) // how it ends is the server's business
				free()
				c.Close()
			}
		})
	}
	wait = func() int { all.Wait(); return int(count.Load()) }
	for deadline := time.Now().Add(servertest.Patience); count.Load() < int64(w.members); time.Sleep(time.Millisecond) { // between two polls
		if time.Now().After(deadline) {
			return wait, fmt.Errorf("%s: %d connections of %d", w.name, count.Load(), w.members)
		}
	}
	return wait, nil
}

// A press is the whole of the crowds at a server.
type press struct {
	names []string
	waits []func() int
	stop  context.CancelFunc
}

// gatherAll returns when all are there.
func gatherAll(ctx context.Context, url, key string) (*press, error) {
	ctx, stop := context.WithCancel(ctx)
	p := &press{stop: stop}
	var all error
	for _, w := range crowds(key) {
		wait, err := w.gather(ctx, strings.TrimPrefix(url, "http://"))
		p.names, p.waits, all = append(p.names, w.name), append(p.waits, wait), errors.Join(all, err)
	}
	return p, all
}

// disperse returns how many connections each crowd had.
func (p *press) disperse() string {
	p.stop()
	var said []string
	for i, wait := range p.waits {
		said = append(said, fmt.Sprintf("%s %d", p.names[i], wait()))
	}
	return strings.Join(said, ", ")
}
