package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/sqlite"
)

// A backup is named by a prefix and the instant in UTC, so that the names sort in the
// order of time. The scheduler removes only those with scheduledPrefix.
const (
	scheduledPrefix = "petstore-"
	manualPrefix    = "manual-"
	backupLayout    = "20060102T150405Z"
	backupSuffix    = ".db"
)

// A scheduler makes backups while the server runs, and removes the oldest scheduled
// ones.
type scheduler struct {
	every  time.Duration
	dir    string
	keep   int
	now    func() time.Time
	log    *slog.Logger
	backup func(ctx context.Context, path string) error

	making sync.Mutex // held while a backup is made
}

// newScheduler returns the scheduler of the settings.
func newScheduler(c *config.Config, store Store, now func() time.Time, log *slog.Logger) *scheduler {
	s := &scheduler{every: c.Backup.Every, dir: c.Backup.Dir, keep: c.Backup.Keep, now: now, log: log}
	if _, yes := store.(FileStore); yes {
		s.backup = func(ctx context.Context, path string) error { return sqlite.Backup(ctx, c.DB, path) }
	}
	return s
}

// run removes unfinished backups of a server that was killed. Then, if there is a
// schedule, it makes a backup whenever the newest scheduled one is as old as every,
// until ctx ends. Backups whose names are in the future do not count. A failure is
// logged, and the backup is tried again after a tenth of every.
func (s *scheduler) run(ctx context.Context) {
	s.begin()
	for s.every > 0 {
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

// newest returns when the newest scheduled backup was made, the zero time if there is
// none or the folder cannot be read. It reads the folder each time, so that it also
// works after a restart, and notices removed backups.
func (s *scheduler) newest() time.Time {
	all, _ := backupsIn(s.dir, scheduledPrefix, s.now())
	if len(all) == 0 {
		return time.Time{}
	}
	at, _ := backupTime(scheduledPrefix, all[len(all)-1]) // the names are valid
	if at.After(s.now()) {
		return time.Time{}
	}
	return at
}

// due returns how long it is until the next backup.
func (s *scheduler) due() time.Duration { return s.newest().Add(s.every).Sub(s.now()) }

func (s *scheduler) begin() {
	if s.checkEnabled() != nil {
		return
	}
	s.making.Lock() // a manual backup may be under way
	defer s.making.Unlock()
	if err := s.tidy(); err != nil {
		s.log.Error("an unfinished backup could not be removed", "dir", s.dir, "err", err)
	}
}

// once makes a scheduled backup and removes those beyond keep.
func (s *scheduler) once(ctx context.Context) error {
	s.making.Lock()
	defer s.making.Unlock()
	if _, err := s.make(ctx, scheduledPrefix); err != nil {
		return err
	}
	return s.prune()
}

// make makes a backup, after it has removed unfinished ones, and returns the name of
// the file. The caller holds the mutex.
func (s *scheduler) make(ctx context.Context, prefix string) (name string, err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", err
	}
	if err := s.tidy(); err != nil {
		return "", err
	}
	began := s.now()
	name = prefix + began.UTC().Format(backupLayout) + backupSuffix
	path := filepath.Join(s.dir, name)
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	if err := s.backup(ctx, path); err != nil {
		return "", err
	}
	s.log.Info("backup", "file", path, "ms", s.now().Sub(began).Milliseconds())
	return name, nil
}

// Start implements [httpapi.Backups]. The schedule neither counts nor removes its
// backups.
func (s *scheduler) Start(ctx context.Context) (httpapi.Backup, error) {
	if err := s.checkEnabled(); err != nil {
		return httpapi.Backup{}, err
	}
	if !s.making.TryLock() {
		return httpapi.Backup{}, petstore.Errorf(httpapi.CodeBackupUnavailable, "A backup is being made already.")
	}
	defer s.making.Unlock()
	name, err := s.make(ctx, manualPrefix)
	if errors.Is(err, fs.ErrExist) { // they are named by the second
		err = petstore.Errorf(httpapi.CodeBackupUnavailable, "A backup of this second is there already.")
	}
	if err != nil {
		return httpapi.Backup{}, err
	}
	return s.info(manualPrefix, name)
}

// List implements [httpapi.Backups]. The newest comes first.
func (s *scheduler) List(context.Context) ([]httpapi.Backup, error) {
	if err := s.checkEnabled(); err != nil {
		return nil, err
	}
	all := []httpapi.Backup{}
	for _, prefix := range []string{scheduledPrefix, manualPrefix} {
		names, err := backupsIn(s.dir, prefix, s.now())
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			b, err := s.info(prefix, name)
			if errors.Is(err, fs.ErrNotExist) { // it was just removed
				continue
			}
			if err != nil {
				return nil, err
			}
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b httpapi.Backup) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, nil
}

func (s *scheduler) info(prefix, name string) (httpapi.Backup, error) {
	info, err := os.Stat(filepath.Join(s.dir, name))
	if err != nil {
		return httpapi.Backup{}, err
	}
	at, _ := backupTime(prefix, name)
	return httpapi.Backup{File: name, CreatedAt: at, Bytes: info.Size()}, nil
}

// checkEnabled returns CodeBackupUnavailable unless the server can make backups.
func (s *scheduler) checkEnabled() error {
	if s.dir == "" || s.backup == nil {
		return petstore.Errorf(httpapi.CodeBackupUnavailable, "This server makes no backups: it needs --backup-dir, and a SQLite file. Back PostgreSQL up with pg_dump or pg_basebackup.")
	}
	return nil
}

// tidy removes unfinished backups.
func (s *scheduler) tidy() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, e := range entries {
		name, partial := strings.CutSuffix(e.Name(), sqlite.Partial)
		_, scheduled := backupTime(scheduledPrefix, name)
		_, manual := backupTime(manualPrefix, name)
		if partial && (scheduled || manual) {
			errs = append(errs, os.Remove(filepath.Join(s.dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// prune removes the scheduled backups beyond keep.
func (s *scheduler) prune() error {
	all, err := backupsIn(s.dir, scheduledPrefix, s.now())
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

// backupsIn returns the names of the backups in a folder with a prefix, in the order in
// which they were made. Those with names after now come first. It ignores all other
// files.
func backupsIn(dir, prefix string, now time.Time) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var past, ahead []string
	for _, e := range entries { // sorted by name
		at, ok := backupTime(prefix, e.Name())
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

// backupTime returns the instant in the name of a backup, and whether the name is
// valid.
func backupTime(prefix, name string) (time.Time, bool) {
	text, ok := strings.CutPrefix(name, prefix)
	text, ends := strings.CutSuffix(text, backupSuffix)
	at, err := time.Parse(backupLayout, text)
	return at, ok && ends && err == nil && at.Format(backupLayout) == text // time.Parse takes fractions too
}
