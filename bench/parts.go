package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"time"
)

// partFlags declares the flags of the parts that can be measured alone.
func (s *settings) partFlags(flags *flag.FlagSet) {
	flags.BoolVar(&s.peers, "peers", false, "measure only the service beside other servers of pets")
	flags.BoolVar(&s.overload, "overload", false, "measure only the service under several times its capacity")
	flags.BoolVar(&s.scale, "scale", false, "measure only a large shop beside one of 10,000 pets, and keep that in the results")
	flags.BoolVar(&s.where, "where", false, "profile the server and write where a request's time goes to docs/performance.md")
	flags.IntVar(&s.grown, "pets", 10_000_000, "`N` pets in the large shop of -scale, with three orders each")
}

// part returns what is to be measured alone, or nil.
func (s *settings) part() func(context.Context, *settings) error {
	switch {
	case s.peers:
		return onlyPeers
	case s.overload:
		return onlyOverload
	case s.scale:
		return grow
	case s.where:
		return where
	}
	return nil
}

// onlyPeers measures the peers and prints them.
func onlyPeers(ctx context.Context, s *settings) error {
	return alonePart(ctx, s, func(ctx context.Context, b *bench, r *results) (err error) {
		r.Peers, err = b.measurePeers(ctx)
		return err
	})
}

// onlyOverload measures the overload and prints it.
func onlyOverload(ctx context.Context, s *settings) error {
	return alonePart(ctx, s, func(ctx context.Context, b *bench, r *results) (err error) {
		r.Overload, err = b.measureOverload(ctx)
		return err
	})
}

func alonePart(ctx context.Context, s *settings, measure func(context.Context, *bench, *results) error) error {
	b, err := start(ctx, s)
	if err != nil {
		return err
	}
	r := &results{}
	err = measure(ctx, b, r)
	if err = errors.Join(err, b.end()); err != nil {
		return err
	}
	for _, t := range r.parts() {
		t.text(os.Stdout)
	}
	return nil
}

// keepGrown puts the comparison into the saved results.
func keepGrown(dir string, g *grown) error {
	r, err := loadResults(dir)
	if err != nil {
		return err
	}
	g.Date = time.Now().UTC().Format(time.DateOnly)
	r.Grown = g
	return r.save(dir)
}
