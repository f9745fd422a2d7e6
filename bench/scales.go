package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// measureScales measures start and memory with databases of several sizes.
func (b *bench) measureScales(ctx context.Context, r *results) error {
	for _, pets := range b.scales {
		say("start and memory with %d pets", pets)
		s, err := b.measureScale(ctx, pets)
		if err != nil {
			return err
		}
		r.Scales = append(r.Scales, *s)
	}
	return nil
}

func (b *bench) measureScale(ctx context.Context, pets int) (*scale, error) {
	path := filepath.Join(b.dir, fmt.Sprintf("%d.db", pets))
	shop, err := fill(ctx, path, pets)
	if err != nil {
		return nil, err
	}
	s := &scale{Pets: pets}
	if s.FileMiB, err = fileMiB(path); err != nil {
		return nil, err
	}
	var starts []float64
	for range b.starts {
		p, took, err := startServer(ctx, b.binary, path)
		if err != nil {
			return nil, err
		}
		now, _, err := p.memory()
		if err = errors.Join(err, p.stop()); err != nil {
			return nil, err
		}
		s.Idle = mib(now)
		starts = append(starts, float64(took.Microseconds())/1000)
	}
	s.Start = spreadOf(starts)
	if pets > 0 {
		s.Loaded, err = b.measureLoaded(ctx, shop)
	}
	return s, errors.Join(err, os.Remove(path))
}

// measureLoaded returns the peak of the resident memory under a mixed load.
func (b *bench) measureLoaded(ctx context.Context, shop *shop) (peak float64, err error) {
	p, _, err := startServer(ctx, b.binary, shop.path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	w, err := newWorld(ctx, p, shop)
	if err != nil {
		return 0, err
	}
	for _, mixed := range []row{
		{name: "mixed reads", callers: 64, want: 200, request: readMixed},
		{name: "orders", callers: 64, want: 201, request: orderAny},
		{name: "mixed reads", callers: 64, want: 200, request: readMixed},
	} {
		if _, err := load(ctx, p, w, &mixed, max(b.round, time.Second)); err != nil {
			return 0, err
		}
	}
	_, most, err := p.memory()
	return mib(most), err
}

// readMixed is what a shop is asked most.
func readMixed(dst []byte, w *world, r *rand.Rand) []byte {
	kinds := []func([]byte, *world, *rand.Rand) []byte{getPet, getPet, getSuccessor, listFirst, listDeep}
	return kinds[r.IntN(len(kinds))](dst, w, r)
}

func fileMiB(path string) (float64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return mib(info.Size()), nil
}
