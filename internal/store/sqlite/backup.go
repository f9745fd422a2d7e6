package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.com/petstore/internal/store"
	"zombiezen.com/go/sqlite"
)

// Partial is the suffix of the name of a backup that is not complete yet.
const Partial = ".partial"

// copyTo writes a snapshot of the database to a new file at path, which only its owner can
// read. Others can write meanwhile. The copy has no write-ahead log. If copyTo fails it
// leaves no file.
func (c *conn) copyTo(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(f.Close(), c.exec("VACUUM INTO ?", path)); err == nil {
		err = syncPath(path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// syncPath makes a file or a directory durable.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// inspect calls f with the file at path, whatever version its schema has. It refuses a
// file that is not ours, has a newer schema, or was moved.
func inspect(ctx context.Context, path string, f func(*conn) error) error {
	c, err := openFile(path, true)
	if err == nil {
		c.SetInterrupt(ctx.Done())
		if _, err = c.checkOurs(); err == nil {
			err = c.refuseMoved()
		}
		if err == nil {
			err = f(c)
		}
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		return fmt.Errorf("database %s: %w", path, explain(err))
	}
	return nil
}

// checkOurs returns which migrations the file has, or an error if it is not ours or has a
// newer schema.
func (c *conn) checkOurs() ([]store.Migration, error) {
	status, err := c.known.Status(c)
	if err == nil && !status[0].Applied {
		err = errEmpty
	}
	return status, err
}

var errEmpty = errors.New("the file has no data of Petstore")

// Verify returns what [store.Check] finds in the file at path, whatever version its
// schema has.
func Verify(ctx context.Context, path string) (problems []string, err error) {
	err = inspect(ctx, path, snapshot(func(c *conn) (err error) {
		problems, err = store.Check(c, dialect)
		return err
	}))
	return problems, err
}

// Backup writes a snapshot of the database at from to the file at to, and replaces what is
// there. It verifies the copy under another name, and renames it when it is durable. Other
// processes can use the database meanwhile. Its schema need not be the latest.
func Backup(ctx context.Context, from, to string) error {
	partial := to + Partial
	for _, path := range []string{to, partial} {
		if err := CheckOverwrite(from, path); err != nil {
			return fmt.Errorf("backup to %w", err)
		}
	}
	if err := removeAll(partial, ""); err != nil { // left by a backup that was killed
		return err
	}
	if err := inspect(ctx, from, func(c *conn) error { return c.copyTo(partial) }); err != nil {
		return err
	}
	problems, err := Verify(ctx, partial)
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("the copy of %s has %d problems, the first: %s", from, len(problems), problems[0])
	}
	if err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	return rename(partial, to)
}

// Size returns how many bytes the database has in its file and its log.
func (db *DB) Size(context.Context) (int64, error) {
	info, err := os.Stat(db.path)
	if err != nil {
		return 0, err
	}
	n := info.Size()
	if info, err := os.Stat(db.path + "-wal"); err == nil {
		n += info.Size()
	}
	return n, nil
}

// rename renames a file durably.
func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncPath(filepath.Dir(to))
}

// ErrInUse is what Restore returns when another process has the database open.
var ErrInUse = errors.New("is in use: stop the server first")

// Restore replaces the database at path with a copy of the backup at from, which it migrates and
// verifies first. All ids then continue after a gap, see [store.Restored]. The backup stays as it
// is. Restore returns ErrInUse, with the path, if the database is open. The caller has to ask
// whether a database may be replaced. The warning is not nil if the ids of the replaced database
// could not be read: some of them may be issued again.
func Restore(ctx context.Context, from, path string, o Options) (warning, err error) {
	if sameFile(from, path) {
		return nil, fmt.Errorf("restore from %s: that is the database itself", from)
	}
	partial := path + Partial
	if sameFile(from, partial) {
		return nil, fmt.Errorf("restore from %s: that name is for the copy of a backup: give it another one", from)
	}
	if err := withLock(path, func() error { return nil }); err != nil { // to fail early
		return nil, err
	}
	if err := removeAll(partial, "", "-wal", "-shm"); err != nil {
		return nil, err
	}
	issued, warning := lastIDs(path)
	if err := stage(ctx, from, partial, issued, o); err != nil {
		return nil, errors.Join(err, removeAll(partial, "", "-wal", "-shm"))
	}
	if err := replace(path, partial); err != nil {
		return nil, errors.Join(err, removeAll(partial, ""))
	}
	return warning, nil
}

// lastIDs returns the last ids of the workspaces in the file at path, as far as they can
// be read: the file may be damaged, or have an older schema. A file that does not exist
// has none.
func lastIDs(path string) (all []store.Issued, err error) {
	if info, err := os.Stat(path); err != nil && errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil, nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("the ids of %s, which was replaced, could not be read, and some may be issued again: %w", path, explain(err))
		}
	}()
	c, err := openConn(path, true)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return store.RowsOf(c, func(row store.Row, i *store.Issued) error {
		return row.Scan(&i.Workspace, &i.Shop, &i.Pets, &i.Categories, &i.Orders, &i.Event)
	}, "SELECT coalesce((SELECT id FROM workspaces WHERE shop = workspace), workspace), workspace, pets, categories, orders, max(events, forgotten) FROM counters")
}

// stage makes a verified and migrated copy of a backup, whose ids continue after those
// that were issued already.
func stage(ctx context.Context, from, to string, issued []store.Issued, o Options) (err error) {
	if err := inspect(ctx, from, func(c *conn) error { return c.copyTo(to) }); err != nil {
		return err
	}
	db, err := Open(ctx, to, o)
	if err != nil {
		return err
	}
	problems, err := db.Check(ctx)
	if err == nil {
		err = db.Restored(ctx, issued)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf("backup %s has %d problems, the first: %s", from, len(problems), problems[0])
	}
	return syncPath(to)
}

// replace replaces the database at path with the file at with. The old write-ahead log
// is removed first: SQLite would apply it to the new file.
func replace(path, with string) error {
	return withLock(path, func() error {
		if err := removeAll(path, "-wal", "-shm", "-journal"); err != nil {
			return err
		}
		return rename(with, path)
	})
}

// withLock calls f while no one else has the database at path open. There may be none.
func withLock(path string, f func() error) error {
	err := whileUnserved(path, func() error { return withLockedFile(path, f) })
	if errors.Is(err, errServed) {
		return fmt.Errorf("database %s: %w", path, ErrInUse)
	}
	return err
}

func withLockedFile(path string, f func() error) (err error) {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return f()
	}
	old, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return fmt.Errorf("database %s: %w", path, explain(err))
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	old.SetBusyTimeout(0)
	if err := (&conn{Conn: old}).lockAlone(); err != nil {
		return fmt.Errorf("database %s: %w", path, err)
	}
	return f()
}

// lockAlone turns the write-ahead log off, which needs that nobody else has the file
// open, and locks the file. A damaged file counts as locked: its log is of no use.
func (c *conn) lockAlone() error {
	mode := ""
	err := c.first("PRAGMA journal_mode=DELETE", &mode)
	if err == nil && mode == "wal" {
		return ErrInUse
	}
	if err == nil {
		err = c.exec("BEGIN EXCLUSIVE")
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return ErrInUse
	case sqlite.ResultNotADB, sqlite.ResultCorrupt:
		return nil
	}
	return err
}

// removeAll removes the files whose names are path with one of the ends, if they
// exist.
func removeAll(path string, ends ...string) error {
	for _, end := range ends {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
