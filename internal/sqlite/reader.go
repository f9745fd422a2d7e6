package sqlite

import (
	"context"

	"example.com/petstore/internal/petstore"
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
	case c := <-db.readers:
		return opened(c)
	default:
	}
	select {
	case c := <-db.readers:
		return opened(c)
	case <-ctx.Done():
		return nil, petstore.Unavailable(ctx.Err())
	}
}

// opened returns what came out of the channel, which Close closes.
func opened(c *conn) (*conn, error) {
	if c == nil {
		return nil, petstore.Unavailable(errClosed)
	}
	return c, nil
}

func (db *DB) release(c *conn) { db.readers <- c }

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

// snapshot is read in a transaction: f's statements see one state.
func snapshot(f func(*conn) error) func(*conn) error {
	return func(c *conn) error {
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
		err := f(c)
		c.SetInterrupt(nil) // an interrupted connection could not end its transaction
		if c.AutocommitEnabled() {
			return err
		}
		if end := c.exec("COMMIT"); err == nil {
			err = end
		}
		return err
	}
}
