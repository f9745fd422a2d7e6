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

// The numbers of a deliverer.
const (
	perProcess = 128              // messages in flight, or whose outcome is not kept yet; shared fairly by workspaces
	perWebhook = 8                // and of them to one webhook, of which one is in flight
	atOnce     = 100              // deliveries that are taken from the store at once
	lookEvery  = time.Second      // for what other nodes have changed
	pollEvery  = 5 * time.Second  // for events that no notice came of
	lease      = 15 * time.Second // without a renewal another node takes over
	pruneEvery = 10 * time.Second
	keepFor    = 30 * 24 * time.Hour // deliveries that have ended
	keepMost   = 1000                // of them, for each webhook
	lastCall   = 3 * time.Second     // for what is in flight at the end

	// For so long a webhook whose try gave way to another workspace tries nothing: who
	// waits for room meanwhile has the time for a whole try, and what never answers counts
	// as failed in the end.
	pauseAfterYield = tryTimeout
)

// Options are what a deliverer is made of. All but Node are needed.
type Options struct {
	Store   Store
	Sender  *Sender
	Written func(workspace int64) <-chan struct{} // as that of the feed's store
	Now     func() time.Time
	Log     *slog.Logger
	Observe func(Observation) // must not block

	// Node is by whom webhooks are held: the same name after a restart takes over at
	// once. Without it each process has a name of its own.
	Node string
}

// An Observation is one try, for metrics.
type Observation struct {
	State DeliveryState
	Age   time.Duration // of the event, when its first try was answered; 0 after another
}

// A Deliverer posts what is due to the webhooks that it holds. Of a database's deliverers
// each webhook is held by one.
type Deliverer struct {
	o       Options
	slots   *fairshare.Pool // messages in flight, or whose outcome is not kept yet
	pause   time.Duration
	changed chan struct{}
	results chan result
}

// NewDeliverer returns a deliverer that does nothing before Run.
func NewDeliverer(o Options) *Deliverer {
	if o.Node == "" {
		o.Node = rand.Text()
	}
	slots := fairshare.New(fairshare.Options{Capacity: perProcess, Queue: math.MaxInt64}) // each worker waits for one
	return &Deliverer{o: o, slots: slots, pause: pauseAfterYield, changed: make(chan struct{}, 1), results: make(chan result, perProcess)}
}

// Wake has the deliverer look at once for webhooks that have changed.
func (d *Deliverer) Wake() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// InFlight returns how many messages wait for their answer, or for its being kept.
func (d *Deliverer) InFlight() int { return int(d.slots.Stats().Used) }

// Run delivers until ctx ends. What is in flight then has a last call to be answered;
// without an answer it stays due. Others can have the webhooks when Run returns.
func (d *Deliverer) Run(ctx context.Context) {
	posting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() { time.AfterFunc(lastCall, cancel) })
	var recording, working sync.WaitGroup
	recording.Go(func() { d.record(posting) })
	working.Go(func() { d.prune(ctx) })
	d.runWorkers(ctx, posting, &working)
	working.Wait()
	close(d.results)
	recording.Wait()
	if err := d.o.Store.ReleaseWebhooks(context.WithoutCancel(ctx), d.o.Node); err != nil {
		d.o.Log.Warn("webhooks could not be released; another node takes them over soon", "err", err)
	}
	d.o.Sender.Close()
}

// runWorkers has a worker for each webhook that this node holds.
func (d *Deliverer) runWorkers(ctx, posting context.Context, working *sync.WaitGroup) {
	workers, woken := make(map[string]*worker), false
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		now := d.o.Now()
		held, err := d.o.Store.HoldWebhooks(ctx, Lease{Node: d.o.Node, Now: now, Until: now.Add(lease)})
		if err == nil {
			for _, w := range d.assign(workers, held, woken) {
				one := newWorker(ctx, posting, d, w)
				workers[w.ID] = one
				working.Go(func() {
					one.run()
					d.Wake() // another may have to begin
				})
			}
		} else if ctx.Err() == nil {
			d.o.Log.Error("webhooks could not be read", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			woken = false
		case <-d.changed:
			woken = true
		}
	}
}

// assign hands the webhooks that are held to their workers, stops the workers of others
// and of former URLs, and returns the webhooks without one. If woken, all look for what is
// due.
func (d *Deliverer) assign(workers map[string]*worker, held []Webhook, woken bool) (without []Webhook) {
	now := make(map[string]bool, len(held))
	for _, w := range held {
		now[w.ID] = true
		switch one := workers[w.ID]; {
		case one == nil || one.ended():
			without = append(without, w)
		case one.current().URL != w.URL:
			one.stop()
		default:
			one.update(w, woken)
		}
	}
	for id, one := range workers {
		if !now[id] {
			one.stop()
		}
		if one.ended() {
			delete(workers, id)
		}
	}
	return without
}

// record keeps what comes of tries: all that wait, in one transaction. What cannot be kept
// is due again.
func (d *Deliverer) record(ctx context.Context) {
	for first := range d.results {
		batch, tries := []result{first}, []Try{first.Try}
		for len(batch) < atOnce && len(d.results) > 0 {
			next := <-d.results
			batch, tries = append(batch, next), append(tries, next.Try)
		}
		for {
			err := d.o.Store.RecordTries(context.WithoutCancel(ctx), tries)
			if err == nil {
				break
			}
			d.o.Log.Error("what came of deliveries could not be kept", "deliveries", len(tries), "err", err)
			if !sleep(ctx, lookEvery) {
				break
			}
		}
		for _, r := range batch {
			r.stored()
		}
	}
}

func (d *Deliverer) prune(ctx context.Context) {
	for sleep(ctx, pruneEvery) {
		if err := d.o.Store.PruneDeliveries(ctx, d.o.Now().Add(-keepFor), keepMost); err != nil && ctx.Err() == nil {
			d.o.Log.Error("old deliveries could not be removed", "err", err)
		}
	}
}

// sleep reports whether ctx has not ended after so long.
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

// messageOf returns what is posted of an event.
func messageOf(w *Webhook, e petstore.Event, now time.Time) Message {
	return Message{ID: MessageID(w.Workspace, e.ID), URL: w.URL, Secrets: w.secrets(now), Body: e.AppendJSON(nil)}
}
