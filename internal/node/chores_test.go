package node

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestChoreLogsFailures: the first of those in a row.
func TestChoreLogsFailures(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	outcomes := []error{errors.New("away"), errors.New("still away"), nil, errors.New("away again"), nil}
	chore{time.Nanosecond, "it failed", func(context.Context) (err error) {
		err, outcomes = outcomes[0], outcomes[1:]
		if len(outcomes) == 0 {
			cancel()
		}
		return err
	}}.run(ctx, slog.New(slog.NewTextHandler(&log, nil)))
	if got := log.String(); strings.Count(got, "it failed") != 2 || strings.Contains(got, "still") {
		t.Errorf("the log is %q, want the first failure of both rows", got)
	}
}

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
				done <- keepSaving(ctx, 10*time.Second, "counts", func(ctx context.Context) error {
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
