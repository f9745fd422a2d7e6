package main

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The processor time of a process is what its usage of resources says.
func TestCPUTime(t *testing.T) {
	t.Parallel()
	var want time.Duration
	for want < 100*time.Millisecond {
		var used unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
			t.Fatal(err)
		}
		want = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	got, err := cpuTime(os.Getpid())
	if err != nil || got < want/2 || got > 2*want {
		t.Errorf("cpuTime() = %v, %v, want about %v", got, err, want)
	}
}
