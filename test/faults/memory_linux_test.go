package faults

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
	dir := filepath.Join(g.dir, fmt.Sprintf("petstore-test-%d", pid))
	if err := os.Mkdir(dir, 0o755); err != nil {
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

// capMemory puts a process into a control group of its own with so many bytes. It
// returns why the kernel or the user's rights do not allow that, or nil; what else
// goes wrong fails the test.
func capMemory(t *testing.T, pid, size int) (forbidden error) {
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

// peakMemory returns the most bytes that a process had in memory.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	return memoryOf(t, pid, "VmHWM:")
}

// memoryOf returns so much of /proc/PID/status in bytes.
func memoryOf(t *testing.T, pid int, what string) int {
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

// TestMemoryGroups finds the group in what /proc says on machines of each kind.
// The folders are in place of /sys/fs/cgroup, which has one kind only.
func TestMemoryGroups(t *testing.T) {
	sys := t.TempDir()
	for dir, passed := range map[string]string{
		"": "cpu memory pids", "user.slice": "memory pids", "user.slice/session-1.scope": "",
		"unified": "", "memory": "", "memory/job": "",
	} {
		if err := os.MkdirAll(filepath.Join(sys, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sys, dir, "cgroup.subtree_control"), []byte(passed+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const (
		plain = "24 1 0:22 / /tmp rw - tmpfs tmpfs rw\n"
		v1    = "33 30 0:29 / SYS/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n31 30 0:27 / SYS/cpu rw - cgroup cgroup rw,cpu\n"
	)
	for _, test := range []struct {
		name, mounts, own string
		want              []string
	}{
		{"version 2", plain + "35 24 0:30 / SYS rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n", "0::/user.slice/session-1.scope\n", []string{"user.slice", ""}},
		{"version 1", plain + v1, "4:memory:/job\n1:cpu:/\n", []string{"memory/job", "memory"}},
		{"both, memory in version 1", v1 + "40 30 0:31 / SYS/unified rw - cgroup2 cgroup2 rw\n", "4:memory:/job\n0::/\n", []string{"memory/job", "memory"}},
		{"a container, version 1", strings.ReplaceAll(v1, " / SYS", " /docker/1 SYS"), "4:memory:/docker/1\n", []string{"memory"}},
		{"none", plain, "0::/\n", nil},
	} {
		var got []string
		for _, g := range memoryGroups(strings.ReplaceAll(test.mounts, "SYS", sys), test.own) {
			dir, err := filepath.Rel(sys, g.dir)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimPrefix(dir, "."))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: memoryGroups = %q, want %q", test.name, got, test.want)
		}
	}
}
