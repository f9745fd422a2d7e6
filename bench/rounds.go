package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"example.com/petstore/internal/processtest"
	"example.com/petstore/test/servertest"
)

// A bench is a run under way.
type bench struct {
	*settings
	binary    servertest.Binary
	dir       string
	cert, key string // files of a certificate of the loopback

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
	r = &results{busy: busy, machine: machine(b.dir)}
	for _, part := range []struct {
		name    string
		measure func(context.Context) (section, error)
	}{
		{"rows", func(ctx context.Context) (section, error) { return b.measureRows(ctx, r) }},
		{"peers", b.measurePeers}, {"feed", b.measureFeed}, {"webhooks", b.measureWebhooks}, {"memory", b.measureMemory}, {"redis", b.measureRedis},
	} {
		if !s.wants(part.name) {
			continue
		}
		found, err := part.measure(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
		r.sections = append(r.sections, found)
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
		b.cert, b.key, err = processtest.WriteCertificate(dir, "bench")
	}
	if err == nil {
		b.reference, err = startReference(ctx, b.cert, b.key)
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
	if err := b.server.Stop(); err != nil {
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
			errs = append(errs, p.Stop())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

// say tells how far the run is.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }

func (b *bench) measureRows(ctx context.Context, r *results) (section, error) {
	s := section{title: "Requests", words: fmt.Sprintf(`Every row ran %d rounds of %d ms, in turns with bare net/http, which answers the same status and a constant body of the same
size, and on the other transports the same header fields. The database has %d pets. "Of net/http" compares requests a second round
by round; "CPU, net/http / ours" compares the processor time of a request over all rounds, which other work on the machine
disturbs less. Over HTTP/2 the client is the slower side, so that only the processor time says something.`,
		b.rounds, b.round.Milliseconds(), b.pets)}
	s.table = table{"request | requests/s | net/http/s | of net/http | CPU µs | net/http µs | CPU, net/http / ours | p50 ms | p99 ms | p99.9 ms | × durable appends"}
	var appends []float64
	for _, row := range rows() {
		if !b.rows.MatchString(row.name) {
			continue
		}
		say("%s", row.name)
		if err := b.serve(ctx, row.transport == http2TLS); err != nil {
			return s, err
		}
		f, disk, err := b.measureRow(ctx, &row)
		if err != nil {
			return s, err
		}
		r.Rows, appends = append(r.Rows, f), append(appends, disk...)
		s.addRow(&row, &f)
	}
	if len(appends) > 0 {
		s.notes = append(s.notes, fmt.Sprintf("The disk: %s durable appends of 4 KiB a second.", spreadOf(appends).ranged("%.0f")))
	}
	return s, nil
}

// addRow adds a row and its target: by requests a second on the plain way, by durable appends for a write, and by
// processor time on the other transports, where the client may be slower than the server.
func (s *section) addRow(r *row, f *figure) {
	times, t := "", target{r.words + ", of bare net/http", f.OfReference.Median, r.least, false}
	switch {
	case f.OfAppends != nil:
		times = f.OfAppends.ranged("%.1f")
		t.what, t.value = r.words+", × durable appends", f.OfAppends.Median
	case r.transport != plain:
		t.value = f.CPURatio
	}
	s.table.add("%s | %s | %.0f | %s | %.1f | %.1f | %.2f | %.2f | %.2f | %.2f | %s", r.words, f.PerSecond.ranged("%.0f"), f.Reference.Median, f.OfReference.ranged("%.2f"),
		f.CPU, f.ReferenceCPU, f.CPURatio, f.P50/1000, f.P99/1000, f.P999/1000, times)
	if r.least > 0 {
		s.targets = append(s.targets, t)
	}
}

// measureRow has the reference, the server and, for a write, the disk take turns. It returns the disk's rates too.
func (b *bench) measureRow(ctx context.Context, r *row) (f figure, appends []float64, err error) {
	if err := mirror(ctx, r, b.server, b.reference, b.workload); err != nil {
		return f, nil, err
	}
	theirs, ours := &side{name: "the reference", process: b.reference, workload: b.workload}, &side{name: "the service", process: b.server, workload: b.workload}
	for range b.rounds {
		if r.write {
			rate, err := b.appends(ctx)
			if err != nil {
				return f, nil, err
			}
			appends = append(appends, rate)
		}
		if err := takeTurns(ctx, r, []*side{theirs, ours}, b.round); err != nil {
			return f, nil, err
		}
	}
	f = figureOf(r.name, ours.samples, theirs.samples)
	if r.write {
		times := spreadOf(quotients(rates(ours.samples), appends))
		f.OfAppends = &times
	}
	if b.profile != "" {
		err = b.profileRow(ctx, r)
	}
	return f, appends, errors.Join(err, os.Truncate(b.server.Log, 0))
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
