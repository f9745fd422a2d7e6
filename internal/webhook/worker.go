package webhook

import (
	"context"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"example.com/petstore/internal/fairshare"
)

// A worker posts what is due to one webhook, in the order in which it became due: each
// when the one before it was answered, or had its time.
type worker struct {
	d        *Deliverer
	ctx      context.Context //nolint:containedctx // ends when nothing more is to be posted
	posting  context.Context //nolint:containedctx // ends what is in flight
	stop     func()          // ends both: what is in flight stays due
	done     chan struct{}
	changed  chan struct{}
	room     chan struct{}  // as much as has been taken, of perWebhook
	unstored sync.WaitGroup // tries of which the outcome is not kept yet

	mu      sync.Mutex
	webhook Webhook
	busy    map[int64]bool // deliveries that are in flight, or whose try is not kept yet
}

// A result is a try that is to be kept, and then told of.
type result struct {
	Try
	stored func()
}

func newWorker(ctx, posting context.Context, d *Deliverer, webhook Webhook) *worker {
	w := &worker{d: d, done: make(chan struct{}), changed: make(chan struct{}, 1), room: make(chan struct{}, perWebhook), webhook: webhook, busy: make(map[int64]bool)}
	ctx, end := context.WithCancel(ctx)
	posting, cut := context.WithCancel(posting)
	w.ctx, w.posting, w.stop = ctx, posting, func() { end(); cut() }
	return w
}

func (w *worker) ended() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// update takes over the webhook as it is now. If look, the worker looks for what is due.
func (w *worker) update(now Webhook, look bool) {
	w.mu.Lock()
	w.webhook = now
	w.mu.Unlock()
	if look {
		w.wake()
	}
}

func (w *worker) wake() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *worker) current() Webhook {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.webhook
}

// run posts until the worker is stopped.
func (w *worker) run() {
	defer close(w.done)
	defer w.unstored.Wait()
	for w.ctx.Err() == nil {
		webhook := w.current()
		written := w.d.o.Written(webhook.Workspace)
		some, next, err := w.round(webhook.ID)
		switch {
		case err != nil && w.ctx.Err() == nil:
			w.d.o.Log.Error("the deliveries of a webhook could not be read", "webhook", webhook.ID, "err", err)
			sleep(w.ctx, lookEvery)
		case err == nil && !some:
			w.wait(written, next)
		}
	}
}

// wait waits until there may be something to do.
func (w *worker) wait(written <-chan struct{}, next time.Time) {
	pause := pollEvery
	if !next.IsZero() {
		pause = min(pause, max(next.Sub(w.d.o.Now()), time.Millisecond))
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-w.ctx.Done():
	case <-timer.C:
	case <-written:
	case <-w.changed:
	}
}

// round posts what is due now. It reports whether there was anything, and when something
// will be.
func (w *worker) round(id string) (some bool, next time.Time, err error) {
	now := w.d.o.Now()
	some, err = w.d.o.Store.QueueDeliveries(w.ctx, id, w.d.o.Node, now, atOnce)
	if err != nil {
		return false, next, err
	}
	before := w.inFlight() // what is kept while the store is read may still look due
	due, next, err := w.d.o.Store.DueDeliveries(w.ctx, id, w.d.o.Node, now, atOnce+len(before))
	for _, one := range due {
		if before[one.Event.ID] {
			continue
		}
		if turn := w.acquire(one); turn != nil {
			some = true
			if w.try(turn) {
				sleep(w.ctx, w.d.pause)
				break // others may be due for longer by now
			}
		}
	}
	return some, next, err
}

// inFlight returns the deliveries that are taken.
func (w *worker) inFlight() map[int64]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.busy)
}

// A turn is a delivery that is taken: it may be tried until ctx ends, and no other try of
// it begins before it has left.
type turn struct {
	Due
	ctx   context.Context //nolint:containedctx // ends when the try has to, also to give way to another workspace
	end   func()
	share *fairshare.Share
}

// acquire waits until there is room for a delivery, and returns nil if the worker was stopped
// meanwhile. So a kill can double only what is taken.
func (w *worker) acquire(due Due) *turn {
	select {
	case w.room <- struct{}{}:
	case <-w.ctx.Done():
		return nil
	}
	t := &turn{Due: due}
	t.ctx, t.end = context.WithCancel(w.posting)
	var err error
	if t.share, err = w.d.slots.Enter(w.ctx, fairshare.Holder{Workspace: w.current().Workspace}, 1, t.end); err != nil {
		t.end()
		<-w.room
		return nil
	}
	w.mu.Lock()
	w.busy[due.Event.ID] = true
	w.mu.Unlock()
	if w.ctx.Err() != nil {
		w.release(t)
		return nil
	}
	return t
}

// release lets the delivery be taken again.
func (w *worker) release(t *turn) {
	w.mu.Lock()
	delete(w.busy, t.Event.ID)
	w.mu.Unlock()
	t.end()
	t.share.Leave()
	<-w.room
}

// try posts once, and has the outcome kept. What was cut off stays due. It reports whether
// the try was cut off to give way to another workspace.
func (w *worker) try(turn *turn) (gaveWay bool) {
	due := turn.Due
	t := Try{Event: due.Event.ID, Due: due.Since, Tries: due.Tries, State: Failed}
	if t.At = w.d.o.Now(); due.Event.Data == nil {
		t.Answer.Error = "The event is no longer kept."
		w.keep(turn, t)
		return false
	}
	webhook := w.current()
	t.Answer = w.d.o.Sender.Send(turn.ctx, messageOf(&webhook, due.Event, w.d.o.Now()))
	if turn.ctx.Err() != nil && t.Answer.Status == 0 {
		w.release(turn)
		return w.posting.Err() == nil
	}
	t.At, t.Tries = w.d.o.Now(), due.Tries+1
	t.setOutcome(rand.Float64()) //nolint:gosec // it spreads tries
	w.observe(&t, due)
	w.keep(turn, t)
	return false
}

// keep has a try kept. The delivery may be taken again after that.
func (w *worker) keep(turn *turn, t Try) {
	t.Webhook = w.current().ID
	w.unstored.Add(1)
	w.d.results <- result{t, func() {
		defer w.unstored.Done()
		if w.release(turn); !t.Next.IsZero() || len(w.inFlight()) == 0 { // it may have been made due again meanwhile
			w.wake()
		}
	}}
}

func (w *worker) observe(t *Try, due Due) {
	o := Observation{State: t.State}
	if t.Tries == 1 {
		o.Age = max(t.At.Sub(due.Event.CreatedAt.UTC()), 0)
	}
	w.d.o.Observe(o)
}

// MessageID is the same for each try of an event, and for each webhook of a workspace.
func MessageID(workspace, event int64) string {
	return "evt_" + strconv.FormatInt(workspace, 10) + "_" + strconv.FormatInt(event, 10)
}
