package servertest

import (
	"os"
	"os/exec"
	"testing"
)

// Need returns the path of a program that a test cannot do without, and that a
// package of Debian has. Where it is missing the test is skipped, or fails if the
// variable CI is "true". What the kernel or the user's rights forbid is another
// matter: that is skipped everywhere.
func Need(t *testing.T, program, debian string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	without(t, err, debian)
	return path
}

// NeedFile is Need for a file, of which it returns the path.
func NeedFile(t *testing.T, path, debian string) string {
	t.Helper()
	_, err := os.Stat(path)
	without(t, err, debian)
	return path
}

func without(t *testing.T, err error, debian string) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("%v (Debian: %s)", err, debian)
	default:
		t.Skipf("SKIPPED: %v (Debian: %s)", err, debian)
	}
}
