package http1

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/http1/http1test"
	"example.com/petstore/internal/processtest"
)

// endsAfter fails the test unless the server closes the connection after so
// long.
func endsAfter(t *testing.T, w *http1test.Wire, least, most time.Duration) {
	t.Helper()
	began := time.Now()
	_, _ = io.Copy(io.Discard, w) // until the end
	if took := time.Since(began); took < least || took > most {
		t.Errorf("the connection ended after %v, want %v to %v", took, least, most)
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	ask := func(w *http1test.Wire) {
		w.Send(getAccount)
		w.Want("GET", http.StatusOK)
	}
	for name, test := range map[string]struct {
		least, most time.Duration
		use         func(w *http1test.Wire)
	}{
		"silent":      {10 * time.Second, 10 * time.Second, func(*http1test.Wire) {}},
		"half a head": {10 * time.Second, 10 * time.Second, func(w *http1test.Wire) { w.Send(getAccount[:30]) }},
		"14 bytes":    {10 * time.Second, 10 * time.Second, func(w *http1test.Wire) { w.Send(getAccount[:14]) }},
		"a head that trickles": {time.Second, time.Second, func(w *http1test.Wire) {
			for i := range 10 {
				w.Send(getAccount[i : i+1])
				time.Sleep(900 * time.Millisecond)
			}
		}},
		"idle": {120 * time.Second, 130 * time.Second, ask},
		"idle after two requests": {120 * time.Second, 130 * time.Second, func(w *http1test.Wire) {
			ask(w)
			time.Sleep(9 * time.Second)
			ask(w)
		}},
		"used for longer than any deadline is": {120 * time.Second, 130 * time.Second, func(w *http1test.Wire) {
			for range 10 {
				ask(w)
				time.Sleep(100 * time.Second)
			}
			ask(w)
		}},
		"half a head later": {10 * time.Second, 10 * time.Second, func(w *http1test.Wire) {
			ask(w)
			time.Sleep(time.Minute)
			w.Send(getAccount[:30])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live(t, func(t *testing.T, _ *site, dial func() *http1test.Wire) {
				w := dial()
				test.use(w)
				endsAfter(t, w, test.least, test.most)
			})
		})
	}
}

// TestTricklingRequests sends requests byte by byte: head and body have thirty
// seconds together, then the client has its answer.
func TestTricklingRequests(t *testing.T) {
	t.Parallel()
	request := post("a long name for a slow one")
	head := strings.Index(request, "\r\n\r\n") + 4
	for name, test := range map[string]struct {
		first int           // how many bytes come at once
		pause time.Duration // between the others
	}{
		"body":                                   {head, 20 * time.Second},
		"body, faster than any deadline":         {head, 2 * time.Second},
		"body after half of it":                  {head + 5, 7 * time.Second},
		"end of the head, and the body":          {head - 3, 3 * time.Second},
		"end of the head for long, and the body": {head - 1, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live(t, func(t *testing.T, _ *site, dial func() *http1test.Wire) {
				w := dial()
				w.Send(getAccount) // the deadlines are not those of a new connection
				w.Want("GET", http.StatusOK)
				time.Sleep(time.Minute)
				w.Send(request[:test.first])
				began := time.Now()
				go func() {
					for i := test.first; i < len(request); i++ {
						time.Sleep(test.pause)
						if _, err := io.WriteString(w, request[i:i+1]); err != nil {
							return
						}
					}
				}()
				w.Want("POST", http.StatusBadRequest)
				if took := time.Since(began); took != 30*time.Second {
					t.Errorf("a request that trickles had %v, want 30s", took)
				}
				_ = w.Close()
				time.Sleep(time.Minute) // for the client to notice
			})
		})
	}
}

// TestSilentReader does not read its answer: the connection ends within the
// time for writing.
func TestSilentReader(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *site, dial func() *http1test.Wire) {
		w := dial()
		w.Send(getAccount)
		time.Sleep(45 * time.Second)
		if n, _ := s.numbers(); n != 0 {
			t.Errorf("%d connections are open after 45 s", n)
		}
	})
}

// TestEarlyRequest sends the next request while an answer is held: both are
// answered, and the connection has its whole idle time then.
func TestEarlyRequest(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *site, dial func() *http1test.Wire) {
		for _, cut := range []int{len(getCategories), 1, len(getCategories) - 1} {
			w := dial()
			release := s.holdWrites()
			w.Send(post("slow"))
			go w.Send(getCategories[:cut]) // returns when it is read
			time.Sleep(3 * time.Minute)    // longer than the idle time
			release()
			w.Want("POST", http.StatusCreated)
			if cut < len(getCategories) {
				synctest.Wait()
				w.Send(getCategories[cut:])
			}
			w.Want("GET", http.StatusOK)
			endsAfter(t, w, 120*time.Second, 130*time.Second)
		}
	})
}

