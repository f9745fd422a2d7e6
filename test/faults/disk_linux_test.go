package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"example.com/petstore/test/servertest"
)

// A loop is a filesystem in a file, mounted through a loop device.
type loop struct{ image, mount string }

// newLoop makes a filesystem of a size, until the test ends. It skips the test
// where that cannot be done.
func newLoop(t *testing.T, kind string, size int64) *loop {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root may mount a filesystem")
	}
	servertest.Need(t, "mkfs."+kind, map[string]string{"ext4": "e2fsprogs", "xfs": "xfsprogs"}[kind])
	l := &loop{filepath.Join(t.TempDir(), "image"), t.TempDir()}
	must(t, os.WriteFile(l.image, nil, 0o600))
	if err := os.Truncate(l.image, size); err != nil { // sparse
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs."+kind, "-q", l.image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.%s: %v: %s", kind, err, out)
	}
	if err := l.attach(); err != nil {
		t.Skipf("SKIPPED: %s cannot be mounted: %v", kind, err)
	}
	t.Cleanup(func() { _ = l.close() })
	return l
}

func (l *loop) attach() error { return command("mount", "-o", "loop", l.image, l.mount) }

func (l *loop) close() error { return command("umount", l.mount) }

// cut shuts the filesystem down without writing anything more.
func (l *loop) cut() error {
	const (
		shutdown   = 0x8004587d // FS_IOC_SHUTDOWN
		noLogFlush = 2
	)
	f, err := os.Open(l.mount)
	if err != nil {
		return err
	}
	defer f.Close()
	how := uint32(noLogFlush)
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), shutdown, uintptr(unsafe.Pointer(&how))); e != 0 {
		return fmt.Errorf("the filesystem cannot be shut down: %w", e)
	}
	return nil
}

// powerCuts is the campaign in which the disk forgets what was not synchronized, the
// process ends, and both start again. The process is frozen first: without power nothing
// is acknowledged, and a filesystem tells an fsync that its shutdown overtakes now
// and then that it succeeded.
func powerCuts(l *loop) campaign {
	return campaign{dir: l.mount, fault: func(r *run) error {
		if err := freeze(r.server.Cmd.Process.Pid); err != nil {
			return err
		}
		if err := l.cut(); err != nil {
			return err
		}
		r.server.Kill()
		if err := l.remount(); err != nil {
			return err
		}
		return r.start()
	}}
}

// freeze stops every thread of a process but those that are inside of the
// filesystem: these stop when they come out.
func freeze(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(servertest.Patience); time.Now().Before(deadline); time.Sleep(100 * time.Microsecond) { // between two polls
		if runs, err := running(pid); err != nil || !runs {
			return err
		}
	}
	return fmt.Errorf("the process %d could not be frozen", pid)
}

// running reports whether a thread of a process is neither stopped nor in an
// uninterruptible call.
func running(pid int) (bool, error) {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if len(stats) == 0 {
		return false, fmt.Errorf("the process %d has no threads: %w", pid, errors.Join(err, fs.ErrNotExist))
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the thread has ended
		} else if err != nil {
			return false, err
		}
		_, state, _ := bytes.Cut(text, []byte(") ")) // after the name
		if len(state) == 0 || state[0] != 'T' && state[0] != 'D' {
			return true, nil
		}
	}
	return false, nil
}

// remount brings the filesystem back as after a power cut.
func (l *loop) remount() error {
	err := l.close()
	for deadline := time.Now().Add(servertest.Patience); err != nil && time.Now().Before(deadline); err = l.close() { // a killed process may still let go of its files
		time.Sleep(10 * time.Millisecond) // between two polls
	}
	return errors.Join(err, l.attach())
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("%s: %s", name, out), err)
	}
	return nil
}
