package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/petstore/internal/sqlite"
)

// The names of scheduled backups: the instant in UTC, so that they sort by it.
const (
	backupPrefix = "petstore-"
	backupLayout = "20060102T150405Z"
	backupSuffix = ".db"
)

// A scheduler makes backups beside the requests and removes the oldest.
type scheduler struct {
	every  time.Duration
	dir    string
	keep   int
	now    func() time.Time
	log    *slog.Logger
	backup func(ctx context.Context, path string) error
}

// backups returns the scheduler of the settings.
func (n *node) backups() *scheduler {
	b := n.Config.Backup
	return &scheduler{every: b.Every, dir: b.Dir, keep: b.Keep, now: n.now, log: n.log, backup: n.backUp}
}

// backUp copies the database to a file; settings allow it for SQLite alone.
func (n *node) backUp(ctx context.Context, path string) error {
	file, yes := n.store.(FileStore)
	if !yes {
		return errors.New("only SQLite is backed up by the server")
	}
	return file.Backup(ctx, path)
}

// run makes a backup whenever the newest one is as old as every, until ctx
// ends. One that is named by an instant in the future does not count. A failure is logged, and tried again a tenth of that time later.
func (s *scheduler) run(ctx context.Context) {
	for {
		wait := s.due()
		if wait <= 0 {
			wait = s.every
			if err := s.once(ctx); err != nil {
				if ctx.Err() != nil {
					return
				}
				wait = s.every / 10
				s.log.Error("the scheduled backup failed", "dir", s.dir, "again", wait.String(), "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// due returns how long it is until the next backup.
func (s *scheduler) due() time.Duration {
	newest, _, err := LatestBackup(s.dir, s.now())
	if err != nil || newest.IsZero() {
		return 0
	}
	return newest.Add(s.every).Sub(s.now())
}

// once makes a backup and removes those beyond keep, and what a server that was
// killed left unfinished.
func (s *scheduler) once(ctx context.Context) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := s.tidy(); err != nil {
		return err
	}
	began := s.now()
	path := filepath.Join(s.dir, backupPrefix+began.UTC().Format(backupLayout)+backupSuffix)
	if err := s.backup(ctx, path); err != nil {
		return err
	}
	s.log.Info("backup", "file", path, "ms", s.now().Sub(began).Milliseconds())
	return s.prune()
}

func (s *scheduler) tidy() error {
	partial, err := filepath.Glob(filepath.Join(s.dir, backupPrefix+"*"+backupSuffix+sqlite.Partial))
	for _, path := range partial {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

func (s *scheduler) prune() error {
	all, err := backupsIn(s.dir, s.now())
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range all[:max(len(all)-s.keep, 0)] {
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
			errs = append(errs, fmt.Errorf("an old backup could not be removed: %w", err))
		}
	}
	return errors.Join(errs...)
}

// LatestBackup returns when the newest scheduled backup of a folder was made, the
// zero time if it has none or does not exist, and how many are named by an instant
// after now: the clock was wrong when they were made, or is.
func LatestBackup(dir string, now time.Time) (newest time.Time, ahead int, err error) {
	all, err := backupsIn(dir, now)
	if err != nil {
		return time.Time{}, 0, err
	}
	for _, name := range all {
		if at, _ := madeAt(name); at.After(now) { // backupsIn knows it
			ahead++
		} else {
			newest = at
		}
	}
	return newest, ahead, nil
}

// backupsIn returns the names of the scheduled backups of a folder, in the order in
// which they were made: those that are named by an instant after now come first. It
// leaves out every other file.
func backupsIn(dir string, now time.Time) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var past, ahead []string
	for _, e := range entries { // sorted by name
		at, ok := madeAt(e.Name())
		switch {
		case !ok || !e.Type().IsRegular():
		case at.After(now):
			ahead = append(ahead, e.Name())
		default:
			past = append(past, e.Name())
		}
	}
	return append(ahead, past...), nil
}

// madeAt returns the instant that the name of a scheduled backup says.
func madeAt(name string) (time.Time, bool) {
	text, ok := strings.CutPrefix(name, backupPrefix)
	text, ends := strings.CutSuffix(text, backupSuffix)
	at, err := time.Parse(backupLayout, text)
	return at, ok && ends && err == nil && at.Format(backupLayout) == text // time.Parse takes fractions too
}
