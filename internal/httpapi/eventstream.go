package httpapi

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"example.com/petstore/internal/petstore"
)

// Bounds on streams of events.
const (
	maxFeedStreams = 50               // that a workspace may have open
	streamBeat     = 15 * time.Second // between two signs of life
	streamPause    = 3000             // milliseconds after which a browser asks again
)

var errTooManyStreams = &petstore.Error{
	Code: codeTooManyStreams, RetryAfter: 10 * time.Second,
	Message: "The workspace has " + strconv.Itoa(maxFeedStreams) + " streams open already. End one, or wait as Retry-After says.",
}

// openStreams counts streams, by workspace.
type openStreams struct {
	mu   sync.Mutex
	open map[int64]int
}

// enter reports whether the workspace may have one more. Whoever was let in must
// leave.
func (s *openStreams) enter(workspace int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[workspace] >= maxFeedStreams {
		return false
	}
	s.open[workspace]++
	return true
}

func (s *openStreams) leave(workspace int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[workspace]--; s.open[workspace] == 0 {
		delete(s.open, workspace)
	}
}

func (s *openStreams) count() (all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.open {
		all += n
	}
	return all
}

// lastEventID reads where a stream goes on: a client that connects again sends it
// beside the after with which it began.
func (f *follower) lastEventID(p *query) {
	if text := f.x.r.Header.Get("Last-Event-ID"); text != "" {
		f.q.After, f.q.Oldest = p.integer("Last-Event-ID", text, 0, 1<<63-1), false
	}
}

// stream answers with Server-Sent Events (WHATWG HTML §9.2) until the service, the
// client or the key is at its end. What is wrong before the first one is answered
// as to any request. A store that is away is waited for.
func (f *follower) stream() error {
	x := f.x
	if !f.streams.enter(x.workspace()) {
		return errTooManyStreams
	}
	defer f.streams.leave(x.workspace())
	page, err := f.read()
	if err != nil {
		return err
	}
	x.set("Content-Type", "text/event-stream")
	x.set("X-Accel-Buffering", "no") // for proxies
	x.WriteHeader(http.StatusOK)
	if x.r.Method == http.MethodHead {
		return nil
	}
	x.scratch = append(append(strconv.AppendInt(append(x.scratch[:0], "retry: "...), streamPause, 10), '\n'), '\n')
	for err = f.send(page.Events); err == nil && !f.ended(); {
		if page, err = f.next(streamBeat); petstore.CodeOf(err) == petstore.CodeServiceUnavailable {
			f.sleep(nil, nil)
			err = nil
		} else if err == nil {
			x.scratch = x.scratch[:0]
			err = f.send(page.Events)
		}
	}
	return nil // who goes on is told what was wrong
}

// send sends events, behind what is to be sent already. Without any it sends a
// comment, and the id to go on from, of an event that the client did not want.
func (f *follower) send(events []petstore.Event) error {
	x := f.x
	b := x.scratch
	for i := range events {
		e := &events[i]
		b = strconv.AppendInt(append(b, "id: "...), e.ID, 10)
		b = append(append(b, "\nevent: "...), e.Type...)
		b = append(e.AppendJSON(append(b, "\ndata: "...)), '\n', '\n')
	}
	if len(events) == 0 {
		b = append(strconv.AppendInt(append(b, ":\nid: "...), f.q.After, 10), '\n', '\n')
	}
	x.scratch = b
	f.extend(0)
	if _, err := x.Write(b); err != nil {
		return err
	}
	return http.NewResponseController(x.w).Flush()
}
