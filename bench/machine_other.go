//go:build !linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// The benchmark pins processes to cores and reads /proc: it runs on Linux only,
// and says so at its first step.
var errLinuxOnly = errors.New("the benchmark runs on Linux only")

func pinSelf(int) error                            { return errLinuxOnly }
func startOn(*exec.Cmd, ...int) error              { return errLinuxOnly }
func onCores(func() error, ...int) error           { return errLinuxOnly }
func endsWithUs() *syscall.SysProcAttr             { return nil }
func syncData(f *os.File) error                    { return f.Sync() }
func lockInPageCache(string) (func() error, error) { return nil, errLinuxOnly }

type poller struct{}

func newPoller() (*poller, error)                { return nil, errLinuxOnly }
func (*poller) connect(string, int) (int, error) { return 0, errLinuxOnly }
func (*poller) disconnect(int)                   {}
func (*poller) wait() ([]int, error)             { return nil, errLinuxOnly }
func (*poller) read(int, []byte) (int, error)    { return 0, errLinuxOnly }
func (*poller) write(int, []byte) error          { return errLinuxOnly }
func (*poller) close()                           {}
