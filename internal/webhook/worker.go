package webhook

import (
	"context"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
)

// A worker posts the due deliveries of one webhook in the order in which they became
// due, each after the one before it was answered or timed out.
type worker struct {
	d        *Deliverer
	ctx      context.Context //nolint:containedctx // ends when no further message is to be posted
	posting  context.Context //nolint:containedctx // ends messages in flight
	stop     func()          // ends both; messages in flight stay due
	done     chan struct{}
	changed  chan struct{}
	claims   chan struct{}  // holds a token for each claim; see perWebhook
	unstored sync.WaitGroup // outcomes that are not stored yet

	mu      sync.Mutex
	webhook Webhook
	claimed map[int64]bool // events whose delivery is claimed
}

// A result is an outcome that is to be stored. stored is called after that.
type result struct {
	Outcome
	stored func()
}

func newWorker(ctx, posting context.Context, d *Deliverer, webhook Webhook) *worker {
	w := &worker{d: d, done: make(chan struct{}), changed: make(chan struct{}, 1), claims: make(chan struct{}, perWebhook), webhook: webhook, claimed: make(map[int64]bool)}
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

// update replaces the webhook. If look is set, the worker looks for due deliveries.
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
		found, next, err := w.deliverDue(webhook.ID)
		switch {
		case err != nil && w.ctx.Err() == nil:
			w.d.o.Log.Error("the deliveries of a webhook could not be read", "webhook", webhook.ID, "err", err)
			sleep(w.ctx, lookEvery)
		case err == nil && !found:
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

// deliverDue posts what is due now. It reports whether there was anything, and when the
// next delivery is due.
func (w *worker) deliverDue(id string) (found bool, next time.Time, err error) {
	now := w.d.o.Now()
	found, err = w.d.o.Store.QueueDeliveries(w.ctx, id, w.d.o.Node, now, batchSize)
	if err != nil {
		return false, next, err
	}
	before := w.inFlight() // outcomes that are stored during the read may still look due
	due, next, err := w.d.o.Store.DueDeliveries(w.ctx, id, w.d.o.Node, now, batchSize+len(before))
	for _, one := range due {
		if before[one.Event.ID] {
			continue
		}
		if c := w.acquire(one); c != nil {
			found = true
			if w.try(c) {
				sleep(w.ctx, w.d.pause)
				break // other deliveries may be due for longer by now
			}
		}
	}
	return found, next, err
}

// inFlight returns the events whose delivery is claimed.
func (w *worker) inFlight() map[int64]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.claimed)
}

// A claim is a delivery that this worker may try until ctx ends. No other try of it
// begins before release.
type claim struct {
	DueDelivery
	ctx   context.Context //nolint:containedctx // ends when the try has to end, also to make room for another workspace
	end   func()
	share *fairshare.Share
}

// acquire waits until a delivery may be claimed, and returns nil if the worker was stopped
// meanwhile. If the process is killed, only claimed deliveries can be sent twice.
func (w *worker) acquire(due DueDelivery) *claim {
	select {
	case w.claims <- struct{}{}:
	case <-w.ctx.Done():
		return nil
	}
	c := &claim{DueDelivery: due}
	c.ctx, c.end = context.WithCancel(w.posting)
	var err error
	if c.share, err = w.d.slots.Enter(w.ctx, fairshare.Holder{Workspace: w.current().Workspace}, 1, c.end); err != nil {
		c.end()
		<-w.claims
		return nil
	}
	w.mu.Lock()
	w.claimed[due.Event.ID] = true
	w.mu.Unlock()
	if w.ctx.Err() != nil {
		w.release(c)
		return nil
	}
	return c
}

// release lets the delivery be claimed again.
func (w *worker) release(c *claim) {
	w.mu.Lock()
	delete(w.claimed, c.Event.ID)
	w.mu.Unlock()
	c.end()
	c.share.Leave()
	<-w.claims
}

// try posts once, and has the outcome stored. A try that is cut off has none: its delivery
// stays due. try reports whether it was cut off to make room for another workspace.
func (w *worker) try(c *claim) (gaveWay bool) {
	o := Outcome{Event: c.Event.ID, DueAt: c.DueAt, Tries: c.Tries, State: Failed}
	if o.At = w.d.o.Now(); c.Event.Data == nil {
		o.Answer.Error = "The event is no longer kept."
		w.record(c, o)
		return false
	}
	webhook := w.current()
	o.Answer = w.d.o.Sender.Send(c.ctx, messageOf(&webhook, c.Event, w.d.o.Now()))
	if c.ctx.Err() != nil && o.Answer.Status == 0 {
		w.release(c)
		return w.posting.Err() == nil
	}
	o.At, o.Tries = w.d.o.Now(), c.Tries+1
	o.decide(rand.Float64()) //nolint:gosec // it spreads tries
	w.observe(&o, c.Event)
	w.record(c, o)
	return false
}

// record has an outcome stored, and then releases the claim.
func (w *worker) record(c *claim, o Outcome) {
	o.Webhook = w.current().ID
	w.unstored.Add(1)
	w.d.results <- result{o, func() {
		defer w.unstored.Done()
		if w.release(c); !o.Next.IsZero() || len(w.inFlight()) == 0 { // it may have been made due again meanwhile
			w.wake()
		}
	}}
}

func (w *worker) observe(o *Outcome, e petstore.Event) {
	seen := Observation{State: o.State}
	if o.Tries == 1 {
		seen.Age = max(o.At.Sub(e.CreatedAt.UTC()), 0)
	}
	w.d.o.Observe(seen)
}

// MessageID returns the id of the messages of an event. It is the same for each try and
// for each webhook of the workspace.
func MessageID(workspace, event int64) string {
	return "evt_" + strconv.FormatInt(workspace, 10) + "_" + strconv.FormatInt(event, 10)
}
