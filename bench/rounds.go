package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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

	ending   []func() error // what ends what a part has started
	sections []section
}

// measure measures what the settings ask for, and reports it.
func measure(ctx context.Context, s *settings) (err error) {
	busy := loadAverage()
	b, err := newBench(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	for _, p := range parts() {
		if p.name != s.part && (p.apart || s.part != "") {
			continue
		}
		if err := errors.Join(p.measure(b, ctx), b.end()); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	report(os.Stdout, b.sections...)
	if s.part != "" || s.short {
		return nil // it must not replace the whole
	}
	return b.save("RESULTS.md", busy)
}

// newBench makes the folder with the server's binary.
func newBench(ctx context.Context, s *settings) (*bench, error) {
	dir, err := os.MkdirTemp("", "petstore-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{settings: s, dir: dir}
	say("building")
	if b.binary, err = build(ctx, s, dir); err == nil {
		b.cert, b.key, err = processtest.WriteCertificate(dir, "bench")
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return b, nil
}

// atEnd has end be called when the part is over.
func (b *bench) atEnd(end func() error) { b.ending = append(b.ending, end) }

// end ends what the part has started, the last first.
func (b *bench) end() error {
	var errs []error
	for _, end := range slices.Backward(b.ending) {
		errs = append(errs, end())
	}
	b.ending = nil
	return errors.Join(errs...)
}

// add adds a section to the report.
func (b *bench) add(s section) { b.sections = append(b.sections, s) }

// say tells how far the run is.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }

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
		got, err := load(ctx, s.process, s.workload, r, long)
		if err == nil && got.requests == 0 {
			err = errors.New("nothing was answered in time: the machine is too busy")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		s.samples = append(s.samples, got)
	}
	return nil
}
