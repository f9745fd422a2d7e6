package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// A bench is a run under way.
type bench struct {
	*settings
	binary string
	dir    string

	server, floor *process
	world         *world
}

// measure makes the databases and measures everything that the settings ask
// for.
func measure(ctx context.Context, s *settings) (r *results, err error) {
	busy := loadAverage()
	b, err := start(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.end()) }()
	r = &results{Machine: describeMachine(b.dir), Settings: used{
		Date: time.Now().UTC().Format(time.DateOnly), Rounds: s.rounds, RoundMillis: s.round.Milliseconds(), Pets: s.pets, Busy: busy,
	}}
	if r.Binary, err = fileMiB(b.binary); err != nil {
		return nil, err
	}
	if err := b.measureRows(ctx, r); err != nil {
		return nil, err
	}
	if s.rows.String() != "" {
		return r, nil
	}
	if r.Alone, err = b.measureAlone(ctx); err != nil {
		return nil, err
	}
	if err := b.measureScales(ctx, r); err != nil {
		return nil, err
	}
	if r.Peers, err = b.measurePeers(ctx); err != nil {
		return nil, err
	}
	if r.Overload, err = b.measureOverload(ctx); err != nil {
		return nil, err
	}
	if before, err := loadResults(s.results); err == nil {
		r.Grown = before.Grown // measured apart
	}
	return r, nil
}

// start builds the server, makes the database and starts both sides.
func start(ctx context.Context, s *settings) (*bench, error) {
	dir, err := os.MkdirTemp(s.dir, "petstore-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{settings: s, dir: dir}
	if err := b.prepare(ctx); err != nil {
		return nil, errors.Join(err, b.end())
	}
	return b, nil
}

func (b *bench) prepare(ctx context.Context) (err error) {
	say("building")
	if b.binary, err = build(ctx, b.settings, b.dir); err != nil {
		return err
	}
	say("filling %d pets", b.pets)
	shop, err := fill(ctx, filepath.Join(b.dir, "rows.db"), b.pets)
	if err != nil {
		return err
	}
	if b.floor, err = startFloor(ctx); err != nil {
		return err
	}
	if b.server, _, err = startServer(ctx, b.binary, shop.path); err != nil {
		return err
	}
	b.world, err = newWorld(ctx, b.server, shop)
	return err
}

// end stops both sides and removes what was made.
func (b *bench) end() error {
	var errs []error
	for _, p := range []*process{b.server, b.floor} {
		if p != nil {
			errs = append(errs, p.stop())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

// say tells how far the run is.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }

func describeMachine(dir string) machine {
	return machine{cores(), processor(), kernel(), runtime.Version(), fileSystem(dir)}
}

func (b *bench) measureRows(ctx context.Context, r *results) error {
	var disks []disk
	for _, row := range rows() {
		if !b.rows.MatchString(row.name) {
			continue
		}
		say("%s", row.name)
		p, err := b.measureRow(ctx, &row)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, p.figure(&row))
		if row.write {
			disks = append(disks, p.disks...)
		}
	}
	r.Disk = spreads{
		Appends: spreadOf(each(disks, func(d disk) float64 { return d.Appends })),
		Grouped: spreadOf(each(disks, func(d disk) float64 { return d.Grouped })),
		Alone:   spreadOf(each(disks, func(d disk) float64 { return d.Alone })),
	}
	return nil
}

// measureRow has the floor, the server and, for a write, the disk take turns.
func (b *bench) measureRow(ctx context.Context, r *row) (*pairing, error) {
	if err := b.mirror(ctx, r); err != nil {
		return nil, err
	}
	before, cost, err := b.mallocsNow(ctx)
	if err != nil {
		return nil, err
	}
	p := &pairing{}
	for range b.rounds {
		if err := b.measureRound(ctx, r, p); err != nil {
			return nil, err
		}
	}
	after, err := b.server.mallocs(ctx)
	if err != nil {
		return nil, err
	}
	p.mallocs = after - before - cost
	p.rss, _, err = b.server.memory()
	return p, errors.Join(err, b.server.log.Truncate(0))
}

// attempts is how often a round is begun in which somebody got no turn at all.
const attempts = 5

// measureRound adds one round to p.
func (b *bench) measureRound(ctx context.Context, r *row, p *pairing) error {
	for range attempts {
		d, theirs, ours, err := b.takeTurns(ctx, r)
		if err != nil {
			return err
		}
		if theirs.requests == 0 || ours.requests == 0 || r.write && !d.whole() {
			continue
		}
		p.disks, p.floors, p.ours = append(p.disks, d), append(p.floors, theirs), append(p.ours, ours)
		return nil
	}
	return fmt.Errorf("%s: the machine is too busy to measure anything", r.name)
}

// takeTurns measures the disk, if the row is a write, the floor and the server.
func (b *bench) takeTurns(ctx context.Context, r *row) (d disk, theirs, ours *sample, err error) {
	if r.write {
		if err = askChild(ctx, &d, "disk", b.dir, b.round.String()); err != nil {
			return d, nil, nil, err
		}
	}
	if theirs, err = load(ctx, b.floor, b.world, r, b.round); err != nil {
		return d, nil, nil, fmt.Errorf("the floor: %w", err)
	}
	ours, err = load(ctx, b.server, b.world, r, b.round)
	return d, theirs, ours, err
}

// mirror has the floor answer what the server answers to the row.
func (b *bench) mirror(ctx context.Context, r *row) error {
	c, err := dial(ctx, b.server.addr)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	c.out = r.request(c.out[:0], b.world, rand.New(rand.NewPCG(1, 2)))
	a, err := c.call()
	if err != nil {
		return err
	}
	if a.status() != r.want {
		return fmt.Errorf("%s: the answer is %d, not %d: %.300q", r.name, a.status(), r.want, a.body)
	}
	return setFloor(ctx, b.floor.addr, r.want, a.body)
}

// mallocsNow returns the count of allocations, and how many it takes to ask.
func (b *bench) mallocsNow(ctx context.Context) (count, cost float64, err error) {
	first, err := b.server.mallocs(ctx)
	if err != nil {
		return 0, 0, err
	}
	second, err := b.server.mallocs(ctx)
	return second, second - first, err
}

// measureAlone compares one caller's order with a plain transaction.
func (b *bench) measureAlone(ctx context.Context) (*pair, error) {
	say("one caller beside a plain transaction")
	var store, plain, ratio []float64
	for range b.rounds {
		dir, err := os.MkdirTemp(b.dir, "alone-")
		if err != nil {
			return nil, err
		}
		var a alone
		if err := askChild(ctx, &a, "alone", dir, b.round.String()); err != nil {
			return nil, err
		}
		store, plain, ratio = append(store, a.Store), append(plain, a.Plain), append(ratio, a.Store/a.Plain)
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	return &pair{spreadOf(store).Median, spreadOf(plain).Median, spreadOf(ratio)}, nil
}
