package webhook

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/fairshare"
)

// A worker posts the due deliveries of one webhook in the order in which they became
// due, each after the one before it was answered or timed out. It has the outcomes of at
// most perWebhook stored together before it goes on: if the process is killed, only these
// deliveries can be sent twice.
type worker struct {
	d       *Deliverer
	ctx     context.Context //nolint:containedctx // ends when no further message is to be posted
	posting context.Context //nolint:containedctx // ends a message in flight
	stop    func()          // ends both; a message in flight stays due
	webhook atomic.Pointer[Webhook]
	ended   atomic.Bool
}

func newWorker(ctx, posting context.Context, d *Deliverer, webhook Webhook) *worker {
	w := &worker{d: d}
	w.webhook.Store(&webhook)
	ctx, end := context.WithCancel(ctx)
	posting, cut := context.WithCancel(posting)
	w.ctx, w.posting, w.stop = ctx, posting, func() { end(); cut() }
	return w
}

// run posts until the worker is stopped.
func (w *worker) run() {
	defer w.ended.Store(true)
	for w.ctx.Err() == nil {
		webhook, woken := w.webhook.Load(), w.d.wakes()
		written := w.d.o.Written(webhook.Workspace)
		found, next, err := w.deliverDue(webhook.ID)
		switch {
		case err != nil && w.ctx.Err() == nil:
			w.d.o.Log.Error("the deliveries of a webhook could not be read", "webhook", webhook.ID, "err", err)
			sleep(w.ctx, lookEvery)
		case err == nil && !found:
			w.wait(written, woken, next)
		}
	}
}

// wait waits until there may be something to do.
func (w *worker) wait(written, woken <-chan struct{}, next time.Time) {
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
	case <-woken:
	}
}

// deliverDue posts what is due now. It reports whether there was anything, and when the
// next delivery is due.
func (w *worker) deliverDue(id string) (found bool, next time.Time, err error) {
	now := w.d.o.Now()
	if found, err = w.d.o.Store.QueueDeliveries(w.ctx, id, w.d.o.Node, now, batchSize); err != nil {
		return false, next, err
	}
	due, next, err := w.d.o.Store.DueDeliveries(w.ctx, id, w.d.o.Node, now, batchSize)
	found = found || len(due) > 0
	for len(due) > 0 && w.ctx.Err() == nil {
		tried, gaveWay := w.deliver(due)
		if gaveWay {
			sleep(w.ctx, w.d.pause)
			break // other deliveries may be due for longer by now
		}
		due = due[tried:]
	}
	return found, next, err
}

// deliver posts the first deliveries, one after the other, each when there is room for it,
// and returns how many when their outcomes are stored. It stops at a failure, and when
// outcomes should not wait longer. A try that is cut off has no outcome: its delivery stays
// due. deliver reports whether it stopped to make room for another workspace.
func (w *worker) deliver(due []DueDelivery) (tried int, gaveWay bool) {
	entering, stop := context.WithCancel(w.ctx)
	posting, cut := context.WithCancel(w.posting)
	giveWay := func() { stop(); cut() }
	defer giveWay()
	began := time.Now()
	var outcomes []Outcome
	for _, one := range due[:min(len(due), perWebhook)] {
		share, err := w.d.slots.Enter(entering, fairshare.Holder{Workspace: w.webhook.Load().Workspace}, 1, giveWay)
		if err != nil {
			break // it is stopped, or gives way while nothing is in flight
		}
		defer share.Leave() // after the outcome is stored
		o, err := w.try(posting, one)
		if err != nil {
			gaveWay = w.ctx.Err() == nil
			break
		}
		outcomes = append(outcomes, o)
		if o.State != Delivered || time.Since(began) >= storeAfter || w.d.InFlight() > perProcess/2 || entering.Err() != nil {
			break
		}
	}
	if len(outcomes) > 0 {
		w.store(outcomes)
	}
	return len(outcomes), gaveWay
}

// store stores outcomes, again and again until that succeeds or the worker is stopped. A
// delivery whose outcome is not stored stays due.
func (w *worker) store(outcomes []Outcome) {
	for again := true; again; again = sleep(w.posting, lookEvery) {
		err := w.d.o.Store.RecordOutcomes(context.WithoutCancel(w.posting), outcomes)
		if err == nil {
			return
		}
		w.d.o.Log.Error("the outcomes of deliveries could not be stored", "deliveries", len(outcomes), "err", err)
	}
}

// try posts a delivery, and returns an error if ctx ends before it is answered.
func (w *worker) try(ctx context.Context, due DueDelivery) (Outcome, error) {
	webhook := w.webhook.Load()
	o := Outcome{Webhook: webhook.ID, Event: due.Event.ID, DueAt: due.DueAt, Tries: due.Tries, State: Failed, At: w.d.o.Now()}
	if due.Event.Data == nil {
		o.Answer.Error = "The event is no longer kept."
		return o, nil
	}
	o.Answer = w.d.o.Sender.Send(ctx, messageOf(webhook, due.Event, o.At))
	if ctx.Err() != nil && o.Answer.Status == 0 {
		return o, ctx.Err()
	}
	o.At, o.Tries = w.d.o.Now(), due.Tries+1
	o.decide(rand.Float64()) //nolint:gosec // it spreads tries
	seen := Observation{State: o.State}
	if o.Tries == 1 {
		seen.Age = max(o.At.Sub(due.Event.CreatedAt.UTC()), 0)
	}
	w.d.o.Observe(seen)
	return o, nil
}

// MessageID returns the id of the messages of an event. It is the same for each try and
// for each webhook of the workspace.
func MessageID(workspace, event int64) string {
	return "evt_" + strconv.FormatInt(workspace, 10) + "_" + strconv.FormatInt(event, 10)
}
