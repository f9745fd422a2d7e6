package servertest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A memoryGroup is where a control group with a limit of memory may perhaps be made, and
// the file of the limit.
type memoryGroup struct{ dir, limit string }

// memoryGroups returns the group of this process and those above it, in either version of
// control groups. own is /proc/self/cgroup: "4:memory:/a" or, in version 2, "0::/a". In
// version 2 a group with processes passes no limits on, so one above has to do.
func memoryGroups(own string) (found []memoryGroup) {
	for line := range strings.Lines(own) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		root, limit := "/sys/fs/cgroup", "memory.max"
		if slices.Contains(strings.Split(controllers, ","), "memory") {
			root, limit = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if controllers != "" {
			continue
		}
		for dir := filepath.Join(root, path); len(dir) >= len(root); dir = filepath.Dir(dir) {
			found = append(found, memoryGroup{dir, limit})
		}
	}
	return found
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

// CapMemory puts the server into a control group of its own with so many bytes, below
// that of the test, until the test ends, and the server with it. It returns why the kernel
// or the user's rights do not allow that, or nil; what else goes wrong fails the test.
func (s *Server) CapMemory(t *testing.T, size int) (forbidden error) {
	t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	Must(t, err)
	forbidden = errors.New("no control group here limits memory")
	for _, g := range memoryGroups(string(own)) {
		dir, err := capIn(g.dir, g.limit, s.Cmd.Process.Pid, size)
		if err == nil {
			t.Cleanup(func() {
				s.Kill() // a group with a process cannot be removed
				if err := os.Remove(dir); err != nil {
					t.Errorf("a control group is left: %v", err)
				}
			})
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
	Must(t, err)
	_, rest, found := strings.Cut(string(text), what)
	var kib int
	if _, err := fmt.Sscanf(rest, "%d kB", &kib); !found || err != nil {
		t.Fatalf("no %s in %s", what, text)
	}
	return kib << 10
}
