package main

import "context"

// measureFeed has orders take turns on a server that keeps events and on one that keeps none.
func (b *bench) measureFeed(ctx context.Context) error {
	say("orders with events and without")
	var sides []*side
	for _, retention := range []string{"720h", "0"} {
		d, err := b.newDataset(ctx, b.file("feed-"+retention+".db"), b.pets, false)
		if err != nil {
			return err
		}
		s, err := b.newSide(ctx, "kept for "+retention, d, "--event-retention", retention)
		if err != nil {
			return err
		}
		sides = append(sides, s)
	}
	if err := measureSides(ctx, findRow(rows(), "order"), sides, b.rounds, b.round); err != nil {
		return err
	}
	b.add(feedSection(spreadOf(quotients(rates(sides[0].samples), rates(sides[1].samples)))))
	return nil
}

func feedSection(kept spread) section {
	return section{title: "The feed", words: "Orders of different pets, by 64 callers, of a server that keeps events, and of one with --event-retention 0.",
		table:   table{" | ratio", "with events / without | " + kept.ranged("%.2f")},
		targets: []target{{"orders with events, of those without", kept.median, .85, false}}}
}
