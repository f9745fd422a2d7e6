package faults

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDetachedCall shows why a passing fault may end a server all the same:
// strace makes a call fail by replacing its number, and if it goes away before
// the call returns, the kernel says that there is no such call. A disk does not.
func TestDetachedCall(t *testing.T) {
	needStrace(t)
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop, left := make(chan struct{}), make(chan struct{})
	var writers sync.WaitGroup
	var once sync.Once
	for range 4 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := unix.Pwrite(int(f.Fd()), []byte("x"), 0); errors.Is(err, syscall.ENOSYS) {
						once.Do(func() { close(left) })
					}
				}
			}
		})
	}
	defer writers.Wait()
	defer close(stop)
	const most = 300
	for n := 1; n <= most; n++ {
		end, err := inject(os.Getpid(), "pwrite64", "error=ENOSPC")
		if err != nil {
			t.Fatal(err)
		}
		end()
		select {
		case <-left:
			t.Logf("the end of strace made a call fail with ENOSYS at time %d, if not before", n)
			return
		default:
		}
	}
	t.Errorf("strace ended %d times and left no call with ENOSYS: passing need not allow for it any more", most)
}
