package main

import (
	"context"
	"errors"
)

// measureFeed has orders take turns on a server that keeps events and on one that keeps none.
func (b *bench) measureFeed(ctx context.Context) (_ section, err error) {
	say("orders with events and without")
	sides := []*side{{name: "with events"}, {name: "without"}}
	for i, retention := range []string{"720h", "0"} {
		d, failed := b.newDataset(ctx, "feed-"+retention+".db", b.pets, false)
		if failed != nil {
			return section{}, failed
		}
		p, _, failed := b.startServer(ctx, d.path, false, "--event-retention", retention)
		if failed != nil {
			return section{}, failed
		}
		defer func() { err = errors.Join(err, p.Stop()) }()
		sides[i].process = p
		if sides[i].workload, err = newWorkload(ctx, p, d); err != nil {
			return section{}, err
		}
	}
	err = measureSides(ctx, findRow(rows(), "order"), sides, b.rounds, b.round)
	return feedSection(spreadOf(quotients(rates(sides[0].samples), rates(sides[1].samples)))), err
}

func feedSection(kept spread) section {
	return section{title: "The feed", words: "Orders of different pets, by 64 callers, of a server that keeps events, and of one with --event-retention 0.",
		table:   table{" | ratio", "with events / without | " + kept.ranged("%.2f")},
		targets: []target{{"orders with events, of those without", kept.Median, .85, false}}}
}
