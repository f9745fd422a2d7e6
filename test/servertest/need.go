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
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v (Debian: %s)", err, debian)
		}
		t.Skipf("SKIPPED: %v (Debian: %s)", err, debian)
	}
	return path
}
