//go:build linux

package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/petstore/test/servertest"
)

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
// machine would else take its processors, whatever the server did.
func pace(ctx context.Context, every time.Duration, f func() error) error {
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

// trickle sends first, and then a byte ten times a second.
func trickle(ctx context.Context, c net.Conn, first, then string) error {
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
// connection, until ctx ends. It counts the connections.
func (w crowd) gather(ctx context.Context, addr string) (wait func() int) {
	var all sync.WaitGroup
	var mu sync.Mutex
	count := 0
	for range w.members {
		all.Go(func() {
			for ctx.Err() == nil {
				c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
				if err != nil {
					return
				}
				mu.Lock()
				count++
				mu.Unlock()
				free := context.AfterFunc(ctx, func() { c.Close() })
				_ = w.one(ctx, c) // how it ends is the server's business
				free()
				c.Close()
			}
		})
	}
	return func() int { all.Wait(); return count }
}

// TestCrowds lets crowds of every kind press at once on a server that has 64 MiB
// of memory. Whoever asks properly is answered, and soon, and nothing is killed.
// That it is soon all the time is held in long campaigns alone, which have the
// machine to themselves; else in one second at least: what others do on the
// machine can make a second slow, but not fast.
func TestCrowds(t *testing.T) {
	dir := t.TempDir()
	plain, err := servertest.Build(dir, "petstore") // the race detector needs several times the memory
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.NewWorkspace(dir, "shop"); err != nil {
		t.Fatal(err)
	}
	k, err := plain.NewKey(dir, "shop")
	if err != nil {
		t.Fatal(err)
	}
	server, err := plain.Serve(servertest.Options{Dir: dir, Env: []string{"GOMEMLIMIT=48MiB"}, Flags: []string{"--log-level=error"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	capped := capMemory(t, server.Cmd.Process.Pid, 64<<20)
	before, err := healthy(server.URL, k.Key, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var waits []func() int
	for _, w := range crowds(k.Key) {
		waits = append(waits, w.gather(ctx, strings.TrimPrefix(server.URL, "http://")))
	}
	length := 5 * time.Second
	if *soak > 0 || *volume > 0 {
		length = time.Minute
	}
	took, best, err := bySeconds(server.URL, k.Key, length)
	peak := peakMemory(t, server.Cmd.Process.Pid)
	cancel()
	for i, w := range crowds(k.Key) {
		t.Logf("%s: %d connections", w.name, waits[i]())
	}
	if err != nil {
		t.Fatal(err)
	}
	quiet, all := p99(before), p99(took)
	t.Logf("%d healthy requests among them, all answered: median %v, p99 %v, %v in the best second; p99 without them %v; at most %d MiB of memory, capped %v",
		len(took), took[len(took)/2], all, best, quiet, peak>>20, capped)
	if best > promised {
		t.Errorf("p99 of the healthy = %v in the best second, want %v or less", best, promised)
	}
	if (*soak > 0 || *volume > 0) && quiet < 2*time.Millisecond && all > promised { // a machine with other work proves nothing
		t.Errorf("p99 of the healthy = %v, want %v or less", all, promised)
	}
	if most := 80 << 20; !capped && peak > most { // pages of the program's file are among them
		t.Errorf("memory = %d MiB, want %d or less", peak>>20, most>>20)
	}
	if err := server.Stop(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, server.LogText())
	}
}

// promised is how soon 99 of 100 requests are answered, whoever else presses.
const promised = 20 * time.Millisecond

// p99 returns how long 99 of 100 took at most, of some in order.
func p99(took []time.Duration) time.Duration { return took[len(took)*99/100] }

// bySeconds is healthy for so long, and longer if not one second was as good as
// promised. It returns the p99 of the best too.
func bySeconds(url, key string, length time.Duration) (took []time.Duration, best time.Duration, err error) {
	best = time.Hour
	for began := time.Now(); time.Since(began) < length || best > promised && time.Since(began) < servertest.Patience; {
		second, err := healthy(url, key, time.Second)
		if err != nil {
			return nil, 0, err
		}
		took, best = append(took, second...), min(best, p99(second))
	}
	slices.Sort(took)
	return took, best, nil
}

// healthy sends requests one after another, as one who expects answers, a
// hundred at least, and returns how long they took, in order.
func healthy(url, key string, length time.Duration) ([]time.Duration, error) {
	h := &herd{url: url, key: key}
	c := &http.Client{Timeout: servertest.Patience, Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	var took []time.Duration
	for began, i := time.Now(), 0; i < 100 || time.Since(began) < length; i++ {
		at := time.Now()
		if err := h.request(c, 0, i); err != nil {
			return nil, fmt.Errorf("a healthy request failed: %w", err)
		}
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	return took, nil
}

// capMemory puts a process into a control group of its own with so many bytes,
// if that can be done, and reports whether.
func capMemory(t *testing.T, pid, size int) bool {
	t.Helper()
	group := filepath.Join("/sys/fs/cgroup/memory", fmt.Sprintf("petstore-test-%d", pid))
	if err := os.Mkdir(group, 0o755); err != nil {
		return false
	}
	t.Cleanup(func() { _ = os.Remove(group) })
	for file, value := range map[string]int{"memory.limit_in_bytes": size, "cgroup.procs": pid} {
		if err := os.WriteFile(filepath.Join(group, file), []byte(strconv.Itoa(value)), 0o600); err != nil {
			return false
		}
	}
	return true
}

// peakMemory returns the most bytes that a process had in memory.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "VmHWM:")
	var kib int
	if _, err := fmt.Sscanf(rest, "%d kB", &kib); !found || err != nil {
		t.Fatalf("no VmHWM in %s", text)
	}
	return kib << 10
}
