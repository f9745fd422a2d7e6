package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A disk is what durable writes are held against, per second.
type disk struct {
	Appends float64 // of 4 KiB, each made durable before the next
	Grouped float64 // records of 64 callers that share a log's syncs, and change a map
	Alone   float64 // the same of one caller
}

// whole reports whether every figure was measured.
func (d *disk) whole() bool { return d.Appends > 0 && d.Grouped > 0 && d.Alone > 0 }

// measureDisk is the child that measures the disk below a folder, each figure
// for a third of the time, and prints it as JSON.
func measureDisk(ctx context.Context, args []string) error {
	dir, long, err := place(args)
	if err != nil {
		return err
	}
	var d disk
	if d.Appends, err = appends(ctx, filepath.Join(dir, "append"), long/3); err != nil {
		return err
	}
	if d.Grouped, err = grouped(ctx, filepath.Join(dir, "grouped"), long/3, 64); err != nil {
		return err
	}
	if d.Alone, err = grouped(ctx, filepath.Join(dir, "alone"), long/3, 1); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(d)
}

// place reads the arguments of the children that write: a folder and a time.
func place(args []string) (dir string, long time.Duration, err error) {
	if len(args) != 2 {
		return "", 0, fmt.Errorf("a folder and a duration are needed")
	}
	long, err = time.ParseDuration(args[1])
	return args[0], long, err
}

// appends returns how many appends of 4 KiB become durable in a second, one
// after the other.
func appends(ctx context.Context, path string, long time.Duration) (float64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path)
	defer f.Close()
	page := bytes.Repeat([]byte{'x'}, 4096)
	n, began := 0, time.Now()
	for ; time.Since(began) < long && ctx.Err() == nil; n++ {
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := syncData(f); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), ctx.Err()
}

// A ledger is the least that can call itself a durable store: a map, and a log
// whose syncs are shared by all who wait.
type ledger struct {
	mu      sync.Mutex
	stock   map[int]int
	buffer  []byte
	waiting []chan struct{}
	wake    chan struct{}
}

// recordSize is about what an order leaves in a log.
const recordSize = 128

// order takes a unit and returns when that is durable.
func (l *ledger) order(pet int) {
	done := make(chan struct{})
	l.mu.Lock()
	l.stock[pet]--
	l.buffer = append(l.buffer, make([]byte, recordSize)...)
	l.waiting = append(l.waiting, done)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	<-done
}

// keep makes what waits durable, group by group, until stop is closed.
func (l *ledger) keep(f *os.File, stop chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-l.wake:
		}
		l.mu.Lock()
		buffer, waiting := l.buffer, l.waiting
		l.buffer, l.waiting = nil, nil
		l.mu.Unlock()
		if _, err := f.Write(buffer); err != nil {
			return err
		}
		if err := syncData(f); err != nil {
			return err
		}
		for _, done := range waiting {
			close(done)
		}
	}
}

// grouped returns how many orders of so many callers the ledger takes in a
// second.
func grouped(ctx context.Context, path string, long time.Duration, callers int) (float64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path)
	defer f.Close()
	l := &ledger{stock: map[int]int{}, wake: make(chan struct{}, 1)}
	stop, failed := make(chan struct{}), make(chan error, 1)
	go func() { failed <- l.keep(f, stop) }()
	var running sync.WaitGroup
	counts := make([]int, callers)
	began := time.Now()
	for i := range callers {
		running.Go(func() {
			for time.Since(began) < long && ctx.Err() == nil {
				l.order(i*1000 + counts[i]%1000)
				counts[i]++
			}
		})
	}
	finished := make(chan struct{})
	go func() { running.Wait(); close(finished) }()
	select {
	case err := <-failed:
		return 0, err // the callers wait for what never comes; the process ends
	case <-finished:
	}
	took := time.Since(began)
	close(stop)
	total := 0
	for _, n := range counts {
		total += n
	}
	return float64(total) / took.Seconds(), <-failed
}

// askChild runs a child on the core of the server and reads its answer.
func askChild(ctx context.Context, into any, args ...string) error {
	cmd, err := child(ctx, args...)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := startOn(cmd, serverCore); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return json.Unmarshal(out.Bytes(), into)
}
