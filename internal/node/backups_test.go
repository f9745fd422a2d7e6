package node

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSchedulerKeepsTheLatest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"petstore-20000101T000000Z.db.partial", "manual-20000101T000000Z.db.partial", "notes.txt", "petstore-old.db"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		made, ended := 0, make(chan struct{})
		s := &scheduler{every: time.Hour, dir: dir, keep: 2, now: time.Now, log: slog.New(slog.DiscardHandler),
			backup: func(_ context.Context, path string) error {
				made++
				return os.WriteFile(path, nil, 0o600)
			}}
		go func() {
			defer close(ended)
			s.run(ctx)
		}()
		time.Sleep(150 * time.Minute) // of the bubble's clock: at 0, 1 and 2 hours
		cancel()
		<-ended
		if made != 3 {
			t.Errorf("%d backups were made, want 3", made)
		}
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

// TestManualBackupsStay: what an operator asks for pushes no scheduled backup out, puts
// none off, and is listed beside them.
func TestManualBackupsStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &scheduler{every: time.Hour, dir: dir, keep: 2, now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler),
		backup: func(_ context.Context, path string) error { return os.WriteFile(path, nil, 0o600) }}
	listed := func() (files []string) {
		t.Helper()
		all, err := s.List(t.Context())
		must(t, err)
		for _, b := range all {
			files = append(files, b.File)
		}
		return files
	}
	schedule := func() {
		t.Helper()
		must(t, s.once(t.Context()))
		now = now.Add(time.Hour)
	}
	schedule()
	schedule()
	for range 3 {
		if b, err := s.Start(t.Context()); err != nil || !b.CreatedAt.Equal(now) {
			t.Fatalf("Start = %v, %v, want one of %v", b, err, now)
		}
		now = now.Add(time.Second)
	}
	want := []string{
		"manual-20260301T140002Z.db", "manual-20260301T140001Z.db", "manual-20260301T140000Z.db",
		"petstore-20260301T130000Z.db", "petstore-20260301T120000Z.db",
	}
	if got := listed(); !slices.Equal(got, want) {
		t.Errorf("after those by hand there are %v, want %v", got, want)
	}
	if wait := s.due(); wait > 0 {
		t.Errorf("the next scheduled backup is due in %v, want now", wait)
	}
	schedule()
	want = append([]string{"petstore-20260301T140003Z.db"}, want[:4]...)
	if got := listed(); !slices.Equal(got, want) {
		t.Errorf("after the next scheduled one there are %v, want %v", got, want)
	}
}

// TestSchedulerAfterWrongClock: a backup that is named in the future neither puts
// the next one off nor keeps newer ones from being kept.
func TestSchedulerAfterWrongClock(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"an hour": time.Hour, "a day": 24 * time.Hour, "a year": 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			s := &scheduler{every: 30 * time.Minute, dir: dir, keep: 2, now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler),
				backup: func(_ context.Context, path string) error { return os.WriteFile(path, nil, 0o600) }}
			backUp := func() {
				t.Helper()
				if wait := s.due(); wait > 0 {
					t.Errorf("at %s the next backup is due in %v, want now", now, wait)
				}
				must(t, s.once(t.Context()))
			}
			now = now.Add(off)
			backUp()
			now = now.Add(-off)
			for range 3 {
				backUp()
				if wait := s.due(); wait != s.every {
					t.Errorf("after a backup the next one is due in %v, want %v", wait, s.every)
				}
				now = now.Add(s.every)
			}
			if newest := s.newest(); !newest.Equal(now.Add(-s.every)) {
				t.Errorf("newest() = %s, want %s", newest, now.Add(-s.every))
			}
			if all, err := backupsIn(dir); err != nil || len(all) != s.keep {
				t.Errorf("the folder has %v, %v, want %d backups", all, err, s.keep)
			}
		})
	}
}

// TestNoBackupYet: the alert takes 0 for none.
func TestNoBackupYet(t *testing.T) {
	t.Parallel()
	n, m := &node{store: openStore(t), backups: &scheduler{every: time.Hour, dir: t.TempDir(), now: time.Now}}, newMetrics("")
	m.MustRegister(collector(n.collectStore))
	_, _, body := get(t, probes(nil, m, slog.New(slog.DiscardHandler)), "/metrics")
	if !strings.Contains(body, "\npetstore_backup_newest_timestamp_seconds 0\n") {
		t.Errorf("the metrics of a server without a backup are\n%s", body)
	}
}
