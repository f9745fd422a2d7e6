package node

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// newTestScheduler returns a scheduler that keeps two backups of no database.
func newTestScheduler(dir string, now func() time.Time) *scheduler {
	return &scheduler{
		every: time.Hour, dir: dir, keep: 2, now: now, log: slog.New(slog.DiscardHandler),
		backup: func(_ context.Context, path string) error { return os.WriteFile(path, nil, 0o600) },
	}
}

func TestSchedulerKeepsTheLatest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"unfinished.db", "notes.txt", "petstore-old.db"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Minute) // of the bubble's clock: at 0, 1 and 2 hours
		defer cancel()
		s := newTestScheduler(dir, time.Now)
		chore{s.interval(), "failed", s.makeIfDue}.run(ctx, s.log)
	})
	want := []string{"notes.txt", "petstore-20000101T010000Z.db", "petstore-20000101T020000Z.db", "petstore-old.db"}
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
}

// TestSchedulerAfterWrongClock: a backup that is named in the future neither puts
// the next one off nor keeps newer ones from being kept.
func TestSchedulerAfterWrongClock(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"an hour": time.Hour, "a day": 24 * time.Hour, "a year": 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			s := newTestScheduler(t.TempDir(), func() time.Time { return now })
			now = now.Add(off)
			must(t, s.makeIfDue(t.Context()))
			now = now.Add(-off - s.every)
			for range 3 {
				now = now.Add(s.every)
				must(t, s.makeIfDue(t.Context()))
				if newest := s.newest(); !newest.Equal(now) {
					t.Errorf("newest() = %s, want %s", newest, now)
				}
			}
			now = now.Add(s.every / 2)
			must(t, s.makeIfDue(t.Context()))
			if all, err := s.List(t.Context()); err != nil || len(all) != s.keep || !all[0].CreatedAt.Equal(now.Add(-s.every/2)) {
				t.Errorf("half an hour later there are %v, %v, want %d of before", all, err, s.keep)
			}
			if b, err := s.Start(t.Context()); err != nil || !b.CreatedAt.Equal(now) {
				t.Errorf("Start = %v, %v, want one of %v", b, err, now)
			}
			if b, err := s.Start(t.Context()); !strings.Contains(fmt.Sprint(err), "of this second") {
				t.Errorf("Start in the same second = %v, %v, want a refusal", b, err)
			}
		})
	}
}

// TestBackupMeetsAnother: a scheduled backup that is due while an operator's is made has not failed.
func TestBackupMeetsAnother(t *testing.T) {
	t.Parallel()
	s := newTestScheduler(t.TempDir(), time.Now)
	s.making.Lock()
	must(t, s.makeIfDue(t.Context()))
	s.making.Unlock()
	must(t, s.makeIfDue(t.Context()))
	if s.newest().IsZero() {
		t.Error("the next call has made no backup")
	}
}

// TestBackupFigure: the console says the interval as an operator would write it.
func TestBackupFigure(t *testing.T) {
	t.Parallel()
	s := newTestScheduler(t.TempDir(), time.Now)
	for every, want := range map[time.Duration]string{24 * time.Hour: "24h", 10 * time.Minute: "10m", 90 * time.Minute: "1h30m", 100 * time.Second: "1m40s"} {
		s.every = every
		if f := s.figure(t.Context(), time.Now()); f.Value != "none yet, one every "+want {
			t.Errorf("figure() = %q, want one every %s", f.Value, want)
		}
	}
}

// TestNoBackupYet: the alert takes 0 for none.
func TestNoBackupYet(t *testing.T) {
	t.Parallel()
	n, m := &node{store: openStore(t), backups: newTestScheduler(t.TempDir(), time.Now)}, newMetrics("")
	m.MustRegister(collector(n.collectStore))
	_, _, body := get(t, probes(nil, m.Registry, slog.New(slog.DiscardHandler)), "/metrics")
	if !strings.Contains(body, "\npetstore_backup_newest_timestamp_seconds 0\n") {
		t.Errorf("the metrics of a server without a backup are\n%s", body)
	}
}
