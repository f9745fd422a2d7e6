package servertest

import (
	"testing"
	"time"
)

// Eventually waits until f returns true. It ends the test if that takes longer than
// Patience.
func Eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !f(); time.Sleep(10 * time.Millisecond) { // between two polls
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", Patience, what)
		}
	}
}
