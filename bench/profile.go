package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// profile writes profiles of the server under one row into the current folder:
// of its processor time, of its allocations, and of what its goroutines waited
// for; and prints the system calls of a request.
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

// profileRow profiles in three runs, so that no instrument shows in another's
// figures.
func (b *bench) profileRow(ctx context.Context, r *row) error {
	s, err := b.under(ctx, r, 10*time.Second, func() error {
		return b.fetch(ctx, "cpu.pprof", "/debug/pprof/profile?seconds=8")
	})
	if err != nil {
		return err
	}
	say("%s: %.0f requests a second, %.1f µs of processor time each", r.name, s.perSecond(), perRequest([]*sample{s}))
	if err := b.fetch(ctx, "allocs.pprof", "/debug/pprof/allocs"); err != nil {
		return err
	}
	if _, err := b.under(ctx, r, 3*time.Second, func() error { return b.fetch(ctx, "trace.out", "/debug/pprof/trace?seconds=2") }); err != nil {
		return err
	}
	if err := splitTrace(ctx); err != nil {
		return err
	}
	return b.countSyscalls(ctx, r)
}

// under runs what is given beside the row's load.
func (b *bench) under(ctx context.Context, r *row, long time.Duration, run func() error) (*sample, error) {
	done := make(chan error, 1)
	go func() { done <- run() }()
	s, err := load(ctx, b.server, b.world, r, long)
	return s, errors.Join(err, <-done, b.server.log.Truncate(0))
}

// splitTrace makes profiles of what goroutines waited for out of trace.out: a
// mutex or a channel, a system call, the scheduler. A trace costs the server
// nothing while nobody asks for one; the profiles of mutexes and of blocking
// would have to be on all the time.
func splitTrace(ctx context.Context) error {
	for _, kind := range []string{"sync", "syscall", "sched"} {
		out, err := os.Create(kind + ".pprof")
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "go", "tool", "trace", "-pprof="+kind, "trace.out")
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		if err = startOn(cmd, serverCore, loadCore); err == nil {
			err = cmd.Wait()
		}
		if err = errors.Join(err, out.Close()); err != nil {
			return fmt.Errorf("the trace: %w", err)
		}
	}
	return nil
}

// countSyscalls prints how many system calls of each kind a request takes. It
// needs strace, which slows the server but does not change what it asks for,
// except that slower callers come in smaller groups.
func (b *bench) countSyscalls(ctx context.Context, r *row) error {
	if !installed("strace") {
		say("no count of system calls: there is no strace")
		return nil
	}
	file := filepath.Join(b.dir, "strace.txt")
	cmd := exec.CommandContext(ctx, "strace", "-f", "-c", "-o", file, "-p", strconv.Itoa(b.server.cmd.Process.Pid))
	if err := startOn(cmd, serverCore, loadCore); err != nil {
		return err
	}
	s, err := load(ctx, b.server, b.world, r, 3*time.Second)
	err = errors.Join(err, cmd.Process.Signal(os.Interrupt))
	var interrupted *exec.ExitError
	if waited := cmd.Wait(); waited != nil && !errors.As(waited, &interrupted) {
		err = errors.Join(err, waited)
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, c := range syscallsIn(string(text)) {
		if each := float64(c.calls) / float64(max(1, s.all)); each >= .005 {
			fmt.Printf("%8.2f %s\n", each, c.name)
		}
	}
	return nil
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// A syscallCount is how often a system call was made.
type syscallCount struct {
	name  string
	calls int
}

// syscallsIn reads the table of strace -c: share, seconds, µs a call, calls,
// errors if there were any, and the name.
func syscallsIn(text string) []syscallCount {
	var all []syscallCount
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		calls, err := strconv.Atoi(fields[3])
		if name := fields[len(fields)-1]; err == nil && name != "total" {
			all = append(all, syscallCount{name, calls})
		}
	}
	slices.SortFunc(all, func(a, b syscallCount) int { return b.calls - a.calls })
	return all
}

// fetch saves a page of the operations listener in the current folder.
func (b *bench) fetch(ctx context.Context, file, path string) error {
	page, err := get(ctx, b.server.ops, path)
	if err != nil {
		return err
	}
	return os.WriteFile(file, page, 0o644)
}
