package servertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// racy writes a variable from two goroutines, and then ends itself as a kill
// does, or in good order.
const racy = `package main

import (
	"os"
	"syscall"
)

func main() {
	n, done := 0, make(chan bool)
	go func() { n++; done <- true }()
	n++
	<-done
	if len(os.Args) > 1 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}
`

// TestRaces holds that a race in a process is found, whichever way that ends.
func TestRaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := Binary(filepath.Join(dir, "racy"))
	if err := os.WriteFile(string(b)+".go", []byte(racy), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-race", "-o", string(b), string(b)+".go").CombinedOutput(); err != nil { //nolint:gosec // the paths are the test's own
		t.Skipf("SKIPPED: no race detector here: %v\n%s", err, out)
	}
	if err := b.makeReports(); err != nil {
		t.Fatal(err)
	}
	if err := b.races(); err != nil {
		t.Errorf("races() of nothing = %v, want nil", err)
	}
	for n, args := range [][]string{nil, {"killed"}} {
		if _, err := b.Run(dir, args...); err == nil {
			t.Errorf("the racy program %q ended well", args)
		}
		if err := b.races(); err == nil || strings.Count(err.Error(), "WARNING: DATA RACE") != n+1 {
			t.Errorf("races() = %v, want %d reports", err, n+1)
		}
	}
}
