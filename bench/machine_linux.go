package main

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pinSelf has the whole program run on one core: it starts itself again, since
// threads inherit the core of the one that made them.
func pinSelf(core int) error {
	var now, want unix.CPUSet
	want.Set(core)
	if err := unix.SchedGetaffinity(0, &now); err != nil {
		return err
	}
	if now == want {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := unix.SchedSetaffinity(0, &want); err != nil {
		return err
	}
	return syscall.Exec(self, os.Args, os.Environ())
}

// startOn starts cmd on the given cores. It ends with this program, however that
// ends.
func startOn(cmd *exec.Cmd, cores ...int) error {
	cmd.SysProcAttr = endsWithUs()
	return onCores(cmd.Start, cores...)
}

func endsWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

// onCores has do, and the processes that it starts, run on the given cores.
func onCores(do func() error, cores ...int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, want unix.CPUSet
	for _, core := range cores {
		want.Set(core)
	}
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	if err := unix.SchedSetaffinity(0, &want); err != nil {
		return err
	}
	err := do()
	if back := unix.SchedSetaffinity(0, &before); err == nil {
		err = back
	}
	return err
}

// cpuTime returns the processor time that a process has used.
func cpuTime(pid int) (time.Duration, error) {
	var used unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|2), &used) // as clock_getcpuclockid(3) names the clock of a process
	return time.Duration(used.Nano()), err
}

// syncData makes what was written to f durable.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
