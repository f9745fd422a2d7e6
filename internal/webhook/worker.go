package webhook

import (
	"context"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

// A worker posts what is due to one webhook: in the order in which it became due, one
// after the other. An answer that takes longer than Overtake is not waited for, but then
// the next one is, and so on until one comes in time and says that the message arrived:
// who is slow or fails leaves room for others.
type worker struct {
	d       *Deliverer
	ctx     context.Context //nolint:containedctx // ends when the webhook is another's, or wants nothing
	stop    context.CancelFunc
	done    chan struct{}
	changed chan struct{}
	slots   [3]chan struct{} // its own, those of the workspace, and those of the process
	posts   sync.WaitGroup   // and what came of them, until it is kept

	mu      sync.Mutex
	webhook Webhook
	slow    bool           // or failing: the last answer was late, or no success
	busy    map[int64]bool // deliveries that are in flight, or whose try is not kept yet
}

// A result is a try that is to be kept, and then told of.
type result struct {
	Try
	kept func()
}

func newWorker(ctx context.Context, d *Deliverer, webhook Webhook) *worker {
	w := &worker{
		d: d, done: make(chan struct{}), changed: make(chan struct{}, 1),
		slots:   [...]chan struct{}{make(chan struct{}, perWebhook), d.share(webhook.Workspace), d.slots},
		webhook: webhook, slow: !webhook.FailingSince.IsZero(), busy: make(map[int64]bool),
	}
	w.ctx, w.stop = context.WithCancel(ctx)
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
		w.look()
	}
}

func (w *worker) look() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *worker) setSlow(slow bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slow = slow
}

func (w *worker) current() (webhook Webhook, slow bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.webhook, w.slow
}

// run posts until the worker is stopped. posting ends what is in flight then.
func (w *worker) run(posting context.Context) {
	defer close(w.done)
	defer w.posts.Wait()
	for w.ctx.Err() == nil {
		webhook, _ := w.current()
		written := w.d.o.Written(webhook.Workspace)
		some, next, err := w.round(posting, webhook.ID)
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
func (w *worker) round(posting context.Context, id string) (some bool, next time.Time, err error) {
	now := w.d.o.Now()
	some, err = w.d.o.Store.QueueDeliveries(w.ctx, id, w.d.o.Node, now, atOnce)
	if err != nil {
		return false, next, err
	}
	before := w.inFlight() // what is kept while the store is read may still look due
	due, next, err := w.d.o.Store.DueDeliveries(w.ctx, id, w.d.o.Node, now, atOnce+len(before))
	for _, one := range due {
		if !before[one.Event.ID] && w.take(one.Event.ID) {
			some = true
			w.post(posting, one)
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

// take reports whether nobody else has the delivery, nor the worker been stopped.
func (w *worker) take(delivery int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[delivery] || w.ctx.Err() != nil {
		return false
	}
	w.busy[delivery] = true
	return true
}

// leave lets the delivery be taken again.
func (w *worker) leave(delivery int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.busy, delivery)
}

// post tries a delivery that was taken, and returns when the next one may be tried.
func (w *worker) post(posting context.Context, due Due) {
	if !w.enter() {
		w.leave(due.Event.ID)
		return
	}
	answered := make(chan struct{})
	w.posts.Go(func() {
		w.try(posting, due)
		free(w.slots[:])
		close(answered)
	})
	overtake := time.NewTimer(w.d.o.Overtake)
	defer overtake.Stop()
	late := overtake.C
	if _, slow := w.current(); slow {
		late = nil
	}
	select {
	case <-answered:
	case <-late:
		w.setSlow(true)
	case <-w.ctx.Done():
	}
}

// enter takes one of each of the slots. It reports whether the worker was not stopped.
func (w *worker) enter() bool {
	for i, slots := range w.slots {
		select {
		case slots <- struct{}{}:
		case <-w.ctx.Done():
			free(w.slots[:i])
			return false
		}
	}
	return true
}

func free(all []chan struct{}) {
	for _, slots := range all {
		<-slots
	}
}

// try posts once, and has the outcome kept. What was cut off stays due.
func (w *worker) try(posting context.Context, due Due) {
	t := Try{Event: due.Event.ID, Tries: due.Tries, State: Failed}
	if t.At = w.d.o.Now(); due.Event.Data == nil {
		t.Answer.Error = "The event is not kept any more."
		w.keep(t)
		return
	}
	webhook, _ := w.current()
	t.Answer = w.d.o.Sender.Send(posting, messageOf(&webhook, due.Event, w.d.o.Now()))
	if posting.Err() != nil && !t.Answer.OK() {
		w.leave(due.Event.ID)
		return
	}
	t.At, t.Tries = w.d.o.Now(), due.Tries+1
	t.settle(rand.Float64()) //nolint:gosec // it spreads tries
	w.setSlow(!t.Answer.OK() || t.Answer.Latency > w.d.o.Overtake)
	w.observe(&t, due)
	w.keep(t)
}

// keep has a try kept. The delivery may be taken again after that.
func (w *worker) keep(t Try) {
	webhook, _ := w.current()
	t.Webhook = webhook.ID
	w.posts.Add(1)
	w.d.results <- result{t, func() {
		defer w.posts.Done()
		w.leave(t.Event)
		if !t.Next.IsZero() {
			w.look()
		}
	}}
}

func (w *worker) observe(t *Try, due Due) {
	o := Observation{State: t.State}
	if t.Tries == 1 {
		o.Age = max(t.At.Sub(time.UnixMilli(due.Event.CreatedAt.Millis)), 0)
	}
	w.d.o.Observe(o)
}

// MessageID is the same for each try of an event, and for each webhook of a workspace.
func MessageID(workspace, event int64) string {
	return "evt_" + strconv.FormatInt(workspace, 10) + "_" + strconv.FormatInt(event, 10)
}
