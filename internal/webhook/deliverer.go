package webhook

import (
	"context"
	"crypto/rand"
	"log/slog"
	"math"
	"sync"
	"time"

	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
)

const (
	perProcess    = 128                   // messages that are in flight or whose outcome is not stored yet; shared fairly by workspaces
	perWebhook    = 8                     // of these, for one webhook; only one of them is in flight
	batchSize     = 100                   // deliveries in one transaction of the store
	storeAfter    = 50 * time.Millisecond // after which outcomes do not wait for those of further messages
	lookEvery     = time.Second           // how often webhooks are read, which other nodes may have changed
	pollEvery     = 5 * time.Second       // how often events are looked for if Written says nothing
	lease         = 15 * time.Second      // after which another node takes over, unless it is renewed
	pruneEvery    = 10 * time.Second
	keepFor       = 30 * 24 * time.Hour // how long deliveries that have ended are kept
	keepMost      = 1000                // how many of them are kept for each webhook
	shutdownGrace = 3 * time.Second     // for messages in flight when the deliverer stops

	// pauseAfterYield is for how long a webhook waits after one of its tries was cut off
	// for another workspace. It is as long as a whole try: those that wait get the time for
	// one, and a receiver that never answers fails in the end.
	pauseAfterYield = tryTimeout
)

// Options say how a deliverer works. All but Node are needed.
type Options struct {
	Store   Store
	Sender  *Sender
	Written func(workspace int64) <-chan struct{} // is closed when a workspace has new events
	Now     func() time.Time
	Log     *slog.Logger
	Observe func(Observation) // must not block

	// Node is the name under which webhooks are held. A process that restarts under the
	// same name has its webhooks again at once. The default is a random name.
	Node string
}

// An Observation is one try, for metrics.
type Observation struct {
	State DeliveryState
	Age   time.Duration // of the event when its first try has ended; 0 for later tries
}

// A Deliverer posts due deliveries to the webhooks that it holds. One deliverer of a
// database holds each webhook.
type Deliverer struct {
	o     Options
	slots *fairshare.Pool // see perProcess
	pause time.Duration

	mu    sync.Mutex
	woken chan struct{} // is closed by Wake, which makes another
}

// NewDeliverer returns a deliverer that does nothing before Run.
func NewDeliverer(o Options) *Deliverer {
	if o.Node == "" {
		o.Node = rand.Text()
	}
	slots := fairshare.New(fairshare.Options{Capacity: perProcess, Queue: math.MaxInt64}) // each worker waits for one
	return &Deliverer{o: o, slots: slots, pause: pauseAfterYield, woken: make(chan struct{})}
}

// Wake has the deliverer look at once for webhooks that have changed, and for deliveries
// that are due.
func (d *Deliverer) Wake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.woken)
	d.woken = make(chan struct{})
}

// wakes returns the channel that the next Wake closes.
func (d *Deliverer) wakes() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.woken
}

// InFlight returns how many messages wait for their answers, or for their outcomes to
// be stored.
func (d *Deliverer) InFlight() int { return int(d.slots.Stats().Used) }

// Run delivers until ctx ends. Messages in flight then have shutdownGrace to be
// answered; without an answer they stay due. When Run returns, other nodes can hold the
// webhooks.
func (d *Deliverer) Run(ctx context.Context) {
	posting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() { time.AfterFunc(shutdownGrace, cancel) })
	var working sync.WaitGroup
	working.Go(func() { d.prune(ctx) })
	d.runWorkers(ctx, posting, &working)
	working.Wait()
	if err := d.o.Store.ReleaseWebhooks(context.WithoutCancel(ctx), d.o.Node); err != nil {
		d.o.Log.Warn("webhooks could not be released; another node takes them over soon", "err", err)
	}
	d.o.Sender.Close()
}

// runWorkers has a worker for each webhook that this node holds.
func (d *Deliverer) runWorkers(ctx, posting context.Context, working *sync.WaitGroup) {
	workers := make(map[string]*worker)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		now, woken := d.o.Now(), d.wakes()
		held, err := d.o.Store.HoldWebhooks(ctx, Lease{Node: d.o.Node, Now: now, Until: now.Add(lease)})
		if err == nil {
			for _, w := range assign(workers, held) {
				one := newWorker(ctx, posting, d, w)
				workers[w.ID] = one
				working.Go(func() {
					one.run()
					d.Wake() // it may need a new worker
				})
			}
		} else if ctx.Err() == nil {
			d.o.Log.Error("webhooks could not be read", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-woken:
		}
	}
}

// assign passes the webhooks that are held to their workers, stops the workers of other
// webhooks and of changed URLs, and returns the webhooks that have no worker.
func assign(workers map[string]*worker, held []Webhook) (without []Webhook) {
	now := make(map[string]bool, len(held))
	for _, w := range held {
		now[w.ID] = true
		switch one := workers[w.ID]; {
		case one == nil || one.ended.Load():
			without = append(without, w)
		case one.webhook.Load().URL != w.URL:
			one.stop()
		default:
			one.webhook.Store(&w)
		}
	}
	for id, one := range workers {
		if !now[id] {
			one.stop()
		}
		if one.ended.Load() {
			delete(workers, id)
		}
	}
	return without
}

func (d *Deliverer) prune(ctx context.Context) {
	for sleep(ctx, pruneEvery) {
		if err := d.o.Store.PruneDeliveries(ctx, d.o.Now().Add(-keepFor), keepMost); err != nil && ctx.Err() == nil {
			d.o.Log.Error("old deliveries could not be removed", "err", err)
		}
	}
}

// sleep waits for d, and reports whether ctx has not ended meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// messageOf returns the message that delivers an event.
func messageOf(w *Webhook, e petstore.Event, now time.Time) Message {
	return Message{ID: MessageID(w.Workspace, e.ID), URL: w.URL, Secrets: w.secrets(now), Body: petstore.JSON(e)}
}
