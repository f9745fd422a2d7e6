package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

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
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return onCores(cmd.Start, cores...)
}

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

// syncData makes what was written to f durable.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// kernel returns the name and release of the operating system.
func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return runtime.GOOS
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

// fileSystem returns the kind of file system that holds path.
func fileSystem(path string) string {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return "unknown"
	}
	kinds := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
		unix.TMPFS_MAGIC: "tmpfs (in memory: nothing is durable)", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs",
	}
	if kind := kinds[int64(s.Type)]; kind != "" {
		return kind
	}
	return "another"
}

// processor returns the model of the processor.
func processor() string {
	if models := cpuInfo("model name"); len(models) > 0 {
		return models[0]
	}
	return runtime.GOARCH
}

// cores returns how many cores the machine has, whatever this process may use.
func cores() int { return len(cpuInfo("processor")) }

// loadAverage returns that of the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// cpuInfo returns the values of an entry of /proc/cpuinfo.
func cpuInfo(entry string) []string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return nil
	}
	var values []string
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == entry {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return values
}
