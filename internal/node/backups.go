package node

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/sqlite"
)

const (
	// backupLayout is the name of a backup: the instant in UTC at which it was begun, so
	// that names sort in the order of time.
	backupLayout = "petstore-20060102T150405Z.db"

	// unfinishedBackup is the name of a backup until it is complete. The next one replaces
	// what a killed process has left.
	unfinishedBackup = "unfinished.db"
)

// A scheduler makes backups while the server runs, and removes the oldest ones.
type scheduler struct {
	every  time.Duration // 0: only when an operator asks
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

// interval is how often makeIfDue is to be called.
func (s *scheduler) interval() time.Duration { return s.every / 10 }

// makeIfDue makes a backup unless the newest is younger than every, give or take half an
// interval. After a failure the next call tries again.
func (s *scheduler) makeIfDue(ctx context.Context) error {
	if s.now().Sub(s.newest()) < s.every-s.interval()/2 {
		return nil
	}
	_, err := s.Start(ctx)
	if petstore.CodeOf(err) == httpapi.CodeBackupUnavailable { // an operator has one made just now
		return nil
	}
	return err
}

// newest returns when the newest backup was made, the zero time if there is none or the
// folder cannot be read. Backups whose names are in the future do not count.
func (s *scheduler) newest() time.Time {
	all, _ := s.List(context.Background())
	if len(all) == 0 || all[0].CreatedAt.After(s.now()) {
		return time.Time{}
	}
	return all[0].CreatedAt
}

// Start implements [httpapi.Backups]. It also removes the backups beyond keep.
func (s *scheduler) Start(ctx context.Context) (made httpapi.Backup, err error) {
	if !s.making.TryLock() {
		return made, petstore.Errorf(httpapi.CodeBackupUnavailable, "A backup is being made already.")
	}
	defer s.making.Unlock()
	all, err := s.List(ctx)
	if err != nil {
		return made, err
	}
	began := s.now()
	unfinished, name := filepath.Join(s.dir, unfinishedBackup), began.UTC().Format(backupLayout)
	if slices.ContainsFunc(all, func(b httpapi.Backup) bool { return b.File == name }) {
		return made, petstore.Errorf(httpapi.CodeBackupUnavailable, "A backup of this second is there already.")
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return made, err
	}
	if err := s.backup(ctx, unfinished); err != nil {
		return made, err
	}
	if err := os.Rename(unfinished, filepath.Join(s.dir, name)); err != nil {
		return made, err
	}
	s.log.Info("backup", "file", filepath.Join(s.dir, name), "ms", s.now().Sub(began).Milliseconds())
	all, err = s.List(ctx)
	for i, b := range all {
		if b.File == name {
			made = b
		}
		if i >= s.keep {
			err = errors.Join(err, os.Remove(filepath.Join(s.dir, b.File)))
		}
	}
	return made, err
}

// List implements [httpapi.Backups]. The newest comes first. Those whose names are in the
// future come last, and so are the first to be removed: the clock was wrong when they were
// made, or is wrong now. It reads the folder each time, so that it notices removed backups.
func (s *scheduler) List(context.Context) ([]httpapi.Backup, error) {
	if s.dir == "" || s.backup == nil {
		return nil, petstore.Errorf(httpapi.CodeBackupUnavailable, "This server makes no backups: it needs --backup-dir, and a SQLite file. Back PostgreSQL up with pg_dump or pg_basebackup.")
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	past, ahead := []httpapi.Backup{}, []httpapi.Backup{}
	for _, e := range slices.Backward(entries) { // sorted by name
		at, other := time.Parse(backupLayout, e.Name())
		info, removed := e.Info()
		switch {
		case other != nil || removed != nil || !info.Mode().IsRegular():
		case at.After(s.now()):
			ahead = append(ahead, httpapi.Backup{File: e.Name(), CreatedAt: at, Bytes: info.Size()})
		default:
			past = append(past, httpapi.Backup{File: e.Name(), CreatedAt: at, Bytes: info.Size()})
		}
	}
	return append(past, ahead...), nil
}
