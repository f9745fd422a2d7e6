package servertest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// memoryGroups are where a control group with a limit of memory can be made, and the file
// of the limit, in either version of control groups.
var memoryGroups = []struct{ dir, limit string }{
	{"/sys/fs/cgroup", "memory.max"},
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
}

// capIn moves a process into a new group below dir with so many bytes, and returns it.
func capIn(dir, limit string, pid, size int) (string, error) {
	dir, err := os.MkdirTemp(dir, "petstore-test-") // a group of an earlier process with this id may be left
	if err != nil {
		return "", err
	}
	for _, set := range []struct {
		file  string
		value int
	}{{limit, size}, {"cgroup.procs", pid}} {
		f, err := os.OpenFile(filepath.Join(dir, set.file), os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(strconv.Itoa(set.value))
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return "", errors.Join(err, os.Remove(dir))
		}
	}
	return dir, nil
}

// CapMemory puts a process into a control group of its own with so many bytes. It
// returns why the kernel or the user's rights do not allow that, or nil; what else
// goes wrong fails the test.
func CapMemory(t *testing.T, pid, size int) (forbidden error) {
	t.Helper()
	for _, g := range memoryGroups {
		dir, err := capIn(g.dir, g.limit, pid, size)
		if err == nil {
			t.Cleanup(func() { _ = os.Remove(dir) })
			t.Logf("%d MiB in %s", size>>20, dir)
			return nil
		}
		if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EROFS) {
			t.Fatal(err)
		}
		forbidden = errors.Join(forbidden, err)
	}
	return forbidden
}

// PeakMemory returns the most bytes that a process had in memory, without what is there of
// files, such as its program: the kernel can drop that.
func PeakMemory(t *testing.T, pid int) int {
	t.Helper()
	return MemoryOf(t, pid, "VmHWM:") - MemoryOf(t, pid, "RssFile:")
}

// MemoryOf returns so much of /proc/PID/status in bytes.
func MemoryOf(t *testing.T, pid int, what string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), what)
	var kib int
	if _, err := fmt.Sscanf(rest, "%d kB", &kib); !found || err != nil {
		t.Fatalf("no %s in %s", what, text)
	}
	return kib << 10
}
