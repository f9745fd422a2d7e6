package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// profile writes profiles of the server under one row: of its processor time
// and of its allocations.
func profile(ctx context.Context, s *settings) (err error) {
	b, err := start(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.end()) }()
	for _, r := range rows() {
		if r.name == s.profile {
			return b.profileRow(ctx, &r)
		}
	}
	return fmt.Errorf("there is no row %q", s.profile)
}

func (b *bench) profileRow(ctx context.Context, r *row) error {
	const long = 10 * time.Second
	done := make(chan error, 1)
	go func() { done <- b.fetch(ctx, "cpu.pprof", "/debug/pprof/profile?seconds=8") }()
	s, err := load(ctx, b.server, b.world, r, long)
	if err = errors.Join(err, <-done); err != nil {
		return err
	}
	say("%s: %.0f requests a second, %.1f µs of processor time each", r.name, s.perSecond(), perRequest([]*sample{s}))
	return b.fetch(ctx, "allocs.pprof", "/debug/pprof/allocs")
}

// fetch saves a page of the operations listener in the current folder.
func (b *bench) fetch(ctx context.Context, file, path string) error {
	page, err := get(ctx, b.server.ops, path)
	if err != nil {
		return err
	}
	return os.WriteFile(file, page, 0o644)
}
