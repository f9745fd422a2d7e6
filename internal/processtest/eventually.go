package processtest

import (
	"testing"
	"time"
)

// Eventually waits until is returns true. It ends the test if that takes longer than half a minute, which is far more than
// a busy machine needs.
func Eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(2 * time.Millisecond) { // between two polls
		if time.Now().After(deadline) {
			tb.Fatalf("not within half a minute: %s", what)
		}
	}
}

// Must ends the test if err is not nil.
func Must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
