package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

var (
	attackers    = flag.Int("attackers", 150, "how many connections each attack has")
	attackMemory = flag.Int("attack-memory", 64, "how many MiB the attacked server has")
	attackTime   = flag.Duration("attack-time", 400*time.Millisecond, "how long each attack lasts")
)

// An attack is what nobody with a key does on a connection, until the server ends
// it. It may leave things as they are, to be held for as long as the server lets it.
type attack struct {
	name string
	one  func(c net.Conn) error
}

// TestAttacks has anonymous clients of many addresses do their worst on either
// HTTP, each kind in turn, at a server with little memory and few descriptors. It
// must live, stay ready, and answer a client with a key that connects anew.
func TestAttacks(t *testing.T) {
	s := attacked(t)
	for _, a := range append(slowClients(), framedFloods()...) {
		t.Run(a.name, func(t *testing.T) { s.withstand(t, a) })
		select {
		case <-s.Ended:
			t.Fatalf("%s ended the server: %v\n%s", a.name, s.Err, s.LogText())
		default:
		}
	}
}

// withstand has an attack last for a while.
func (b besieged) withstand(t *testing.T, a attack) {
	ctx, stop := context.WithTimeout(t.Context(), *attackTime)
	defer stop()
	connections := a.run(ctx, b.addr())
	answered, slowest := 0, time.Duration(0)
	for ctx.Err() == nil {
		began := time.Now()
		if err := b.visit(); err != nil {
			t.Errorf("%v, after %v", err, time.Since(began))
			break
		}
		answered, slowest = answered+1, max(slowest, time.Since(began))
	}
	t.Logf("%d visits were answered, the slowest after %v; %d KiB", answered, slowest.Round(time.Millisecond), memoryOf(t, b.Cmd.Process.Pid, "RssAnon:")>>10)
	stop()
	t.Logf("%d connections", connections())
	if answered == 0 {
		t.Error("nobody was answered")
	}
}

// TestFewDescriptors has more silent connections than the process may have files.
func TestFewDescriptors(t *testing.T) {
	b := besiegeWith(t, servertest.Options{Shell: "ulimit -n 64"})
	ctx, stop := context.WithCancel(t.Context())
	connections := attack{"silence", func(net.Conn) error { return nil }}.run(ctx, b.addr())
	for range 20 {
		if err := b.visit(); err != nil {
			t.Error(err)
		}
	}
	stop()
	if n := connections(); n < 64 {
		t.Errorf("%d connections, want more than there are descriptors", n)
	}
}

func (b besieged) addr() string { return strings.TrimPrefix(b.URL, "http://") }

// visit asks as a client with a key and a probe do, on new connections.
func (b besieged) visit() error {
	client := &http.Client{Timeout: servertest.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, url := range []string{b.URL + "/pets", b.Ops + "/readyz"} {
		if err := exchange(context.Background(), client, http.MethodGet, url, b.key, "", ""); err != nil {
			return err
		}
	}
	return nil
}

// attacked returns a server with as little memory as the flags say.
func attacked(t *testing.T) besieged {
	b := besiegeWith(t, servertest.Options{Env: []string{fmt.Sprintf("GOMEMLIMIT=%dMiB", *attackMemory/2)}})
	if err := capMemory(t, b.Cmd.Process.Pid, *attackMemory<<20); err != nil {
		t.Logf("the server has no limit of memory: %v", err)
		t.Cleanup(func() {
			if peak := peakMemory(t, b.Cmd.Process.Pid); !t.Failed() && peak > *attackMemory<<20 {
				t.Errorf("the server had %d MiB, want %d at most", peak>>20, *attackMemory)
			}
		})
	}
	return b
}

// run has connections come from many addresses until ctx ends, each again when the
// server has ended it. What it returns waits for the end, and counts them.
func (a attack) run(ctx context.Context, addr string) (connections func() int64) {
	var all sync.WaitGroup
	var count atomic.Int64
	for i := range *attackers {
		from := net.IPv4(127, 0, byte(1+i/16), 1) // 16 of each address
		all.Go(func() {
			for ctx.Err() == nil {
				if err := a.hold(ctx, addr, from, &count); err != nil && ctx.Err() == nil {
					rest(ctx, 20*time.Millisecond)
				}
			}
		})
	}
	return func() int64 { all.Wait(); return count.Load() }
}

// hold is one connection of an attack.
func (a attack) hold(ctx context.Context, addr string, from net.IP, count *atomic.Int64) error {
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	count.Add(1)
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil { // so that what is not read stays with the server
		return err
	}
	if err := a.one(c); err != nil {
		return err
	}
	<-ctx.Done() // it is the server's to end it
	return nil
}

// slowClients speak HTTP/1.1.
func slowClients() []attack {
	const get = "GET %s HTTP/1.1\r\nHost: x\r\n\r\n"
	const form = "POST /console/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
	send := func(text string) func(net.Conn) error {
		return func(c net.Conn) error { _, err := io.WriteString(c, text); return err }
	}
	fields := func(n int) string { return strings.Repeat("X-Field: "+strings.Repeat("x", 39)+"\r\n", n/50) }
	return []attack{
		{"silence", send("")},
		{"a head byte by byte", drip("GET /pets HTTP/1.1\r\nHost: x\r\nX: ", "a")},
		{"60 KB of a head", send("GET /pets HTTP/1.1\r\nHost: x\r\n" + fields(60_000))},
		{"15 KB of a head", send("GET /pets HTTP/1.1\r\nHost: x\r\n" + fields(15_000))},
		{"one field of 60 KB", send("GET /pets HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 60_000))},
		{"60 KB of a form", send(form + "Content-Length: 64000\r\n\r\nkey=" + strings.Repeat("x", 60_000))},
		{"a form byte by byte", drip(form+"Content-Length: 64000\r\n\r\nkey=", "a")},
		{"chunks without end", drip(form+"Transfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n")},
		{"pages that nobody reads", send(strings.Repeat(fmt.Sprintf(get, "/docs"), 50))},
		{"refusals that nobody reads", send(strings.Repeat(fmt.Sprintf(get, "/pets"), 1000))},
		{"the description byte by byte", func(c net.Conn) error { return sip(c, fmt.Sprintf(get, "/openapi.json")) }},
		{"half closed", func(c net.Conn) error {
			return errors.Join(send("GET /pets HTTP/1.1\r\nHos")(c), c.(*net.TCPConn).CloseWrite())
		}},
		{"idle after a request", send(fmt.Sprintf(get, "/pets"))},
		{"garbage", send(strings.Repeat("\x16\x03\x01", 5000))},
	}
}

// drip sends first, and then a little again and again.
func drip(first, then string) func(net.Conn) error {
	return func(c net.Conn) error {
		_, err := io.WriteString(c, first)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for err == nil {
			_, err = io.WriteString(c, then)
			<-tick.C
		}
		return err
	}
}

// sip reads a byte now and then.
func sip(c net.Conn, request string) error {
	_, err := io.WriteString(c, request)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for err == nil {
		_, err = c.Read(make([]byte, 1))
		<-tick.C
	}
	return err
}
