package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"example.com/petstore/internal/processtest"
)

// peersDir has the peers, each in a folder: other servers of pets, with neither keys nor limits nor a database, written
// as their documentation would have it.
const peersDir = "peers"

// peers are their names and folders, in the order of the table.
var peers = [][2]string{{"oapi-codegen, strict server", "oapicodegen"}, {"ogen", "ogen"}, {"huma on chi", "huma"}}

// peerPets is how many pets a peer has.
const peerPets = 1000

// measurePeers has the reference, the service and every peer take turns.
func (b *bench) measurePeers(ctx context.Context) error {
	say("generating and building the peers")
	if err := b.buildPeers(ctx); err != nil {
		return err
	}
	d, err := b.newDuel(ctx, "peers.db")
	if err != nil {
		return err
	}
	theirs, err := b.startPeers(ctx)
	if err != nil {
		return err
	}
	sides := append([]*side{&d.reference, &d.ours}, theirs...)
	s := section{title: "Beside other servers", words: fmt.Sprintf(`Other servers of pets, written as their documentation would have it, with %d pets in memory, without keys, limits, a log or
anything durable, in turns with this service, which has all of these.`, peerPets),
		table: table{"request | server | requests/s | of net/http | CPU µs | p50 ms | p99 ms | this service is faster by"}}
	for _, c := range []struct {
		row   string
		least float64 // of the fastest peer
	}{{"get", 1}, {"list", 1.3}} {
		r := findRow(rows(), c.row)
		say("%s beside the peers", r.name)
		if err := d.mirror(ctx, r); err != nil {
			return err
		}
		if err := measureSides(ctx, r, sides, max(3, b.rounds-2), b.round); err != nil {
			return err
		}
		s.addContest(r, c.least, sides)
	}
	b.add(s)
	return nil
}

// addContest adds a row of all: the reference, the service and the peers.
func (s *section) addContest(r *row, least float64, sides []*side) {
	ours, best := spreadOf(rates(sides[1].samples)).median, 0.0
	for i, side := range sides {
		f, faster := figureOf(side.samples, sides[0].samples), ""
		if i != 1 {
			faster = fmt.Sprintf("× %.2f", ours/f.perSecond.median)
		}
		if i > 1 {
			best = max(best, f.perSecond.median)
		}
		s.table.add("%s | %s | %s | %s | %.1f | %.2f | %.2f | %s", r.words, side.name, f.perSecond.ranged("%.0f"), f.ofReference.ranged("%.2f"),
			f.cpu, f.p50/1000, f.p99/1000, faster)
	}
	s.targets = append(s.targets, target{r.words + ", × the fastest peer", ours / best, least, false})
}

// buildPeers generates and builds them.
func (b *bench) buildPeers(ctx context.Context) error {
	generate := exec.CommandContext(ctx, "go", "generate", "./...")
	generate.Dir = peersDir
	if err := runOnBoth(generate); err != nil {
		return err
	}
	out := filepath.Join(b.dir, peersDir) + string(filepath.Separator)
	return runOnBoth(exec.CommandContext(ctx, "go", "build", "-C", peersDir, "-o", out, "./..."))
}

func (b *bench) startPeers(ctx context.Context) (sides []*side, err error) {
	w := &workload{dataset: &dataset{pets: peerPets, key: "none"}}
	for _, p := range peers {
		addr, err := processtest.FreeAddr()
		if err != nil {
			return nil, err
		}
		started, err := b.start(ctx, addr, filepath.Join(b.dir, peersDir, p[1]), addr)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p[0], err)
		}
		sides = append(sides, &side{name: p[0], process: started, workload: w})
	}
	return sides, nil
}
