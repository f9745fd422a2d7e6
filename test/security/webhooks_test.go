package security

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// badReceivers are what receivers do after a message, by the path of their URLs. The
// connection is closed when they return.
var badReceivers = []func(net.Conn){
	func(c net.Conn) { drain(c) },
	func(c net.Conn) { say(c, "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"); drain(c) },
	func(c net.Conn) { repeat(c, "HTTP/1.1 102 x\r\n\r\n", 3*time.Second) },
	func(c net.Conn) { say(c, "HTTP/1.1 200 OK\r\nX: "); repeat(c, "x", 100*time.Millisecond) },
	func(c net.Conn) { say(c, "HTTP/1.1 200 OK\r\n\r\n"); repeat(c, "x", 100*time.Millisecond) },
	func(c net.Conn) {
		say(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		<-time.After(50 * time.Millisecond)
		say(c, "raw line of a receiver\r\n\r\n")
		drain(c)
	},
	func(c net.Conn) { say(c, "HTTP/1.1 000 x\r\n\r\n"); drain(c) },
}

const hangs = 0 // of badReceivers, the one that says nothing

func say(c net.Conn, text string) { _, _ = io.WriteString(c, text) }
func drain(c net.Conn)            { _, _ = io.Copy(io.Discard, c) }

func repeat(c net.Conn, text string, pause time.Duration) {
	for {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
		<-time.After(pause)
	}
}

// receiveBadly returns the URL of bad receivers, and how many messages each has had.
func receiveBadly(t *testing.T) (url string, had []atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	had = make([]atomic.Int64, len(badReceivers))
	var serving sync.WaitGroup
	over, end := context.WithCancel(context.Background())
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(over, func() { _ = c.Close() })
			serving.Go(func() {
				defer c.Close()
				r, err := http.ReadRequest(bufio.NewReader(c))
				var way int
				if err != nil {
					return
				}
				if _, err := fmt.Sscanf(r.URL.Path, "/%d", &way); err == nil {
					had[way].Add(1)
					badReceivers[way](c)
				}
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); end(); serving.Wait() })
	return "http://" + l.Addr().String(), had
}

// hookTo makes a webhook to a URL, and returns its path.
func (s *site) hookTo(key, url string) string {
	s.t.Helper()
	var made struct{ ID string }
	a := s.do(request{method: "POST", path: "/webhooks", key: key, body: text(s.t, map[string]any{"url": url})}).want(201, "")
	if err := json.Unmarshal([]byte(a.body), &made); err != nil {
		s.t.Fatal(err)
	}
	return "/webhooks/" + made.ID
}

// TestBadReceivers: the webhooks of ten workspaces lead to a receiver that says nothing.
// Another workspace has its events soon, and its tests are answered; a third is told what
// came of receivers that hold connections in other ways. The server ends in time, and its
// log is plain.
func TestBadReceivers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	greedy := make([]string, 10)
	for i := range greedy {
		greedy[i] = s.workspace(fmt.Sprintf("greedy%d", i))
	}
	curious, modest := s.workspace("curious"), s.workspace("modest")
	s.serve("--webhook-allow-http", "--webhook-allow-to=127.0.0.0/8")
	bad, had := receiveBadly(t)
	event := request{method: "POST", path: "/categories", body: `{"name":"Dogs"}`}
	for _, event.key = range greedy {
		for range 20 {
			s.hookTo(event.key, fmt.Sprintf("%s/%d", bad, hangs))
		}
		s.do(event).want(201, "")
	}
	hooks := make([]string, len(badReceivers))
	for way := range badReceivers {
		hooks[way] = s.hookTo(curious, fmt.Sprintf("%s/%d", bad, way))
	}
	event.key = curious
	s.do(event).want(201, "")
	servertest.Eventually(t, "the receivers that say nothing hold what they can", func() bool { return had[hangs].Load() >= 120 })

	var arrived atomic.Int64
	good := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	t.Cleanup(good.Close)
	hook := s.hookTo(modest, good.URL)
	event.key = modest
	var slowest time.Duration
	for n := range int64(30) {
		began := time.Now()
		s.do(event).want(201, "")
		servertest.Eventually(t, "an event arrives", func() bool { return arrived.Load() > n })
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("the slowest event took %v", slowest)
	if slowest > 10*time.Second { // on a busy machine; each try that hangs takes 15
		t.Errorf("an event took %v", slowest)
	}
	s.do(request{method: "POST", path: hook + "/test", key: modest}).want(200, "")
	s.wantTold(curious, hooks)

	began := time.Now()
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	took := time.Since(began)
	t.Logf("the server ended after %v", took)
	if took > 12*time.Second {
		t.Errorf("the server ended after %v", took)
	}
	for line := range strings.Lines(s.LogText()) {
		if !json.Valid([]byte(line)) || strings.Contains(line, "raw line") {
			t.Errorf("the log has the line %q", line)
		}
	}
}

// wantTold waits until the server has told what came of the tries to bad receivers.
func (s *site) wantTold(key string, hooks []string) {
	s.t.Helper()
	for way, want := range []string{
		"There was no answer within 15 seconds.", "The status of the answer was 101,", "There was no answer within 15 seconds.",
		"There was no answer within 15 seconds.", `"status":200,`, `"status":200,`, "The status of the answer was 000,",
	} {
		servertest.Eventually(s.t, fmt.Sprintf("receiver %d is told with %q", way, want), func() bool {
			return strings.Contains(s.do(request{method: "GET", path: hooks[way] + "/deliveries", key: key}).body, want)
		})
	}
}
