package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/petstore"
)

// A pipeListener accepts connections in memory, on which the clock of a bubble
// goes on.
type pipeListener struct {
	ends  chan net.Conn
	ended chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ends:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	select {
	case <-l.ended:
	default:
		close(l.ended)
	}
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// An attentiveStore asks for the end of the context, so that the client is
// watched, and goes on whatever becomes of it.
type attentiveStore struct{ petstore.Store }

func (s attentiveStore) Do(ctx context.Context, c *petstore.Change) (*petstore.Receipt, error) {
	_ = ctx.Done()
	return s.Store.Do(context.WithoutCancel(ctx), c)
}

// pipeShop serves a shop on connections in memory, within a bubble.
func pipeShop(t *testing.T) (*shop, func() *wire) {
	t.Helper()
	s := prepareShop(t, limits(), func(o *httpapi.Options) { o.Shop = petstore.NewService(attentiveStore{o.Shop.Store}) })
	on := &pipeListener{make(chan net.Conn), make(chan struct{})}
	server := s.api.Server()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(s.api.Listener(on)) // ends with the listener
	}()
	t.Cleanup(func() {
		_ = on.Close()
		_ = server.Close()
		<-served
	})
	return s, func() *wire {
		client, end := net.Pipe()
		on.ends <- end
		return newWire(t, client)
	}
}

// live runs a test on connections in memory and a clock that jumps.
func live(t *testing.T, test func(t *testing.T, s *shop, dial func() *wire)) {
	t.Helper()
	needsBubble(t)
	synctest.Test(t, func(t *testing.T) {
		s, dial := pipeShop(t)
		test(t, s, dial)
	})
}

// endsAfter fails the test unless the server closes the connection after so
// long.
func (w *wire) endsAfter(least, most time.Duration) {
	w.t.Helper()
	began := time.Now()
	_, _ = io.Copy(io.Discard, w.in) // until the end
	if took := time.Since(began); took < least || took > most {
		w.t.Errorf("the connection ended after %v, want %v to %v", took, least, most)
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	account := func(s *shop) string { return request{method: "GET", path: "/account"}.text(s.key) }
	for name, test := range map[string]struct {
		least, most time.Duration
		use         func(s *shop, w *wire)
	}{
		"silent":        {10 * time.Second, 10 * time.Second, func(*shop, *wire) {}},
		"half a head":   {10 * time.Second, 10 * time.Second, func(s *shop, w *wire) { w.send(account(s)[:30]) }},
		"14 bytes":      {10 * time.Second, 20 * time.Second, func(s *shop, w *wire) { w.send(account(s)[:14]) }},
		"idle":          {110 * time.Second, 120 * time.Second, func(s *shop, w *wire) { w.send(account(s)); w.want("GET", 200) }},
		"used for long": {110 * time.Second, 120 * time.Second, func(s *shop, w *wire) { useForLong(s, w, account(s)) }},
		"half a head later": {10 * time.Second, 10 * time.Second, func(s *shop, w *wire) {
			w.send(account(s))
			w.want("GET", 200)
			time.Sleep(time.Minute)
			w.send(account(s)[:30])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live(t, func(_ *testing.T, s *shop, dial func() *wire) {
				w := dial()
				test.use(s, w)
				w.endsAfter(test.least, test.most)
			})
		})
	}
}

// useForLong asks for longer than any deadline is.
func useForLong(_ *shop, w *wire, text string) {
	for range 10 {
		w.send(text)
		w.want("GET", http.StatusOK)
		time.Sleep(100 * time.Second)
	}
	w.send(text)
	w.want("GET", http.StatusOK)
}

// TestTricklingBody sends a body byte by byte, each before another 30 seconds
// are over: it has 30 in all, and some more with net/http, which answers.
func TestTricklingBody(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *shop, dial func() *wire) {
		w := dial()
		head, body, _ := strings.Cut(create("a long name for a slow one").text(s.key), "\r\n\r\n")
		w.send(head + "\r\n\r\n")
		began := time.Now()
		go func() {
			for i := range body {
				time.Sleep(20 * time.Second)
				if _, err := io.WriteString(w, body[i:i+1]); err != nil {
					return
				}
			}
		}()
		if _, err := w.read("POST"); err != nil && !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if took := time.Since(began); took > 90*time.Second {
			t.Errorf("a body that trickles was borne for %v", took)
		}
		_ = w.Close()
		time.Sleep(time.Minute) // for the client to notice
	})
}

