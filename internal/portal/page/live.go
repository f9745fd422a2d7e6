package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Bounds on the live streams.
const (
	streamLife  = 15 * time.Minute
	streamBeat  = 2 * time.Second
	streamWait  = 10 * time.Second // for a client that does not read
	streamPause = 3000             // milliseconds after which a browser asks again
)

// A Stream sends events to a page while it is open (WHATWG HTML §9.2).
type Stream struct{ v *Visit }

// Live begins a stream, or refuses it if there are too many. It ends early when another workspace needs its share. beat is
// called at once and every two seconds. The stream ends when the session does.
func (v *Visit) Live(beat func(context.Context, Stream) error) error {
	ctx, cancel := context.WithTimeout(v.R.Context(), streamLife)
	defer cancel()
	leave, err := v.Hold(v.streams, cancel, "Too many live pages", "The sessions of this workspace have as many of them open as they may. Close one of them first.")
	if err != nil {
		return err
	}
	defer leave()
	context.AfterFunc(ctx, leave) // run may be blocked by a client that does not read
	h := v.W.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	s := Stream{v}
	if err = s.write(fmt.Sprintf("retry: %d\n\n", streamPause)); err == nil { // an error means that the client has disconnected
		s.run(ctx, beat)
	}
	return nil
}

// run sends until the client disconnects, the session or the service ends, or ctx ends.
func (s Stream) run(ctx context.Context, beat func(context.Context, Stream) error) {
	tick := time.NewTicker(streamBeat)
	defer tick.Stop()
	err := beat(ctx, s)
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-s.v.Done:
			return
		case <-tick.C:
			if _, err = s.v.identify(); err == nil && s.v.Session == nil {
				_ = s.Send("ended", true)
				return
			} else if err == nil {
				err = beat(ctx, s)
			}
		}
	}
}

// Idle sends a comment, which the page ignores, to find out whether the client is still
// connected.
func (s Stream) Idle() error { return s.write(": still here\n\n") }

// Send sends an event with a value in JSON.
func (s Stream) Send(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.write("event: " + name + "\ndata: " + string(text) + "\n\n")
}

func (s Stream) write(text string) error {
	Extend(s.v.W, streamWait)
	if _, err := s.v.W.Write([]byte(text)); err != nil {
		return err
	}
	return http.NewResponseController(s.v.W).Flush()
}

// changedRows returns a function that sends the rows and the facts of a list: first those of l, and then those that
// read returns, if they have changed.
func changedRows(v *Visit, l List, read func(context.Context) (List, error)) func(context.Context, Stream) error {
	sent := ""
	return func(ctx context.Context, s Stream) (err error) {
		if sent != "" {
			if l, err = read(ctx); err != nil {
				return err
			}
		}
		lead := func(c *Cell) { // to where the reader's browser finds the console
			if c.URL != "" {
				c.URL = v.At(c.URL)
			}
		}
		for _, row := range l.Rows {
			for i := range row {
				lead(&row[i])
			}
		}
		for i := range l.Facts {
			lead(&l.Facts[i].Cell)
		}
		text, err := json.Marshal(map[string]any{"rows": append([][]Cell{}, l.Rows...), "facts": l.Facts})
		if err != nil {
			return err
		}
		if string(text) == sent {
			return s.Idle()
		}
		sent = string(text)
		return s.Send("rows", json.RawMessage(text))
	}
}
