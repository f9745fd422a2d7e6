package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	db, err := open(ctx, path, o.WithDefaults(max(4, 2*runtime.GOMAXPROCS(0))))
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	db.CommitChanges(1)
	db.running.Go(db.watchFiles)
	return db, nil
}

func open(ctx context.Context, path string, o Options) (*DB, error) {
	path, err := prepareFile(path, o)
	if err != nil {
		return nil, err
	}
	db := &DB{
		path: path, log: o.Log, readOnly: o.ReadOnly,
		readers: make(chan *conn, o.Readers),
		stop:    make(chan struct{}), failed: make(chan struct{}),
	}
	if o.Serve {
		db.lock, err = lockDatabase(ctx, path, o.Wait, func(process string) {
			o.Log.Info("waiting for the server that has the database", "path", path, "process", process)
		})
	} else {
		err = refuseForeignLog(path)
	}
	if err != nil {
		return nil, err
	}
	db.Store = store.New(engine{db}, dialect, o, db.WakeReaders)
	if err := db.connect(ctx, o); err != nil {
		_ = db.disconnect() // the first failure is what counts
		return nil, explain(err)
	}
	return db, nil
}

// connect opens all connections, first that of the writer, which creates and migrates
// the database.
func (db *DB) connect(ctx context.Context, o Options) (err error) {
	if db.writer, err = db.open(); err != nil {
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
		c, err := db.open()
		if err != nil {
			return err
		}
		if err := c.exec("PRAGMA query_only=ON"); err != nil {
			return err
		}
		db.readers <- c
	}
	if !o.ReadOnly {
		if err := db.openCheckpointer(); err != nil {
			return err
		}
	}
	return db.watch()
}

// open opens a connection, which disconnect closes.
func (db *DB) open() (*conn, error) {
	c, err := openConn(db.path, db.readOnly)
	if err == nil {
		db.conns = append(db.conns, c)
	}
	return c, err
}

// disconnect closes the connections, that of the writer last. Nobody may use them any
// more.
func (db *DB) disconnect() error {
	if db.abandoned() {
		return nil
	}
	var errs []error
	for _, c := range slices.Backward(db.conns) {
		errs = append(errs, c.Close())
	}
	if db.files != nil && db.files.opened != nil {
		errs = append(errs, db.files.opened.Close())
	}
	if db.lock != nil {
		errs = append(errs, db.lock.Close())
	}
	return errors.Join(errs...)
}

// Close waits for the writes and reads under way, then closes the file. If other
// processes have it open, it waits until they can have noticed the last commit. Later
// calls of other methods return Unavailable.
func (db *DB) Close() error {
	var err error
	db.closing.Do(func() {
		close(db.stop)
		db.EndChanges()
		db.running.Wait()
		db.fault.CompareAndSwap(nil, new(store.ErrClosed))
		for range cap(db.readers) {
			<-db.readers
		}
		close(db.readers)
		if err = db.disconnect(); err != nil {
			err = fmt.Errorf("database %s: %w", db.path, err)
		}
		if _, missing := os.Stat(db.path + "-wal"); missing == nil { // the last to close the file removes the log
			time.Sleep(time.Until(db.wrote.Add(noticeEvery + noticeEvery/4)))
		}
	})
	return err
}

// ErrMissing says that there is no file of the database.
var ErrMissing = errors.New("the file does not exist")

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
	if _, err := os.Stat(filepath.Dir(abs)); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the directory %s does not exist", filepath.Dir(abs))
	}
	info, err := os.Stat(abs)
	log, _ := os.Stat(abs + "-wal") // nil if there is none
	switch {
	case err == nil && info.IsDir():
		return "", errors.New("is a directory")
	case err == nil && !info.Mode().IsRegular():
		return "", errors.New("is not a file")
	case err == nil:
		// Not opened here: closing it again would drop the locks that SQLite
		// holds on the file elsewhere in this process (POSIX, fcntl).
		return filepath.EvalSymlinks(abs) // SQLite names the log by the file that a link leads to
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	case log != nil && log.Size() > 0:
		return "", fmt.Errorf("the file is missing, but its log %s-wal is there: put it back, or restore a backup with petstore restore FILE", abs)
	case o.NoMigrate:
		return "", ErrMissing
	}
	f, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	return abs, f.Close()
}

// openFile opens a connection to an existing file, unless its log belongs to another
// file.
func openFile(path string, readOnly bool) (*conn, error) {
	abs, err := prepareFile(path, Options{NoMigrate: true})
	if err == nil {
		err = refuseForeignLog(abs)
	}
	if err != nil {
		return nil, err
	}
	return openConn(abs, readOnly)
}
