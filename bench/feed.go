package main

import (
	"context"
	"errors"
)

// measureFeed has orders take turns on a server that keeps events and on one that keeps none.
func (b *bench) measureFeed(ctx context.Context, r *results) (err error) {
	say("orders with events and without")
	sides := []*side{{name: "with events"}, {name: "without"}}
	for i, retention := range []string{"720h", "0"} {
		d, failed := b.newDataset(ctx, "feed-"+retention+".db", b.pets, false)
		if failed != nil {
			return failed
		}
		p, _, failed := b.startServer(ctx, d.path, false, "--event-retention", retention)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, p.stop()) }()
		sides[i].process = p
		if sides[i].workload, err = newWorkload(ctx, p, d); err != nil {
			return err
		}
	}
	if err := measureSides(ctx, findRow(rows(), "order"), sides, b.rounds, b.round); err != nil {
		return err
	}
	kept := spreadOf(ratios(sides[0].samples, sides[1].samples))
	r.Feed = &kept
	return nil
}
