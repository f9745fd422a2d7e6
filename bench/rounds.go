package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

// A bench is a run under way.
type bench struct {
	*settings
	binary string
	dir    string
	cert   certificate

	server, reference *process
	workload          *workload
}

// measure measures everything that the settings ask for.
func measure(ctx context.Context, s *settings) (r *results, err error) {
	busy := loadAverage()
	b, err := newBench(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.end()) }()
	r = &results{Machine: machine{cores(), processor(), kernel(), runtime.Version(), fileSystem(b.dir)}, Settings: used{
		Date: time.Now().UTC().Format(time.DateOnly), Rounds: s.rounds, RoundMillis: s.round.Milliseconds(), Pets: s.pets, Busy: busy,
	}}
	for _, part := range []struct {
		name    string
		measure func(context.Context, *results) error
	}{{"rows", b.measureRows}, {"feed", b.measureFeed}, {"webhooks", b.measureWebhooks}, {"peers", b.measurePeers}, {"memory", b.measureMemory}, {"redis", b.measureRedis}} {
		if !s.wants(part.name) {
			continue
		}
		if err := part.measure(ctx, r); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return r, nil
}

// newBench builds the server, and starts the reference.
func newBench(ctx context.Context, s *settings) (*bench, error) {
	dir, err := os.MkdirTemp(s.dir, "petstore-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{settings: s, dir: dir}
	say("building")
	if b.binary, err = build(ctx, s, dir); err == nil {
		b.cert, err = newCertificate(dir)
	}
	if err == nil {
		b.reference, err = startReference(ctx, b.cert)
	}
	if err != nil {
		return nil, errors.Join(err, b.end())
	}
	return b, nil
}

// serve fills the database of the rows, if it is not there, and starts the server on it, with HTTPS or without.
func (b *bench) serve(ctx context.Context, secure bool) (err error) {
	switch {
	case b.workload == nil:
		say("filling %d pets", b.pets)
		d, err := b.newDataset(ctx, "rows.db", b.pets, false)
		if err != nil {
			return err
		}
		if b.server, _, err = b.startServer(ctx, d.path, false); err != nil {
			return err
		}
		if b.workload, err = newWorkload(ctx, b.server, d); err != nil { // without HTTPS
			return err
		}
		return b.serve(ctx, secure)
	case secure == (b.server.tlsAddr != ""):
		return nil
	}
	if err := b.server.stop(); err != nil {
		return err
	}
	b.server, _, err = b.startServer(ctx, b.workload.path, secure)
	return err
}

// end stops both sides and removes what was made.
func (b *bench) end() error {
	var errs []error
	for _, p := range []*process{b.server, b.reference} {
		if p != nil {
			errs = append(errs, p.stop())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

// say tells how far the run is.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }

func (b *bench) measureRows(ctx context.Context, r *results) error {
	for _, row := range rows() {
		if !b.rows.MatchString(row.name) {
			continue
		}
		say("%s", row.name)
		if err := b.serve(ctx, row.transport == http2TLS); err != nil {
			return err
		}
		p, err := b.measureRow(ctx, &row)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, p.figure(&row))
		r.appends = append(r.appends, p.appends...)
	}
	r.Appends = spreadOf(r.appends)
	return nil
}

// measureRow has the reference, the server and, for a write, the disk take turns.
func (b *bench) measureRow(ctx context.Context, r *row) (*pairing, error) {
	if err := mirror(ctx, r, b.server, b.reference, b.workload); err != nil {
		return nil, err
	}
	before, cost, err := b.mallocs(ctx)
	if err != nil {
		return nil, err
	}
	theirs, ours := &side{name: "the reference", process: b.reference, workload: b.workload}, &side{name: "the service", process: b.server, workload: b.workload}
	p := &pairing{}
	for range b.rounds {
		if r.write {
			var appends float64
			if err := askChild(ctx, &appends, "disk", b.dir, (b.round / 3).String()); err != nil {
				return nil, err
			}
			p.appends = append(p.appends, appends)
		}
		if err := takeTurns(ctx, r, []*side{theirs, ours}, b.round); err != nil {
			return nil, err
		}
	}
	p.ours, p.references = ours.samples, theirs.samples
	after, _, err := b.mallocs(ctx)
	if err != nil {
		return nil, err
	}
	p.mallocs = after - before - 2*cost
	if p.rss, _, err = b.server.memory(); err != nil {
		return nil, err
	}
	if b.profile != "" {
		err = b.profileRow(ctx, r)
	}
	return p, errors.Join(err, b.server.log.Truncate(0))
}

// mallocs returns how many objects the server has allocated since its start, and how many it takes to ask.
func (b *bench) mallocs(ctx context.Context) (count, cost float64, err error) {
	const name = "go_memstats_mallocs_total"
	first, err := b.server.metric(ctx, name)
	if err != nil {
		return 0, 0, err
	}
	second, err := b.server.metric(ctx, name)
	return second, second - first, err
}

// profileRow writes a profile of the server's processor time under the row.
func (b *bench) profileRow(ctx context.Context, r *row) error {
	done := make(chan error, 1)
	go func() {
		text, err := b.server.page(ctx, "/debug/pprof/profile?seconds=5")
		done <- errors.Join(err, os.WriteFile(b.profile, text, 0o644))
	}()
	_, err := load(ctx, b.server, b.workload, r, 6*time.Second)
	return errors.Join(err, <-done)
}

// A side is one of those who take turns, and what they did.
type side struct {
	name     string
	process  *process
	workload *workload
	samples  []*sample
}

// measureSides replaces the samples of all sides by those of a row's rounds.
func measureSides(ctx context.Context, r *row, sides []*side, rounds int, long time.Duration) error {
	for _, s := range sides {
		s.samples = nil
	}
	for range rounds {
		if err := takeTurns(ctx, r, sides, long); err != nil {
			return err
		}
	}
	return nil
}

// takeTurns has all sides take a turn at a row.
func takeTurns(ctx context.Context, r *row, sides []*side, long time.Duration) error {
	for _, s := range sides {
		got, err := s.turn(ctx, r, long)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		s.samples = append(s.samples, got)
	}
	return nil
}

// attempts is how often a turn is begun in which nothing was answered.
const attempts = 5

// turn does a row, again if it got no turn on a busy machine.
func (s *side) turn(ctx context.Context, r *row, long time.Duration) (*sample, error) {
	for range attempts {
		got, err := load(ctx, s.process, s.workload, r, long)
		if err != nil || got.requests > 0 {
			return got, err
		}
		long *= 2
	}
	return nil, errors.New("the machine is too busy to measure anything")
}