// TestSilentReader does not read its answer: the connection ends within the
// time for writing.
func TestSilentReader(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *shop, dial func() *wire) {
		w := dial()
		w.send(request{method: "GET", path: "/account"}.text(s.key))
		time.Sleep(45 * time.Second)
		if n := s.api.ExpressConns(); n != 0 {
			t.Errorf("%d connections are open after 45 s", n)
		}
	})
}

// TestEarlyRequest sends the next request while a write is held: the one that
// watches for the end of the connection reads it, and both are answered.
func TestEarlyRequest(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *shop, dial func() *wire) {
		text := request{method: "GET", path: "/categories"}.text(s.key)
		for i, cut := range []int{len(text), 1, len(text) - 1} {
			w := dial()
			release := s.fault.holdWrites()
			w.send(create("slow").text(s.key))
			time.Sleep(time.Second)
			w.send(text[:cut]) // does not return before it is read
			release()
			w.want("POST", http.StatusCreated)
			if cut < len(text) {
				w.send(text[cut:])
			}
			if r := w.want("GET", http.StatusOK); strings.Count(r.body, "slow") != i+1 {
				t.Errorf("the early request was answered %s, want %d categories", r.body, i+1)
			}
			w.endsAfter(110*time.Second, 120*time.Second)
		}
	})
}

// TestSlowAnswers: a connection goes on after answers that were watched, and
// has its whole idle time then.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	live(t, func(_ *testing.T, s *shop, dial func() *wire) {
		w := dial()
		for range 5 {
			release := s.fault.holdWrites()
			w.send(create("slow").text(s.key))
			time.Sleep(3 * time.Minute) // longer than the idle time
			release()
			w.want("POST", http.StatusCreated)
		}
		w.endsAfter(119*time.Second, 120*time.Second)
	})
}

// TestClientLeaves closes the connection during a held write, over TLS and
// without: the write is withdrawn.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	patient := func(o *httpapi.Options) { o.Shop = petstore.NewService(patientStore{o.Shop.Store}) }
	for _, secured := range []bool{false, true} {
		t.Run(fmt.Sprint("TLS ", secured), func(t *testing.T) {
			t.Parallel()
			var s *shop
			var w *wire
			if secured {
				shop, trust := openSecureShop(t, patient)
				s, w = shop, shop.dialTLS(t, trust)
			} else {
				s = openShop(t, patient)
				w = s.dial(t)
			}
			w.send(create("given up").text(s.key))
			_ = w.Close()
			waitFor(t, "the write to be given up", func() bool { return strings.Contains(s.log.String(), `"status":499`) })
			waitFor(t, "the connection to end", func() bool { return s.api.ExpressConns() == 0 })
			all, err := s.db.Categories(t.Context(), s.workspace.ID, petstore.CategoryQuery{Page: petstore.Page{Limit: 10}})
			if err != nil || len(all) != 0 {
				t.Errorf("the categories are %v, %v, want none", all, err)
			}
		})
	}
}

// TestDrain has connections in every state.
func TestDrain(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *shop, dial func() *wire) {
		account := request{method: "GET", path: "/account"}.text(s.key)
		idle, silent, begun, busy := dial(), dial(), dial(), dial()
		idle.send(account)
		idle.want("GET", http.StatusOK)
		head, body, _ := strings.Cut(create("begun").text(s.key), "\r\n\r\n")
		begun.send(account)
		begun.want("GET", http.StatusOK)
		begun.send(head + "\r\n\r\n")
		release := s.fault.holdWrites()
		busy.send(create("busy").text(s.key))
		synctest.Wait()

		drained := make(chan error)
		go func() { drained <- s.api.Drain(t.Context()) }()
		idle.ended()
		silent.send(account)
		if r := silent.want("GET", http.StatusOK); r.line("Connection") != "close" {
			t.Error("a first request during the drain is not answered with Connection: close")
		}
		silent.ended()
		release()
		for _, w := range []*wire{busy, begun} {
			if w == begun {
				w.send(body)
			}
			if r := w.want("POST", http.StatusCreated); r.line("Connection") != "close" {
				t.Errorf("an answer during the drain has %q, want Connection: close", r.lines)
			}
			w.ended()
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
		all, err := s.db.Categories(t.Context(), s.workspace.ID, petstore.CategoryQuery{Page: petstore.Page{Limit: 10}})
		if err != nil || len(all) != 2 {
			t.Errorf("the drain left %v, %v, want each write carried out once", all, err)
		}
	})
}

