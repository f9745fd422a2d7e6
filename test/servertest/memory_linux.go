package servertest

import (
	"bufio"
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

// A memoryGroup is a place below which a control group with a limit of memory can
// be made, of either version of control groups.
type memoryGroup struct {
	dir string
	v2  bool
}

// memoryGroups returns where this process may perhaps make a group, the nearest
// first; mounts is /proc/self/mountinfo, and own is /proc/self/cgroup. In version 2
// only a group that passes memory on to those below it will do, which the group of
// a process itself never does.
func memoryGroups(mounts, own string) (found []memoryGroup) {
	for line := range strings.Lines(mounts) {
		left, right, _ := strings.Cut(line, " - ")
		at, of := strings.Fields(left), strings.Fields(right)
		if len(at) < 5 || len(of) < 3 {
			continue
		}
		root, mount, v2 := at[3], at[4], of[0] == "cgroup2"
		if !v2 && (of[0] != "cgroup" || !slices.Contains(strings.Split(of[2], ","), "memory")) {
			continue
		}
		dir := filepath.Join(mount, strings.TrimPrefix(groupOf(own, v2), strings.TrimSuffix(root, "/")))
		for ; len(dir) >= len(mount); dir = filepath.Dir(dir) {
			if g := (memoryGroup{dir, v2}); g.passesMemory() {
				found = append(found, g)
			}
		}
	}
	return found
}

// groupOf returns the group of a process, as /proc tells it: "4:memory:/a" or, in
// version 2, "0::/a".
func groupOf(own string, v2 bool) string {
	lines := bufio.NewScanner(strings.NewReader(own))
	for lines.Scan() {
		number, rest, _ := strings.Cut(lines.Text(), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		if v2 && number == "0" && controllers == "" || !v2 && slices.Contains(strings.Split(controllers, ","), "memory") {
			return path
		}
	}
	return "/"
}

func (g memoryGroup) passesMemory() bool {
	if !g.v2 {
		return true
	}
	text, err := os.ReadFile(filepath.Join(g.dir, "cgroup.subtree_control"))
	return err == nil && slices.Contains(strings.Fields(string(text)), "memory")
}

// put moves a process into a new group with so many bytes, and returns the group.
func (g memoryGroup) put(pid, size int) (string, error) {
	dir, err := os.MkdirTemp(g.dir, "petstore-test-") // a group of an earlier process with this id may be left
	if err != nil {
		return "", err
	}
	limit := "memory.limit_in_bytes"
	if g.v2 {
		limit = "memory.max"
	}
	for _, set := range []struct {
		file  string
		value int
	}{{limit, size}, {"cgroup.procs", pid}} {
		if err := os.WriteFile(filepath.Join(dir, set.file), []byte(strconv.Itoa(set.value)), 0o600); err != nil {
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
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	own, err2 := os.ReadFile("/proc/self/cgroup")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	forbidden = errors.New("no control group here limits memory")
	for _, g := range memoryGroups(string(mounts), string(own)) {
		dir, err := g.put(pid, size)
		if err == nil {
			t.Cleanup(func() { _ = os.Remove(dir) })
			t.Logf("%d MiB in %s", size>>20, dir)
			return nil
		}
		if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			t.Fatal(err)
		}
		forbidden = err
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
