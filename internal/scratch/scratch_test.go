package scratch_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/scratch"
)

// TestMain is also a process that makes a folder and is killed.
func TestMain(m *testing.M) {
	if os.Getenv("SCRATCH_UNTIL_KILLED") == "" {
		os.Exit(m.Run())
	}
	f, err := scratch.Make("test")
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(f.Path, "copy.db"), make([]byte, 1<<16), 0o600); err != nil {
		panic(err)
	}
	os.Stdout.WriteString(f.Path + "\n") //nolint:errcheck,gosec // who waits for it finds out
	select {}
}

// TestSweep: the folder of a process stays while that runs, goes after it was killed, and nothing else goes.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, other := range []string{"petstore-2/sub", "unlike"} {
		must(t, os.MkdirAll(filepath.Join(dir, other), 0o700))
	}
	must(t, os.Symlink(filepath.Join(dir, "unlike"), filepath.Join(dir, "petstore-scratch-link")))
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "SCRATCH_UNTIL_KILLED=1")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	left := line[:len(line)-1]
	mine, err := scratch.Make("test")
	must(t, err)
	if _, err := os.Stat(left); err != nil {
		t.Errorf("the folder of a process that runs is gone: %v", err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	scratch.Sweep()
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the folder of a process that was killed: %v, want none", err)
	}
	if _, err := os.Stat(mine.Path); err != nil {
		t.Errorf("our own folder is gone: %v", err)
	}
	if err := mine.Remove(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("there are %v, %v, want the three that are not ours", entries, err)
	}
}

// must ends the test if err is not nil.
var must = processtest.Must
