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
		return errors.Join(err, removeAll(path, "", "-journal")) // SQLite leaves its journal on a full disk
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
	if err := removeAll(partial, "", "-journal"); err != nil { // left by a backup that was killed
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

// rename renames a file durably.
func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncPath(filepath.Dir(to))
}

// Restore replaces the database at path with a copy of the backup at from, which it migrates and
// verifies first. All ids then continue after a gap, see [store.Restored]. The backup stays as it
// is. Restore returns ErrInUse, with the path, if the database is open, and keeps others from opening
// it meanwhile. The caller has to ask whether a database may be replaced. The warning is not nil if
// the ids of the replaced database could not be read: some of them may be issued again.
func Restore(ctx context.Context, from, path string, o Options) (warning, err error) {
	if sameFile(from, path) {
		return nil, fmt.Errorf("restore from %s: that is the database itself", from)
	}
	partial := path + Partial
	if sameFile(from, partial) {
		return nil, fmt.Errorf("restore from %s: that name is for the copy of a backup: give it another one", from)
	}
	err = withLock(path, func(old *conn) error {
		if err := removeAll(partial, "", "-wal", "-shm", "-journal"); err != nil {
			return err
		}
		issued, unread := lastIDs(old)
		if unread != nil {
			warning = fmt.Errorf("the ids of %s, which was replaced, could not be read, and some may be issued again: %w", path, explain(unread))
		}
		err := stage(ctx, from, partial, issued, o)
		if err == nil {
			err = removeAll(path, "-wal", "-shm", "-journal") // SQLite would apply the old log to the new file
		}
		if err == nil {
			err = rename(partial, path)
		}
		if err != nil {
			err = errors.Join(err, removeAll(partial, "", "-wal", "-shm", "-journal"))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return warning, nil
}

// lastIDs returns the last ids of the workspaces in a file, as far as they can be read: it may
// be damaged, or have an older schema. A file that is empty or, with nil, does not exist has none.
func lastIDs(c *conn) ([]store.Issued, error) {
	if c == nil {
		return nil, nil
	}
	if tables, err := c.number("SELECT count(*) FROM sqlite_schema"); err == nil && tables == 0 {
		return nil, nil
	}
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

// withLock calls f while no one else has the database at path open, with a connection to it, or
// nil if there is none.
func withLock(path string, f func(*conn) error) error {
	var failed error // of f
	err := whileUnserved(path, func() error {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			failed = f(nil)
			return nil
		}
		raw, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
		if err != nil {
			return err
		}
		c := &conn{Conn: raw}
		if err = c.lockAlone(); err == nil {
			failed = f(c)
		}
		return errors.Join(err, c.Close())
	})
	if err != nil {
		return fmt.Errorf("database %s: %w", path, explain(err))
	}
	return failed
}

// lockAlone turns the write-ahead log off, which needs that nobody else has the file
// open, and locks the file. A damaged file counts as locked: its log is of no use.
func (c *conn) lockAlone() error {
	c.SetBusyTimeout(0)
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
