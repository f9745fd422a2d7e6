package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"example.com/petstore/internal/usage"
)

// Bounds on the live streams.
const (
	streamLife   = 15 * time.Minute
	streamBeat   = 2 * time.Second
	streamWait   = 10 * time.Second // for a client that does not read
	streamPause  = 3000             // milliseconds after which a browser asks again
	eventsInLine = 40               // requests that the log's page shows, to be short; the CSV has all
)

// A stream sends events to a page while it is open (WHATWG HTML §9.2).
type stream struct{ v *visit }

// live begins a stream, or refuses it if there are too many. It ends early when another workspace needs its share. beat is called at once and every two seconds; event, unless
// it is nil, for each request of the workspace. The stream ends when the session does.
func (v *visit) live(beat func(context.Context, stream) error, event func(stream, usage.Event) error) error {
	ctx, cancel := context.WithCancel(v.r.Context())
	defer cancel()
	leave, err := v.hold(v.shares.streams, cancel)
	if err != nil {
		return v.refuseShare(err, "Too many live pages", "The sessions of this workspace have as many of them open as they may. Close one of them first.")
	}
	defer leave()
	context.AfterFunc(ctx, leave) // what gives way may be writing to a client that does not read
	var events <-chan usage.Event
	if event != nil {
		watched, stop := v.Usage.Watch(v.who.Workspace.ID)
		defer stop()
		events = watched
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	s := stream{v}
	if err = s.write(fmt.Sprintf("retry: %d\n\n", streamPause)); err != nil {
		return nil //nolint:nilerr // the client is gone
	}
	s.run(ctx, beat, events, event)
	return nil
}

// run sends until the client, the session, the service or the stream's time is at its end, or ctx ends.
func (s stream) run(ctx context.Context, beat func(context.Context, stream) error, events <-chan usage.Event, event func(stream, usage.Event) error) {
	ctx, cancel := context.WithTimeout(ctx, streamLife)
	defer cancel()
	tick := time.NewTicker(streamBeat)
	defer tick.Stop()
	err := beat(ctx, s)
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-s.v.Done:
			return
		case e := <-events:
			err = event(s, e)
		case <-tick.C:
			var why notice
			if err = s.v.signedIn(); errors.As(err, &why) {
				_ = s.send("ended", true)
				return
			} else if err == nil {
				err = beat(ctx, s)
			}
		}
	}
}

// send sends an event with a value in JSON.
func (s stream) send(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.write("event: " + name + "\ndata: " + string(text) + "\n\n")
}

func (s stream) write(text string) error {
	s.v.extend(streamWait)
	if _, err := s.v.w.Write([]byte(text)); err != nil {
		return err
	}
	return http.NewResponseController(s.v.w).Flush()
}

func liveOverview(v *visit) error {
	chosen := spanOf(spans(), v.r.URL.Query().Get("range"))
	return v.live(func(ctx context.Context, s stream) error {
		f, err := v.figures(ctx, chosen)
		if err != nil {
			return err
		}
		return s.send("figures", f)
	}, nil)
}
