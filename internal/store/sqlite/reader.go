package sqlite

import (
	"context"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// reader takes a connection to read with; release gives it back.
func (db *DB) reader(ctx context.Context) (*conn, error) {
	if err := db.fault.err(); err != nil {
		return nil, petstore.Unavailable(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, petstore.Unavailable(err)
	}
	select {
	case <-db.readers.free:
		return db.readers.pop(), nil
	default:
	}
	select {
	case <-db.readers.free:
		return db.readers.pop(), nil
	case <-db.closed:
		return nil, petstore.Unavailable(store.ErrClosed)
	case <-ctx.Done():
		return nil, petstore.Unavailable(ctx.Err())
	}
}

func (db *DB) release(c *conn) { db.readers.push(c) }

// read runs f on a connection to read with.
func (db *DB) read(ctx context.Context, f func(*conn) error) error {
	c, err := db.reader(ctx)
	if err != nil {
		return err
	}
	defer db.release(c)
	return db.judge(f(c))
}

// readLong is read for what may take long: the end of ctx interrupts it, which
// costs a goroutine.
func (db *DB) readLong(ctx context.Context, f func(*conn) error) error {
	return db.read(ctx, func(c *conn) error {
		c.SetInterrupt(ctx.Done())
		defer c.SetInterrupt(nil)
		err := f(c)
		if err != nil && ctx.Err() != nil {
			return petstore.Unavailable(ctx.Err())
		}
		return err
	})
}

// snapshot is read in a transaction: f's statements see one state. A panic of f, too,
// ends it.
func snapshot(f func(*conn) error) func(*conn) error {
	return func(c *conn) (err error) {
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
		defer func() {
			c.SetInterrupt(nil) // an interrupted connection could not end its transaction
			if c.AutocommitEnabled() {
				return
			}
			if end := c.exec("COMMIT"); err == nil {
				err = end
			}
		}()
		return f(c)
	}
}
