package node

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"example.com/petstore/internal/petstore"
)

// A chore is done again and again.
type chore struct {
	interval time.Duration
	failed   string // what the log says if it fails
	do       func(context.Context) error
}

func (n *node) chores() []chore {
	all := []chore{
		{refreshKeys, "keys could not be refreshed", n.refreshKeys},
		{time.Minute, "old receipts could not be removed", func(ctx context.Context) error { // after a crash, they may be kept that much longer
			_, err := n.store.Forget(ctx)
			return err
		}},
		{5 * time.Second, "the rows of workspaces that were reset or deleted could not be removed", n.store.Resume},
		{time.Minute, "expired sandboxes could not be removed", n.store.EndSandboxes},
		{10 * time.Minute, "old events could not be removed", n.forgetEvents},
		{10 * time.Minute, "old usage could not be removed", n.usage.Forget},
	}
	if n.certificate != nil {
		all = append(all, chore{rereadCertificate, "the new certificate cannot be used; the one before stays", n.certificate.read})
	}
	if n.backups.every > 0 {
		all = append(all, chore{n.backups.interval(), "the scheduled backup failed", n.backups.makeIfDue})
	}
	return all
}

// run does the chore at once, and then each interval until ctx ends. Of failures in a row with
// the same text it logs the first, and then that the chore works again.
func (c chore) run(ctx context.Context, log *slog.Logger) {
	var last string // the text of the failure that the log says
	every(ctx, c.interval, func(ctx context.Context) {
		switch err := c.do(ctx); {
		case ctx.Err() != nil:
		case err == nil && last != "":
			log.Info("it works again", "before", c.failed)
			last = ""
		case err != nil && err.Error() != last:
			log.Error(c.failed, "err", err)
			last = err.Error()
		}
	})
}

// every calls f at once, and then each interval until ctx ends.
func every(ctx context.Context, interval time.Duration, f func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		f(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// saveTimeout bounds each save of counts. SQLite withdraws a save that has not begun by then, and completes one that has, so
// that none is counted twice. PostgreSQL breaks it off: if that happens while it commits, nobody knows whether it did, and
// usage that the next save adds again may be counted twice.
const saveTimeout = 10 * time.Second

// keepSaving does a chore that saves counts, and once more after the end of ctx, and returns the error of that. The end of
// ctx breaks no save off, only saveTimeout may. What a save does not do, the next one does.
func keepSaving(ctx context.Context, log *slog.Logger, c chore) error {
	save := c.do
	c.do = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
		defer cancel()
		return save(ctx)
	}
	c.run(ctx, log)
	if err := c.do(ctx); err != nil {
		return fmt.Errorf("the last %s: %w", c.failed, err)
	}
	return nil
}

// refreshKeys has changes of keys take effect: in the directory, and then for the connections on which the keys were used.
func (n *node) refreshKeys(ctx context.Context) error {
	err := n.keys.Refresh(ctx)
	if err == nil {
		err = n.keys.Renew(refreshKeys / 2)
	}
	n.connections.Recheck(n.keyIsValid)
	return err
}

// forgetEvents removes the events that are too old, or all if none are kept.
func (n *node) forgetEvents(ctx context.Context) error {
	var before petstore.Time
	if n.Config.EventRetention > 0 {
		before = petstore.At(n.now().Add(-n.Config.EventRetention))
	}
	_, err := n.store.ForgetEvents(ctx, before)
	return err
}
