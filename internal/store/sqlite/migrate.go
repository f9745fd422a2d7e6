package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/petstore/internal/store"
)

// MigrateStatus returns all migrations that the program knows and says which of
// them the file at path has. A file that does not exist has none, and is not
// created.
func MigrateStatus(ctx context.Context, path string) ([]store.Migration, error) {
	all, err := status(path)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, explain(err))
	}
	return all, ctx.Err()
}

func status(path string) ([]store.Migration, error) {
	abs, err := prepareFile(path, Options{ReadOnly: true})
	if errors.Is(err, errMissing) {
		return known.Status(nil)
	}
	if err != nil {
		return nil, err
	}
	if err := refuseForeignLog(abs); err != nil {
		return nil, err
	}
	c, err := openConn(abs, true)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.refuseMoved(); err != nil {
		return nil, err
	}
	return c.migrations()
}

// MigrateUp creates the file if there is none, applies the migrations that it
// lacks, and returns those. A nil now is time.Now.
func MigrateUp(ctx context.Context, path string, now func() time.Time) ([]store.Migration, error) {
	before, err := MigrateStatus(ctx, path)
	if err != nil {
		return nil, err
	}
	db, err := Open(ctx, path, Options{Now: now, Readers: 1})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	after, err := MigrateStatus(ctx, path)
	if err != nil {
		return nil, err
	}
	var applied []store.Migration
	for i, m := range after {
		if !before[i].Applied {
			applied = append(applied, m)
		}
	}
	return applied, nil
}
