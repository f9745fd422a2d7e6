package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"example.com/petstore/internal/store"
)

// Open opens the database in the file path. Unless o says otherwise it creates
// the file, readable by its owner alone, and brings it up to date. ctx bounds
// the opening, not the DB.
//
// Errors are one line that begins with the path. A file of another program, or
// made by a newer version of this one, or one that was moved to another database, is
// refused and left as it is.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	db, err := open(ctx, path, o.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	go db.write()
	go func() {
		defer close(db.committed)
		db.CommitChanges()
	}()
	if o.Serve {
		db.watcher.running.Go(db.watchFiles)
	}
	return db, nil
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Readers <= 0 {
		o.Readers = max(4, 2*runtime.GOMAXPROCS(0))
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func open(ctx context.Context, path string, o Options) (*DB, error) {
	path, err := prepareFile(path, o)
	if err != nil {
		return nil, err
	}
	lock, err := o.claim(ctx, path)
	if err != nil {
		return nil, err
	}
	db := &DB{
		waiting: o.Waiting, watcher: watcher{lock: lock, stop: make(chan struct{})},
		path: path, now: o.Now, log: o.Log, readOnly: o.ReadOnly,
		stopped: make(chan struct{}), committed: make(chan struct{}),
		count:  o.Readers,
		closed: make(chan struct{}),
		fault:  fault{failed: make(chan struct{})},
	}
	db.Store = store.New(engine{db}, store.Options{
		Dialect: dialect, Now: o.Now, NoEvents: o.NoEvents, Written: db.Ring,
	})
	db.queue = store.NewQueue[job](nil)
	db.readers = newStack(o.Readers)
	if err := db.connect(ctx, o); err != nil {
		_ = db.disconnect() // the first failure is what counts
		return nil, explain(err)
	}
	return db, nil
}

// connect opens all connections, the writer's first: it creates and migrates.
func (db *DB) connect(ctx context.Context, o Options) (err error) {
	if db.writer, err = openConn(db.path, o.ReadOnly); err != nil {
		return err
	}
	if err := db.writer.refuseMoved(); err != nil {
		return err
	}
	if err := db.writer.becomeCurrent(ctx, o); err != nil {
		return err
	}
	if err := db.writer.refuseMoved(); err != nil { // it may have been moved in between
		return err
	}
	for _, pragma := range []string{"PRAGMA cache_size=" + strconv.Itoa(writerPages), "PRAGMA cache_spill=" + strconv.Itoa(unspilledPages)} {
		if err := db.writer.exec(pragma); err != nil {
			return err
		}
	}
	for range o.Readers {
		c, err := openConn(db.path, o.ReadOnly)
		if err != nil {
			return err
		}
		db.readers.push(c)
		if err := c.exec("PRAGMA query_only=ON"); err != nil {
			return err
		}
	}
	if !o.ReadOnly {
		if db.checkpointer, err = newCheckpointer(db.path, db.writer, db.fail, db.intact, db.log); err != nil {
			return err
		}
	}
	return db.watch()
}

// disconnect closes the connections that nobody uses.
func (db *DB) disconnect() error {
	db.checkpointer.stop()
	if db.abandoned() {
		return nil
	}
	errs := []error{db.checkpointer.close()}
	for _, c := range db.readers.empty() {
		errs = append(errs, c.Close())
	}
	if db.writer != nil {
		errs = append(errs, db.writer.Close())
	}
	db.watcher.files.Close()
	return errors.Join(append(errs, db.watcher.lock.Close())...)
}

// Close waits for the writes and reads under way, then closes the file. If other
// processes have it open, it returns when they know of what was committed. Later
// calls of other methods return Unavailable.
func (db *DB) Close() error {
	var err error
	db.closing.Do(func() {
		db.watcher.close()
		db.EndChanges()
		<-db.committed
		db.queue.Close()
		<-db.stopped
		db.fault.close()
		for range db.count {
			<-db.readers.free
		}
		close(db.closed)
		if err = db.disconnect(); err != nil {
			err = fmt.Errorf("database %s: %w", db.path, err)
		}
		if _, missing := os.Stat(db.path + "-wal"); missing == nil { // who closes the file last removes it
			time.Sleep(time.Until(db.wrote.Add(noticeEvery + noticeEvery/4)))
		}
	})
	return err
}

var errMissing = errors.New("the file does not exist")

// prepareFile returns the absolute path, and creates an empty file with the
// right mode: SQLite gives its -wal and -shm files the same one.
func prepareFile(path string, o Options) (string, error) {
	if path == "" {
		return "", errors.New("no path is given")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	owner := ownerOf(abs)
	switch {
	case owner != "":
		return "", fmt.Errorf("belongs to the database %s", owner)
	case err == nil && !info.Mode().IsRegular():
		return "", noFile(info)
	case err == nil:
		// Not opened here: closing it again would drop the locks that SQLite
		// holds on the file elsewhere in this process (POSIX, fcntl).
		return filepath.EvalSymlinks(abs) // SQLite names the log by the file that a link leads to
	case !errors.Is(err, fs.ErrNotExist) || o.ReadOnly || o.NoMigrate:
		return "", fileError(abs, err)
	}
	if err := CheckPresent(abs); err != nil {
		return "", err
	}
	f, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", fileError(abs, err)
	}
	return abs, f.Close()
}

// fileError says in words why a file could not be opened.
func fileError(path string, err error) error {
	dir := filepath.Dir(path)
	info, dirErr := os.Stat(dir)
	switch {
	case errors.Is(dirErr, fs.ErrNotExist):
		return fmt.Errorf("the directory %s does not exist", dir)
	case dirErr == nil && !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case errors.Is(err, fs.ErrNotExist):
		return cmp.Or(CheckPresent(path), errMissing)
	case errors.Is(err, fs.ErrPermission):
		return errors.New("the file cannot be opened: permission denied")
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("cannot be opened: %w", err)
}

// noFile returns the error of what is there, but no file.
func noFile(info fs.FileInfo) error {
	if info.IsDir() {
		return errors.New("is a directory")
	}
	return errors.New("is not a file")
}
