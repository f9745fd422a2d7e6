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

// TestChoreLogsFailures: those in a row whose text is another, and that the chore works again.
func TestChoreLogsFailures(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	outcomes := []string{"", "away", "away", "full", "", "", "full", "the end"}
	chore{time.Nanosecond, "it failed", func(context.Context) error {
		outcome := outcomes[0]
		if outcomes = outcomes[1:]; len(outcomes) == 0 {
			cancel()
		}
		if outcome == "" {
			return nil
		}
		return errors.New(outcome)
	}}.run(ctx, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: withoutTime})))
	want := `level=ERROR msg="it failed" err=away
level=ERROR msg="it failed" err=full
level=INFO msg="it works again" before="it failed"
level=ERROR msg="it failed" err=full
`
	if got := log.String(); got != want {
		t.Errorf("the log is\n%swant\n%s", got, want)
	}
}

// withoutTime removes the time from a line of the log.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// TestKeepSavingLogs: a failed save is in the log before the end.
func TestKeepSavingLogs(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	saves := 0
	err := keepSaving(ctx, slog.New(slog.NewTextHandler(&log, nil)), chore{time.Nanosecond, "counts could not be saved", func(context.Context) error {
		if saves++; saves == 2 {
			cancel()
		}
		return errors.New("full")
	}})
	if got := log.String(); strings.Count(got, `"counts could not be saved" err=full`) != 1 || err == nil || err.Error() != "the last counts could not be saved: full" {
		t.Errorf("keepSaving = %v, and the log is %q, want the first failure in the log and the last as the error", err, got)
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
				done <- keepSaving(ctx, slog.New(slog.DiscardHandler), chore{10 * time.Second, "counts could not be saved", func(ctx context.Context) error {
					select {
					case <-time.After(test.takes):
						saves++
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}})
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
