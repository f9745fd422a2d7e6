package sqlite

import (
	"context"
	"errors"
	"fmt"

	"example.com/petstore/internal/store"
)

// A Source is a file whose data is moved to another database, see [store.MoveSource].
// One goroutine at a time uses it.
type Source struct{ *conn }

// OpenSource opens the file at path exclusively: until Close no other process can open it. It returns
// ErrInUse, with the path, if another process has it open. It refuses a file that is not ours, lacks
// migrations, or has the log of another file. Only MarkMoved changes the file.
func OpenSource(ctx context.Context, path string) (*Source, error) {
	c, err := openFile(path, false)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, explain(err))
	}
	status, err := c.checkOurs()
	if err == nil {
		err = store.Lacking(status)
	}
	if err == nil {
		err = c.lockAlone()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", path, explain(err)), c.Close())
	}
	c.SetInterrupt(ctx.Done())
	return &Source{c}, nil
}

// MarkMoved implements [store.MoveSource].
func (s *Source) MarkMoved(to string) error {
	s.SetInterrupt(nil)
	return errors.Join(store.SetMeta(s, "moved", []byte(to)), s.exec("COMMIT"))
}

// ErrMoved is the beginning of the error of a file that was moved to another database.
var ErrMoved = errors.New("was moved to")

// refuseMoved returns ErrMoved with the address of the database that the file was moved to,
// if it was.
func (c *conn) refuseMoved() error {
	if ours, err := c.HasMigrations(); err != nil || !ours {
		return err
	}
	to, err := store.MetaOf(c, "moved")
	if err == nil && to != nil {
		err = fmt.Errorf("%w %s: name that with --db, or in the variable PETSTORE_DB", ErrMoved, to)
	}
	return err
}

// LastIDs implements [store.MoveSource].
func (s *Source) LastIDs() (map[string]int64, error) {
	last := map[string]int64{}
	return last, store.Each(s, "SELECT name, seq FROM sqlite_sequence", func(row store.Row) error {
		var table string
		var id int64
		err := row.Scan(&table, &id)
		last[table] = id
		return err
	})
}