// TestDrainOfTheSilent: a connection that has never sent anything ends three seconds
// after it came; one whose first request comes before that has its answer.
func TestDrainOfTheSilent(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *shop, dial func() *wire) {
		account := request{method: "GET", path: "/account"}.text(s.key)
		old := dial()
		time.Sleep(5 * time.Second)
		fresh, late := dial(), dial()
		synctest.Wait()
		drained := make(chan error)
		go func() { drained <- s.api.Drain(t.Context()) }()
		old.endsAfter(0, 2*time.Millisecond)
		time.Sleep(2900 * time.Millisecond)
		late.send(account)
		late.want("GET", http.StatusOK)
		late.ended()
		fresh.endsAfter(90*time.Millisecond, 110*time.Millisecond)
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

// TestDrainGivesUp when its time is over: a connection that is busy is cut.
func TestDrainGivesUp(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *shop, dial func() *wire) {
		w := dial()
		release := s.fault.holdWrites()
		defer release()
		w.send(create("held").text(s.key))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.api.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain() = %v while a write is held, want %v", err, context.DeadlineExceeded)
		}
		w.endsAfter(0, 0)
	})
}

// TestDrainGivesUpUnderTLS, where a peer may take nothing, not even a farewell.
func TestDrainGivesUpUnderTLS(t *testing.T) {
	t.Parallel()
	s, trust := openSecureShop(t)
	w := s.dialTLS(t, trust)
	release := s.fault.holdWrites()
	defer release()
	w.send(create("held").text(s.key))
	waitFor(t, "the write to be held", func() bool { return s.api.ExpressBusy() == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.api.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Drain() = %v while a write is held, want %v", err, context.Canceled)
	}
	if n, err := w.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("after the drain %d bytes and %v are read, want the end of the connection", n, err)
	}
}

// TestAbort breaks one connection, and no other.
func TestAbort(t *testing.T) {
	t.Parallel()
	s := openShop(t, func(o *httpapi.Options) {
		o.Observe = func(o httpapi.Observation) {
			if o.RequestID == "abort" {
				panic(http.ErrAbortHandler)
			}
		}
	})
	r := request{method: "GET", path: "/account"}
	whole, broken := s.dial(t), s.dial(t)
	for range 3 {
		whole.send(r.text(s.key))
		whole.want("GET", http.StatusOK)
	}
	r.header = map[string]string{"X-Request-Id": "abort"}
	broken.send(r.text(s.key) + r.text(s.key))
	broken.ended()
	r.header = nil
	whole.send(r.text(s.key))
	whole.want("GET", http.StatusOK)
	waitFor(t, "the broken connection to end", func() bool { return s.api.ExpressConns() == 1 })
}

// TestNothingIsLeft has connections end in every way, and looks for goroutines
// of ours afterwards.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *shop, dial func() *wire) {
		release := s.fault.holdWrites()
		for i := range 8 {
			w := dial()
			w.send(create("x").text(s.key))
			time.Sleep(time.Duration(i) * 50 * time.Millisecond) // some are watched by then
			if i%2 == 0 {
				_ = w.Close()
			}
		}
		release()
		time.Sleep(5 * time.Minute)
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, false)]
		if n := s.api.ExpressConns(); n != 0 || bytes.Contains(stacks, []byte("callContext).watch")) {
			t.Errorf("%d connections are left:\n%s", n, stacks)
		}
	})
}
