package tenants

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// receivers take what webhooks send. The path says how: see hostile. Any other path
// is that of a good receiver.
type receivers struct {
	url   string
	heard chan int64 // order of an event that came to a good one

	listener net.Listener
	all      sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]bool // nil when closed
}

// hostile are the ways to hold a delivery.
var hostile = []string{"/silent", "/switching", "/head", "/body", "/informational"}

// receive starts receivers on the loopback.
func receive() *receivers {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	r := &receivers{url: "http://" + l.Addr().String(), heard: make(chan int64, 1000), listener: l, open: make(map[net.Conn]bool)}
	r.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if r.keep(c) {
				r.all.Go(func() { defer r.drop(c); r.serve(c) })
			}
		}
	})
	return r
}

func (r *receivers) keep(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		c.Close()
		return false
	}
	r.open[c] = true
	return true
}

func (r *receivers) drop(c net.Conn) {
	c.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, c)
}

// release ends what is held.
func (r *receivers) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.open {
		c.Close()
	}
}

func (r *receivers) close() {
	r.listener.Close()
	r.release()
	r.mu.Lock()
	r.open = nil
	r.mu.Unlock()
	r.all.Wait()
}

// serve answers the requests on a connection.
func (r *receivers) serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		text, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		switch request.URL.Path {
		case "/silent":
			trickle(c, "", "")
		case "/switching":
			trickle(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "x")
		case "/head":
			trickle(c, "HTTP/1.1 200 OK\r\nX: ", "x")
		case "/body":
			trickle(c, "HTTP/1.1 500 Oh\r\nContent-Length: 1000000\r\n\r\n", "x")
		case "/informational":
			trickle(c, "", "HTTP/1.1 103 Early Hints\r\n\r\n")
		default:
			r.hear(text)
			if _, err := io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n"); err != nil {
				return
			}
		}
	}
}

// hear notes an event.
func (r *receivers) hear(text []byte) {
	var e struct{ Data struct{ ID int64 } }
	if json.Unmarshal(text, &e) != nil {
		return
	}
	select {
	case r.heard <- e.Data.ID:
	default:
	}
}

// trickle sends first, and then a little again and again until the peer ends it. If
// there is nothing to send, it waits for that.
func trickle(c net.Conn, first, then string) {
	_, err := io.WriteString(c, first)
	if then == "" {
		_, _ = io.Copy(io.Discard, c)
		return
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for err == nil {
		_, err = io.Copy(c, strings.NewReader(then))
		<-tick.C
	}
}
