package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
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
	attackTime   = flag.Duration("attack-time", 100*time.Millisecond, "how long each attack lasts")
)

// An attack is what no honest client does on a connection, until the server ends
// it. It may leave things as they are, to be held for as long as the server lets it.
type attack struct {
	name string
	one  func(c net.Conn) error
}

// TestAttacks has clients of many addresses do their worst on either HTTP, each
// kind in turn and then all at once, at a server with little memory and few
// descriptors. It must live, stay ready, and answer a client with a key that
// connects anew.
func TestAttacks(t *testing.T) {
	s := attacked(t)
	all := append(slowClients(s.key), framedFloods()...)
	for _, a := range all {
		s.withstand(t, a.name, a)
	}
	s.withstand(t, "all at once", all...)
}

// withstand has attacks last for a while, counted from the first visit: on a busy
// machine the attackers may long keep this process from making one.
func (b besieged) withstand(t *testing.T, name string, attacks ...attack) {
	t.Run(name, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", b.Cmd.Process.Pid), []byte("5"), 0); err != nil { // the peak is this attack's
			t.Fatal(err)
		}
		connections := b.attack(ctx, attacks...)
		answered, slowest := 0, time.Duration(0)
		defer time.AfterFunc(*attackTime, stop).Stop()
		for ; answered == 0 || ctx.Err() == nil; answered++ {
			began := time.Now()
			if err := b.visit(); err != nil {
				t.Errorf("%v, after %v", err, time.Since(began))
				break
			}
			slowest = max(slowest, time.Since(began))
		}
		t.Logf("%d visits were answered, the slowest after %v; at most %d MiB", answered, slowest.Round(time.Millisecond), servertest.PeakMemory(t, b.Cmd.Process.Pid)>>20)
		stop()
		t.Logf("%d connections", connections())
	})
	select {
	case <-b.Ended:
		t.Fatalf("%s ended the server: %v\n%s", name, b.Err, b.LogText())
	default:
	}
}

// TestFewDescriptors has more silent connections than the process may have files.
func TestFewDescriptors(t *testing.T) {
	b := besiegeWith(t, servertest.Options{Shell: "ulimit -n 64"})
	ctx, stop := context.WithCancel(t.Context())
	connections := b.attack(ctx, attack{name: "silence", one: func(net.Conn) error { return nil }})
	for range 5 {
		if err := b.visit(); err != nil {
			t.Error(err)
		}
	}
	stop()
	if n := connections(); n < 64 {
		t.Errorf("%d connections, want more than there are descriptors", n)
	}
}

// A besieged is a server under attack.
type besieged struct {
	*servertest.Server
	key string
}

// besiegeWith starts a server for the test, with a shop of one pet.
func besiegeWith(t *testing.T, o servertest.Options) besieged {
	t.Helper()
	dir := t.TempDir()
	plain := petstore
	if servertest.Raced { // it needs several times the memory
		var err error
		plain, err = servertest.Build(dir, "petstore")
		must(t, err)
	}
	o.Dir, o.Flags = dir, []string{"--log-level=error", "--h2c=on"}
	b := besieged{key: plain.Shop(t, dir, "shop").Key, Server: plain.Start(t, o)}
	for _, r := range []servertest.Request{
		{Method: "POST", URL: "/categories", Body: `{"name":"Kind"}`},
		{Method: "POST", URL: "/pets", Body: `{"name":"Pet","categoryId":1}`},
		{Method: "PATCH", URL: "/inventory/1", Body: `{"quantity":1000000000}`},
	} {
		r.URL, r.Key = b.URL+r.URL, b.key
		_, err := exchange(t.Context(), http.DefaultClient, r)
		must(t, err)
	}
	return b
}

// visit asks as a client with a key and a probe do, on new connections.
func (b besieged) visit() error {
	client := &http.Client{Timeout: servertest.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, url := range []string{b.URL + "/pets", b.Ops + "/readyz"} {
		if _, err := exchange(context.Background(), client, servertest.Request{Method: http.MethodGet, URL: url, Key: b.key}); err != nil {
			return err
		}
	}
	return nil
}

// attacked returns a server with as little memory as the flags say.
func attacked(t *testing.T) besieged {
	b := besiegeWith(t, servertest.Options{Env: []string{fmt.Sprintf("GOMEMLIMIT=%dMiB", *attackMemory/2)}})
	if err := b.CapMemory(t, *attackMemory<<20); err != nil {
		t.Logf("the server has no limit of memory: %v", err)
		t.Cleanup(func() {
			if peak := servertest.PeakMemory(t, b.Cmd.Process.Pid); !t.Failed() && peak > *attackMemory<<20 {
				t.Errorf("the server had %d MiB, want %d at most", peak>>20, *attackMemory)
			}
		})
	}
	return b
}

// attack has connections come from many addresses until ctx ends, each again when
// the server has ended it; they share out the attacks. What it returns waits for the
// end, and counts them.
func (b besieged) attack(ctx context.Context, attacks ...attack) (connections func() int64) {
	var all sync.WaitGroup
	var count atomic.Int64
	for i := range *attackers {
		from := net.IPv4(127, 0, byte(1+i/16), 1) // 16 of each address
		all.Go(func() {
			for ctx.Err() == nil {
				if err := attacks[i%len(attacks)].hold(ctx, b, from, &count); err != nil && ctx.Err() == nil {
					rest(ctx, 20*time.Millisecond)
				}
			}
		})
	}
	return func() int64 { all.Wait(); return count.Load() }
}

// hold is one connection of an attack.
func (a attack) hold(ctx context.Context, b besieged, from net.IP, count *atomic.Int64) error {
	_, addr, _ := strings.Cut(b.URL, "://")
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

// slowClients speak HTTP/1.1. One has the key: who has none is sent away before a body is read.
func slowClients(key string) []attack {
	const get = "GET %s HTTP/1.1\r\nHost: x\r\n\r\n"
	const form = "POST /console/signin HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
	send := func(text string) func(net.Conn) error {
		return func(c net.Conn) error { _, err := io.WriteString(c, text); return err }
	}
	fields := func(n int) string { return strings.Repeat("X-Field: "+strings.Repeat("x", 39)+"\r\n", n/50) }
	return []attack{
		{name: "silence", one: send("")},
		{name: "a head byte by byte", one: drip("GET /pets HTTP/1.1\r\nHost: x\r\nX: ", "a")},
		{name: "15 KB of a head", one: send("GET /pets HTTP/1.1\r\nHost: x\r\n" + fields(15_000))},
		{name: "one field of 60 KB", one: send("GET /pets HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 60_000))},
		{name: "60 KB of a form", one: send(form + "Content-Length: 64000\r\n\r\nkey=" + strings.Repeat("x", 60_000))},
		{name: "a body byte by byte", one: drip("POST /pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer "+key+"\r\nContent-Length: 60000\r\n\r\n{", " ")},
		{name: "chunks without end", one: drip(form+"Transfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n")},
		{name: "pages that nobody reads", one: send(strings.Repeat(fmt.Sprintf(get, "/docs"), 50))},
		{name: "refusals that nobody reads", one: send(strings.Repeat(fmt.Sprintf(get, "/pets"), 1000))},
		{name: "the description byte by byte", one: func(c net.Conn) error { return sip(c, fmt.Sprintf(get, "/openapi.json")) }},
		{name: "half closed", one: func(c net.Conn) error {
			return errors.Join(send("GET /pets HTTP/1.1\r\nHos")(c), c.(interface{ CloseWrite() error }).CloseWrite())
		}},
		{name: "idle after a request", one: send(fmt.Sprintf(get, "/pets"))},
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
