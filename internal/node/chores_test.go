package node

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestKeepSaving: what was counted is saved each interval, and once more at the end, which breaks no save off: of one that is
// broken off nobody may know whether it was done. Only its time-out does.
func TestKeepSaving(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		takes  time.Duration
		failed bool
		atMost time.Duration // from the end on
	}{
		{3 * time.Second, false, 6 * time.Second},
		{time.Hour, true, 2 * saveTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			saves, done := 0, make(chan error, 1)
			go func() {
				done <- keepSaving(ctx, 10*time.Second, func(ctx context.Context) error {
					select {
					case <-time.After(test.takes):
						saves++
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				})
			}()
			time.Sleep(11 * time.Second) // in the second save
			cancel()
			began := time.Now()
			err := <-done
			if took := time.Since(began); errors.Is(err, context.DeadlineExceeded) != test.failed || took > test.atMost || !test.failed && saves != 3 {
				t.Errorf("saves of %v: %d were made, the last with %v, %v after the end; want a failure: %v, after %v at most", test.takes, saves, err, took, test.failed, test.atMost)
			}
		})
	}
}
