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
	"syscall"
	"time"

	"example.com/petstore/internal/processtest"
)

// The cores of the two sides.
const (
	serverCore = 0
	loadCore   = 1
)

// A process is one that is measured.
type process struct {
	cmd     *exec.Cmd
	addr    string // where it answers
	tlsAddr string // where it answers over TLS, or ""
	ops     string // the operations listener, or ""
	log     *os.File
	twins   []*process // nodes that share its load

	ended chan struct{} // closed when the process has ended
	err   error         // of its end
}

// start starts the process on the core of what is measured.
func (p *process) start() error {
	p.ended = make(chan struct{})
	if err := startOn(p.cmd, serverCore); err != nil {
		return err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return nil
}

// stop ends the process in peace and waits for it.
func (p *process) stop() error {
	if p.log != nil {
		defer p.log.Close()
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.ended
	if p.err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(p.cmd.Path), p.err)
	}
	return nil
}

// kill ends a process that need not end in peace.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.ended
	return nil
}

// tick is the unit of /proc/PID/stat: USER_HZ is 100 on every platform of ours.
const tick = 10 * time.Millisecond

// cpu returns the processor time that the process has used.
func (p *process) cpu() (time.Duration, error) { return timeOf(p.cmd.Process.Pid) }

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
		case <-p.ended:
			return fmt.Errorf("the server ended: %w", p.err)
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
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
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

// build returns the path of the server's binary, built as make build does.
func build(ctx context.Context, s *settings, dir string) (string, error) {
	if s.binary != "" {
		return filepath.Abs(s.binary)
	}
	out := filepath.Join(dir, "petstore")
	cmd := exec.CommandContext(ctx, "go", "build", "-C", "..", "-trimpath", "-ldflags=-s -w", "-o", out, "./cmd/petstore")
	return out, runOnBoth(cmd)
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
	addr, err := processtest.FreeAddr()
	if err != nil {
		return nil, 0, err
	}
	ops, err := processtest.FreeAddr()
	if err != nil {
		return nil, 0, err
	}
	_, port, _ := strings.Cut(addr, ":")
	log, err := os.OpenFile(filepath.Join(b.dir, port+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, 0, err
	}
	p := &process{addr: addr, ops: ops, log: log}
	args := append([]string{
		"serve", "--addr", addr, "--ops-addr", ops, "--db", db,
		"--trusted-proxies", "127.0.0.1/32", // so that bad keys can come from many addresses
		"--ban-grace", "24h", // so that a refusal stays one
	}, flags...)
	if secure {
		p.tlsAddr, args = addr, append(args, "--tls-cert", b.cert, "--tls-key", b.key)
	}
	p.cmd = exec.CommandContext(ctx, b.binary, args...)
	p.cmd.Dir, p.cmd.Stderr = b.dir, log
	p.cmd.Env = append(cleanEnv(), "GOMAXPROCS=1")
	began := time.Now()
	if err := p.start(); err != nil {
		return nil, 0, errors.Join(err, log.Close())
	}
	if err := p.waitReady(ctx); err != nil {
		said, _ := os.ReadFile(log.Name())
		return nil, 0, errors.Join(fmt.Errorf("%w; its log: %.1000s", err, said), p.stop())
	}
	return p, time.Since(began), nil
}

// cleanEnv returns the environment without what would set the server or the
// runtime up differently.
func cleanEnv() []string {
	var env []string
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); !strings.HasPrefix(name, "PETSTORE_") && name != "GOGC" && name != "GOMEMLIMIT" && name != "GODEBUG" {
			env = append(env, e)
		}
	}
	return env
}

// waitReady returns when the server says that it is ready.
func (p *process) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		_, err := p.page(ctx, "/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return errors.New("the server ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("the server was not ready within 30 s: %w", err)
		case <-time.After(500 * time.Microsecond): // a start is measured to the millisecond
		}
	}
}
