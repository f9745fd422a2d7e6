package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// A memory is how the service does with many pets: its start, its memory, and a search for the full name of one.
type memory struct {
	pets         int
	file         float64 // MiB
	start        float64 // milliseconds until it is ready
	search       spread  // milliseconds
	idle, loaded float64 // MiB; the peak under a mixed load
}

func (m *memory) section() section {
	return section{title: "Memory and search", words: "The names of the pets are like people's: a given name and a family name. The search is for the full name of the only pet that has it.",
		table: table{
			"pets | file MiB | start to ready, ms | RSS idle, MiB | RSS peak under load, MiB | search for one alone, ms",
			fmt.Sprintf("%d | %.0f | %.0f | %.0f | %.0f | %s", m.pets, m.file, m.start, m.idle, m.loaded, m.search.ranged("%.2f")),
		},
		targets: []target{
			{fmt.Sprintf("memory under load with %d pets, MiB", m.pets), m.loaded, 128, true}, searchTarget(m.pets, m.search, 2),
		}}
}

func searchTarget(pets int, took spread, most float64) target {
	return target{fmt.Sprintf("search for the full name of one of %d pets, alone, ms", pets), took.median, most, true}
}

func (b *bench) measureMemory(ctx context.Context) error {
	say("memory and search with %d pets", b.manyPets)
	d, err := b.newDataset(ctx, b.file("many.db"), b.manyPets, false)
	if err != nil {
		return err
	}
	m := &memory{pets: b.manyPets}
	if m.file, err = fileMiB(d.db); err != nil {
		return err
	}
	p, err := b.startServer(ctx, d.db)
	if err != nil {
		return err
	}
	m.start = micros(p.started) / 1000
	if m.idle, _, err = p.memory(); err != nil {
		return err
	}
	w, err := newWorkload(ctx, p, d)
	if err != nil {
		return err
	}
	if m.search, err = measureSearch(ctx, &side{name: "the service", process: p, workload: w}, b.rounds, b.round); err != nil {
		return err
	}
	for _, mixed := range []row{
		{name: "mixed reads", callers: 64, want: 200, request: readMixed},
		{name: "orders", callers: 64, want: 201, request: orderAny},
		{name: "searches", callers: 8, want: 200, request: searchSome(rareName)},
		{name: "mixed reads", callers: 64, want: 200, request: readMixed},
	} {
		if _, err := load(ctx, p, w, &mixed, max(5*b.round, time.Second)); err != nil {
			return err
		}
	}
	if _, m.loaded, err = p.memory(); err != nil {
		return err
	}
	b.add(m.section())
	return nil
}

// measureSearch returns the median time in each round, in milliseconds, of the search for the full name of one pet among
// ordinary names, by one caller alone.
func measureSearch(ctx context.Context, s *side, rounds int, round time.Duration) (spread, error) {
	r := row{name: "search for one", callers: 1, want: 200, request: searchSome(rareName)}
	err := measureSides(ctx, &r, []*side{s}, rounds, round)
	return spreadOf(each(latencies(s.samples, .5), func(took float64) float64 { return took / 1000 })), err
}

// readMixed is what a workspace is asked most.
func readMixed(dst []byte, w *workload, r *rand.Rand) []byte {
	kinds := []newRequest{getPet, getPet, getPopular, listFirst, listDeep}
	return kinds[r.IntN(len(kinds))](dst, w, r)
}