// TestClientLeaves closes the connection while an answer is held: what was begun
// is carried out, and the connection ends.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *site, dial func() *http1test.Wire) {
		release := s.holdWrites()
		w := dial()
		w.Send(post("left"))
		_ = w.Close()
		synctest.Wait()
		release()
		synctest.Wait()
		if n, _ := s.numbers(); n != 0 || s.made.Load() != 1 {
			t.Errorf("%d connections are left, and %d was made, want 0 and 1", n, s.made.Load())
		}
	})
}

// TestDrain has connections in every state.
func TestDrain(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *site, dial func() *http1test.Wire) {
		idle, silent, begun, busy := dial(), dial(), dial(), dial()
		idle.Send(getAccount)
		idle.Want("GET", http.StatusOK)
		head, body, _ := strings.Cut(post("begun"), "\r\n\r\n")
		begun.Send(getAccount)
		begun.Want("GET", http.StatusOK)
		begun.Send(head + "\r\n\r\n")
		release := s.holdWrites()
		busy.Send(post("busy"))
		synctest.Wait()

		drained := drain(t.Context(), s)
		idle.Ended()
		silent.Send(getAccount)
		if r := silent.Want("GET", http.StatusOK); r.Line("Connection") != "close" {
			t.Error("a first request during the drain is not answered with Connection: close")
		}
		silent.Ended()
		release()
		for _, w := range []*http1test.Wire{busy, begun} {
			if w == begun {
				w.Send(body)
			}
			if r := w.Want("POST", http.StatusCreated); r.Line("Connection") != "close" {
				t.Errorf("an answer during the drain has %q, want Connection: close", r.Lines)
			}
			w.Ended()
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
		if n := s.made.Load(); n != 2 {
			t.Errorf("%d writes were carried out, want each once", n)
		}
	})
}

// TestDrainOfTheSilent: a connection that has never sent anything ends three seconds
// after it came; one whose first request comes before that has its answer.
func TestDrainOfTheSilent(t *testing.T) {
	t.Parallel()
	live(t, func(t *testing.T, s *site, dial func() *http1test.Wire) {
		old := dial()
		time.Sleep(5 * time.Second)
		fresh, late := dial(), dial()
		synctest.Wait()
		drained := drain(t.Context(), s)
		endsAfter(t, old, 0, 2*time.Millisecond)
		time.Sleep(2900 * time.Millisecond)
		late.Send(getAccount)
		late.Want("GET", http.StatusOK)
		late.Ended()
		endsAfter(t, fresh, 90*time.Millisecond, 110*time.Millisecond)
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

// TestFirstRequests: for which connections a drain waits, by the states that net/http tells of them.
func TestFirstRequests(t *testing.T) {
	t.Parallel()
	agreed := []http.ConnState{http.StateNew, http.StateActive, http.StateIdle} // as net/http begins HTTP/2
	for name, test := range map[string]struct {
		http2  bool
		states []http.ConnState
		young  bool // whether it is awaited when it just came
		old    bool // and when it came long ago
	}{
		"just came":                {false, agreed[:1], true, false},
		"is answered":              {false, agreed[:2], true, true},
		"was answered":             {false, agreed, false, false},
		"asks again":               {false, append(agreed, http.StateActive), false, false},
		"is gone":                  {false, []http.ConnState{http.StateNew, http.StateClosed}, false, false},
		"has agreed on HTTP/2":     {true, agreed, true, false},
		"is answered over HTTP/2":  {true, append(agreed, http.StateActive), true, true},
		"was answered over HTTP/2": {true, append(agreed, http.StateActive, http.StateIdle), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, one := newSite(), &conn{}
			for _, state := range test.states {
				s.front.note(one, state, test.http2)
			}
			if young, old := s.front.awaitsFirst(time.Hour), s.front.awaitsFirst(0); young != test.young || old != test.old {
				t.Errorf("awaitsFirst = %v and %v, want %v and %v", young, old, test.young, test.old)
			}
		})
	}
}

// TestDrainGivesUpUnderTLS: when its time is over, a connection that is busy is cut, also one whose peer takes nothing,
// not even a farewell.
func TestDrainGivesUpUnderTLS(t *testing.T) {
	t.Parallel()
	s, trust := openSecureSite(t)
	w := s.dialTLS(t, trust)
	release := s.holdWrites()
	defer release()
	w.Send(post("held"))
	processtest.Eventually(t, "the write to be held", func() bool { _, busy := s.numbers(); return busy == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.front.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Drain() = %v while a write is held, want %v", err, context.Canceled)
	}
	if n, err := w.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("after the drain %d bytes and %v are read, want the end of the connection", n, err)
	}
}
