package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/sqlite"
)

// A backup is named by its kind and the instant in UTC, so that the names of a kind sort
// in the order of time. The schedule counts and removes only those that it has made.
const (
	scheduledPrefix = "petstore-"
	manualPrefix    = "manual-"
	backupLayout    = "20060102T150405Z"
	backupSuffix    = ".db"
)

var backupName = regexp.MustCompile(`^(petstore-|manual-)(\d{8}T\d{6}Z)\.db(` + regexp.QuoteMeta(sqlite.Partial) + `)?$`)

// A backupFile is a file in the folder of backups.
type backupFile struct {
	name      string
	at        time.Time
	scheduled bool
	partial   bool // it was not completed
}

// backupsIn returns the backups in a folder, those of a kind in the order of time. It
// ignores all other files. There are none if there is no folder.
func backupsIn(dir string) (all []backupFile, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries { // sorted by name
		if m := backupName.FindStringSubmatch(e.Name()); m != nil && e.Type().IsRegular() {
			if at, err := time.Parse(backupLayout, m[2]); err == nil {
				all = append(all, backupFile{m[0], at, m[1] == scheduledPrefix, m[3] != ""})
			}
		}
	}
	return all, nil
}

// scheduledIn returns the scheduled backups in a folder, the oldest first. Of those that
// are ahead, the names are after now: the clock was wrong when they were made, or is
// wrong now.
func scheduledIn(dir string, now time.Time) (past, ahead []backupFile, err error) {
	all, err := backupsIn(dir)
	for _, b := range all {
		switch {
		case !b.scheduled || b.partial:
		case b.at.After(now):
			ahead = append(ahead, b)
		default:
			past = append(past, b)
		}
	}
	return past, ahead, err
}

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
	if _, yes := store.(*sqlite.DB); yes {
		s.backup = func(ctx context.Context, path string) error { return sqlite.Backup(ctx, c.DB, path) }
	}
	return s
}

// run makes a backup whenever the newest scheduled one is as old as every, if there is a
// schedule, until ctx ends. Backups whose names are in the future do not count. A failure
// is logged, and the backup is tried again after a tenth of every.
func (s *scheduler) run(ctx context.Context) {
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
	if past, _, _ := scheduledIn(s.dir, s.now()); len(past) > 0 {
		return past[len(past)-1].at
	}
	return time.Time{}
}

// due returns how long it is until the next backup.
func (s *scheduler) due() time.Duration { return s.newest().Add(s.every).Sub(s.now()) }

// once makes a scheduled backup and removes those beyond keep, the ones that are ahead
// first.
func (s *scheduler) once(ctx context.Context) error {
	s.making.Lock()
	defer s.making.Unlock()
	if _, err := s.make(ctx, scheduledPrefix); err != nil {
		return err
	}
	past, ahead, err := scheduledIn(s.dir, s.now())
	all := slices.Concat(ahead, past)
	return errors.Join(err, s.remove(all[:max(len(all)-s.keep, 0)]))
}

func (s *scheduler) remove(all []backupFile) error {
	var errs []error
	for _, b := range all {
		if err := os.Remove(filepath.Join(s.dir, b.name)); err != nil {
			errs = append(errs, fmt.Errorf("an old backup could not be removed: %w", err))
		}
	}
	return errors.Join(errs...)
}

// make makes a backup, after it has removed unfinished ones, and returns the name of
// the file. The caller holds the mutex.
func (s *scheduler) make(ctx context.Context, prefix string) (name string, err error) {
	all, err := backupsIn(s.dir)
	if err != nil {
		return "", err
	}
	if err := s.remove(slices.DeleteFunc(all, func(b backupFile) bool { return !b.partial })); err != nil {
		return "", err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
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
	all, err := s.List(ctx)
	if at := slices.IndexFunc(all, func(b httpapi.Backup) bool { return b.File == name }); at >= 0 {
		return all[at], nil
	}
	return httpapi.Backup{}, cmp.Or(err, fs.ErrNotExist)
}

// List implements [httpapi.Backups]. The newest comes first.
func (s *scheduler) List(context.Context) ([]httpapi.Backup, error) {
	if err := s.checkEnabled(); err != nil {
		return nil, err
	}
	files, err := backupsIn(s.dir)
	if err != nil {
		return nil, err
	}
	all := []httpapi.Backup{}
	for _, b := range files {
		if info, err := os.Stat(filepath.Join(s.dir, b.name)); err == nil && !b.partial { // else it was just removed
			all = append(all, httpapi.Backup{File: b.name, CreatedAt: b.at, Bytes: info.Size()})
		}
	}
	slices.SortStableFunc(all, func(a, b httpapi.Backup) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, nil
}

// checkEnabled returns CodeBackupUnavailable unless the server can make backups.
func (s *scheduler) checkEnabled() error {
	if s.dir == "" || s.backup == nil {
		return petstore.Errorf(httpapi.CodeBackupUnavailable, "This server makes no backups: it needs --backup-dir, and a SQLite file. Back PostgreSQL up with pg_dump or pg_basebackup.")
	}
	return nil
}
