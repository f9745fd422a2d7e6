package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"time"
)

// A memory is how the service does with many pets: its start, its memory, and a search for the full name of one.
type memory struct {
	Pets    int     `json:"pets"`
	FileMiB float64 `json:"fileMiB"`
	Start   spread  `json:"startMillis"`
	Idle    float64 `json:"idleMiB"`
	Loaded  float64 `json:"loadedMiB"` // the peak under a mixed load
	Search  spread  `json:"searchMillis"`
}

// searchOne is the search for the full name of one pet among ordinary names, by one caller alone.
func searchOne() row {
	return row{name: "search for one", callers: 1, want: 200, request: search(rareName)}
}

func (b *bench) measureMemory(ctx context.Context, r *results) error {
	say("memory and search with %d pets", b.manyPets)
	d, err := b.newDataset(ctx, "many.db", b.manyPets, false)
	if err != nil {
		return err
	}
	m := &memory{Pets: b.manyPets}
	r.Memory = m
	if m.FileMiB, err = fileMiB(d.path); err != nil {
		return err
	}
	if m.Start, m.Idle, err = b.measureStarts(ctx, d, b.rounds); err != nil {
		return err
	}
	if err := b.measureLoaded(ctx, d, m); err != nil {
		return err
	}
	return os.Remove(d.path)
}

// measureStarts measures from the start of the process until it is ready, and the memory that it has then.
func (b *bench) measureStarts(ctx context.Context, d *dataset, times int) (spread, float64, error) {
	var starts []float64
	var idle float64
	for range times {
		p, took, err := b.startServer(ctx, d.path, false)
		if err != nil {
			return spread{}, 0, err
		}
		now, _, err := p.memory()
		if err = errors.Join(err, p.stop()); err != nil {
			return spread{}, 0, err
		}
		idle = mib(now)
		starts = append(starts, float64(took.Microseconds())/1000)
	}
	return spreadOf(starts), idle, nil
}

// measureLoaded measures searches, and then the peak of the resident memory under a mixed load.
func (b *bench) measureLoaded(ctx context.Context, d *dataset, m *memory) (err error) {
	p, _, err := b.startServer(ctx, d.path, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	w, err := newWorkload(ctx, p, d)
	if err != nil {
		return err
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	if m.Search, err = measureSearch(ctx, &side{name: "the service", process: p, workload: w}, b.rounds, b.round); err != nil {
		return err
	}
	for _, mixed := range []row{
		{name: "mixed reads", callers: 64, want: 200, request: readMixed},
		{name: "orders", callers: 64, want: 201, request: orderAny},
		{name: "searches", callers: 8, want: 200, request: search(rareName)},
		{name: "mixed reads", callers: 64, want: 200, request: readMixed},
	} {
		if _, err := load(ctx, p, w, &mixed, max(b.round, time.Second)); err != nil {
			return err
		}
	}
	_, most, err := p.memory()
	m.Loaded = mib(most)
	return err
}

// measureSearch returns the median time of a search in each round, in milliseconds.
func measureSearch(ctx context.Context, s *side, rounds int, round time.Duration) (spread, error) {
	r := searchOne()
	err := measureSides(ctx, &r, []*side{s}, rounds, round)
	return spreadOf(each(s.samples, func(s *sample) float64 { return micros(s.quantile(.5)) / 1000 })), err
}

// readMixed is what a shop is asked most.
func readMixed(dst []byte, w *workload, r *rand.Rand) []byte {
	kinds := []newRequest{getPet, getPet, getPopular, listFirst, listDeep}
	return kinds[r.IntN(len(kinds))](dst, w, r)
}
