package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/test/servertest"
)

// The cores of the two sides.
const (
	serverCore = 0
	loadCore   = 1
)

// A process is one that is measured.
type process struct {
	*servertest.Server
	addr    string        // where it answers
	tlsAddr string        // where it answers over TLS, or ""
	started time.Duration // from its start until it was ready
	twins   []*process    // nodes that share its load
}

// start starts another program than the service on the core of what is measured, and returns when it listens on addr.
func (b *bench) start(ctx context.Context, addr, program string, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stderr = environment("GOMAXPROCS=1"), os.Stderr
	if err := startOn(cmd, serverCore); err != nil {
		return nil, err
	}
	p := &process{Server: &servertest.Server{Cmd: cmd}, addr: addr}
	b.atEnd(func() error {
		_ = cmd.Process.Kill() // it may be gone
		_ = cmd.Wait()         // of a killed process it says so
		return nil
	})
	return p, waitFor(ctx, addr)
}

// cpu returns the processor time that the process has used.
func (p *process) cpu() (time.Duration, error) { return cpuTime(p.Cmd.Process.Pid) }

// familyTime returns the processor time of a process and of its children that run.
func familyTime(pid int) (all time.Duration, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		return 0, err
	}
	for _, member := range append(strings.Fields(string(text)), strconv.Itoa(pid)) {
		id, err := strconv.Atoi(member)
		if err != nil {
			return 0, err
		}
		if one, err := cpuTime(id); err == nil { // not a child that has just ended
			all += one
		}
	}
	return all, nil
}

// memory returns the resident memory in MiB: now, and the most so far.
func (p *process) memory() (now, most float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	now, err1 := valueOf(text, "VmRSS:")
	most, err2 := valueOf(text, "VmHWM:")
	return now / 1024, most / 1024, errors.Join(err1, err2)
}

// metric returns the value of a metric without labels.
func (p *process) metric(ctx context.Context, name string) (float64, error) {
	text, err := p.page(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	return valueOf(text, name)
}

// valueOf returns the number that follows a word, the first of a line.
func valueOf(text []byte, word string) (float64, error) {
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == word {
			return strconv.ParseFloat(words[1], 64)
		}
	}
	return 0, fmt.Errorf("nothing is said of %s", word)
}

// build returns the server's binary, built as make build does.
func build(ctx context.Context, s *settings, dir string) (servertest.Binary, error) {
	if s.binary != "" {
		path, err := filepath.Abs(s.binary)
		return servertest.Binary(path), err
	}
	out := filepath.Join(dir, "petstore")
	cmd := exec.CommandContext(ctx, "go", "build", "-C", "..", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-o", out, "./cmd/petstore")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return servertest.Binary(out), runOnBoth(cmd)
}

// runOnBoth runs cmd on both cores.
func runOnBoth(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := startOn(cmd, serverCore, loadCore); err != nil {
		return err
	}
	return cmd.Wait()
}

// startServer starts the service on the database, with more flags, and returns when it is ready.
func (b *bench) startServer(ctx context.Context, db string, flags ...string) (*process, error) {
	flags = append([]string{
		"--db", db,
		"--trusted-proxies", "127.0.0.1/32", // so that bad keys can come from many addresses
		"--ban-grace", "24h", // so that a refusal stays one
	}, flags...)
	p, began := &process{}, time.Now()
	if err := onCores(func() (err error) {
		p.Server, err = b.binary.Serve(servertest.Options{Dir: b.dir, Flags: flags, Env: []string{"GOMAXPROCS=1"}, Attr: endsWithUs()})
		return err
	}, serverCore); err != nil {
		return nil, err
	}
	b.atEnd(p.Stop)
	if _, err := p.page(ctx, "/readyz"); err != nil {
		return nil, fmt.Errorf("%w; its log: %.1000s", err, p.LogText())
	}
	p.started = time.Since(began)
	scheme, addr, _ := strings.Cut(p.URL, "://")
	p.addr = addr
	if scheme == "https" {
		p.tlsAddr = addr
	}
	return p, nil
}

// newSide starts the service on a database, with more flags, for what works on it.
func (b *bench) newSide(ctx context.Context, name string, d *dataset, flags ...string) (*side, error) {
	p, err := b.startServer(ctx, d.db, flags...)
	if err != nil {
		return nil, err
	}
	w, err := newWorkload(ctx, p, d)
	return &side{name: name, process: p, workload: w}, err
}

// environment returns what programs find around them: nothing that sets the runtime up differently.
func environment(more ...string) []string {
	return append([]string{"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH")}, more...)
}
