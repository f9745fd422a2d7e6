//go:build !linux

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// The benchmark pins processes to cores and reads /proc: it runs on Linux only,
// and says so at its first step.
var errLinuxOnly = errors.New("the benchmark runs on Linux only")

func pinSelf(int) error                  { return errLinuxOnly }
func startOn(*exec.Cmd, ...int) error    { return errLinuxOnly }
func onCores(func() error, ...int) error { return errLinuxOnly }
func endsWithUs() *syscall.SysProcAttr   { return nil }
func cpuTime(int) (time.Duration, error) { return 0, errLinuxOnly }
func syncData(f *os.File) error          { return f.Sync() }

func loadHTTP1(context.Context, *process, *workload, *row, time.Duration, time.Duration) (*sample, error) {
	return nil, errLinuxOnly
}
