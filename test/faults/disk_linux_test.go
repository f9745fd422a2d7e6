package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// A loop is a filesystem in a file, mounted through a loop device.
type loop struct{ image, mount string }

// newLoop makes a filesystem, until the test ends. It skips the test where that
// cannot be done.
func newLoop(t *testing.T, kind string) *loop {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: power cuts need root, to mount a filesystem")
	}
	if _, err := exec.LookPath("mkfs." + kind); err != nil {
		t.Skipf("SKIPPED: power cuts on %s: %v", kind, err)
	}
	l := &loop{filepath.Join(t.TempDir(), "image"), t.TempDir()}
	if err := os.WriteFile(l.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(l.image, 1<<30); err != nil { // sparse
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs."+kind, "-q", l.image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.%s: %v: %s", kind, err, out)
	}
	if err := l.attach(); err != nil {
		t.Skipf("SKIPPED: power cuts on %s: %v", kind, err)
	}
	t.Cleanup(func() { _ = l.close() })
	return l
}

func (l *loop) attach() error { return command("mount", "-o", "loop", l.image, l.mount) }

func (l *loop) dir() string { return l.mount }

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

// remount brings the filesystem back as after a power cut.
func (l *loop) remount() error {
	var err error
	for range 100 { // a killed process may still let go of its files
		if err = l.close(); err == nil {
			return l.attach()
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("%s: %s", name, out), err)
	}
	return nil
}
