package servertest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
