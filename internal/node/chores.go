package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.com/petstore/internal/petstore"
)

// How often each task runs.
const (
	forgetReceipts = time.Minute // after a crash, receipts may be kept that much longer
	resumeRemovals = time.Minute
	forgetEvents   = 10 * time.Minute
	endSandboxes   = time.Minute
)

// chores remove old data from the database in the background.
type chores struct {
	store     Store
	now       func() time.Time
	log       *slog.Logger
	retention time.Duration // of events; 0 if none are kept
}

// run runs the tasks until ctx ends.
func (c *chores) run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { every(ctx, forgetReceipts, c.forgetReceipts) })
	running.Go(func() { every(ctx, resumeRemovals, c.resume) })
	running.Go(func() { every(ctx, forgetEvents, c.forgetEvents) })
	running.Go(func() { every(ctx, endSandboxes, c.endSandboxes) })
	running.Wait()
}

// every calls f at once, and then each interval until ctx ends.
func every(ctx context.Context, interval time.Duration, f func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		f(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// forgetReceipts removes the receipts that are too old to be replayed.
func (c *chores) forgetReceipts(ctx context.Context) {
	if _, err := c.store.Forget(ctx); err != nil && ctx.Err() == nil {
		c.log.Error("old receipts could not be removed", "err", err)
	}
}

// resume completes resets and deletions of workspaces that were interrupted.
func (c *chores) resume(ctx context.Context) {
	if err := c.store.Resume(ctx); err != nil && ctx.Err() == nil {
		c.log.Error("a reset or a deletion of a workspace could not be completed", "err", err)
	}
}

// forgetEvents removes the events that are too old, or all if none are kept.
func (c *chores) forgetEvents(ctx context.Context) {
	var before petstore.Time
	if c.retention > 0 {
		before = petstore.At(c.now().Add(-c.retention))
	}
	if _, err := c.store.ForgetEvents(ctx, before); err != nil && ctx.Err() == nil {
		c.log.Error("old events could not be removed", "err", err)
	}
}
