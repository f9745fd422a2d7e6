package main

import (
	"bytes"
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
	addr    string     // where it answers
	tlsAddr string     // where it answers over TLS, or ""
	twins   []*process // nodes that share its load
}

// start starts another program than the service on the core of what is measured.
func (p *process) start(cmd *exec.Cmd) error {
	p.Server = &servertest.Server{Cmd: cmd, Ended: make(chan struct{})}
	if err := startOn(cmd, serverCore); err != nil {
		return err
	}
	go func() {
		p.Err = cmd.Wait()
		close(p.Ended)
	}()
	return nil
}

// tick is the unit of /proc/PID/stat: USER_HZ is 100 on every platform of ours.
const tick = 10 * time.Millisecond

// cpu returns the processor time that the process has used.
func (p *process) cpu() (time.Duration, error) { return timeOf(p.Cmd.Process.Pid) }

func timeOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, errors.New("the stat of a process is not understood")
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * tick, err
}

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
		if one, err := timeOf(id); err == nil { // not a child that has just ended
			all += one
		}
	}
	return all, nil
}

// settle returns when the process has nothing to do any more in the background, such as to index names: when it was
// idle for a second.
func (p *process) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	for {
		before, err := p.cpu()
		if err != nil {
			return err
		}
		select {
		case <-p.Ended:
			return fmt.Errorf("the server ended: %w", p.Err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		if after, err := p.cpu(); err != nil || after-before <= 2*tick {
			return err
		}
	}
}

// memory returns the resident memory in bytes: now, and the most so far.
func (p *process) memory() (now, most int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	read := func(name string) int64 {
		_, rest, _ := strings.Cut(string(text), "\n"+name+":")
		line, _, _ := strings.Cut(rest, "\n")
		kib, parseErr := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 10, 64)
		err = errors.Join(err, parseErr)
		return kib << 10
	}
	return read("VmRSS"), read("VmHWM"), err
}

// metric returns the value of a metric without labels.
func (p *process) metric(ctx context.Context, name string) (float64, error) {
	text, err := p.page(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(text), "\n"+name+" ")
	if !ok {
		return 0, fmt.Errorf("the metrics have no %s", name)
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strconv.ParseFloat(line, 64)
}

// build returns the server's binary, built as make build does.
func build(ctx context.Context, s *settings, dir string) (servertest.Binary, error) {
	if s.binary != "" {
		path, err := filepath.Abs(s.binary)
		return servertest.Binary(path), err
	}
	out := filepath.Join(dir, "petstore")
	return servertest.Binary(out), runOnBoth(exec.CommandContext(ctx, "go", "build", "-C", "..", "-trimpath", "-ldflags=-s -w", "-o", out, "./cmd/petstore"))
}

// runOnBoth runs cmd on both cores.
func runOnBoth(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := startOn(cmd, serverCore, loadCore); err != nil {
		return err
	}
	return cmd.Wait()
}

// startServer starts the service on the database, with HTTPS or without and with more flags, and returns when it is ready,
// with the time that this took.
func (b *bench) startServer(ctx context.Context, db string, secure bool, flags ...string) (*process, time.Duration, error) {
	flags = append([]string{
		"--db", db,
		"--trusted-proxies", "127.0.0.1/32", // so that bad keys can come from many addresses
		"--ban-grace", "24h", // so that a refusal stays one
	}, flags...)
	if secure {
		flags = append(flags, "--tls-cert", b.cert, "--tls-key", b.key)
	}
	p, began := &process{}, time.Now()
	if err := onCores(func() (err error) {
		p.Server, err = b.binary.Serve(servertest.Options{Dir: b.dir, Flags: flags, Env: []string{"GOMAXPROCS=1"}, Attr: endsWithUs()})
		return err
	}, serverCore); err != nil {
		return nil, 0, err
	}
	if _, err := p.page(ctx, "/readyz"); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("%w; its log: %.1000s", err, p.LogText()), p.Stop())
	}
	took := time.Since(began)
	_, p.addr, _ = strings.Cut(p.URL, "://")
	if secure {
		p.tlsAddr = p.addr
	}
	return p, took, nil
}

// environment returns what programs find around them: nothing that sets the runtime up differently.
func environment(more ...string) []string {
	return append([]string{"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH")}, more...)
}
