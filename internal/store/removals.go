package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// A reset or a deletion begins with a row in the table removals, which closes the
// workspace to requests: to writes from the next transaction on, to reads as soon as a
// server has noticed the change. The rows of the workspace are then removed in many
// short transactions, so that other workspaces do not wait, and the last one ends the
// removal. One that was interrupted is resumed from its row.

// useGrace is how long after a deletion, or the reset of a sandbox, servers may still save
// the usage of the workspace. Until then the row stays, which refuses the changes that began
// before: what they wrote would belong to nobody.
const useGrace = time.Hour

// stepRows is how many rows one transaction removes.
const stepRows = 100

// ShopTables are the tables whose column workspace has the id of a shop. Those that
// refer to others come first. Key has the columns that identify a row, separated by commas.
var ShopTables = []struct{ Name, Key string }{
	{"receipts", "workspace, operation, key"},
	{"deliveries", "webhook, event"},
	{"events", "workspace, id"},
	{"movements", "workspace, id"},
	{"orders", "workspace, id"},
	{"pets", "workspace, id"},
	{"categories", "workspace, id"},
}

// DeleteSome returns a statement that deletes the rows of a table whose keys a query selects,
// which ends with where. All columns of the key must be compared: PostgreSQL then looks up
// each row by its key. With a condition for one of them beside, it may read all rows that
// fulfil that, as long as its statistics say that these are few.
func DeleteSome(table, key, where string) string {
	return "DELETE FROM " + table + " WHERE (" + key + ") IN (SELECT " + key + " FROM " + table + " WHERE " + where + ")"
}

// CheckWorkspace returns CodeWorkspaceNotFound unless there is a workspace with the id, and
// access.Resetting while its rows are removed.
func CheckWorkspace(tx Tx, id int64) error {
	if err := HasWorkspace(tx, id); err != nil {
		return err
	}
	found, err := exists(tx, "SELECT 1 FROM removals WHERE workspace = $1", id)
	if err == nil && found {
		err = access.Resetting()
	}
	return err
}

// steps runs a statement that removes stepRows rows at most, in a transaction of [DB.Step],
// again and again until it removes fewer. It returns how many they were.
func (s *Store) steps(ctx context.Context, query string, args ...any) (removed int, err error) {
	for n := int64(stepRows); n == stepRows; {
		err = s.db.Step(ctx, 0, func(tx Tx) (err error) {
			n, err = tx.Exec(query, args...)
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += int(n)
	}
	return removed, nil
}

// closeToWrites closes the workspace to writes until its rows are removed.
func (s *Store) closeToWrites(tx Tx, workspace int64) error {
	if err := exec(tx, "UPDATE counters SET pets = pets WHERE workspace = $1", workspace); err != nil { // waits for writes under way
		return err
	}
	if err := forgetImports(tx, workspace); err != nil {
		return err
	}
	return exec(tx, "INSERT INTO removals (workspace) VALUES ($1) ON CONFLICT DO NOTHING", workspace)
}

// Resume implements [access.Store].
func (s *Store) Resume(ctx context.Context) error {
	begun, err := s.numbers(ctx, "SELECT workspace FROM removals WHERE ended_at IS NULL")
	for _, id := range begun {
		if err == nil {
			err = s.remove(ctx, id)
		}
	}
	if err == nil {
		err = s.forgetDeleted(ctx)
	}
	return err
}

// forgetDeleted removes what servers saved about workspaces after their deletion.
func (s *Store) forgetDeleted(ctx context.Context) error {
	ended, err := s.numbers(ctx, "SELECT workspace FROM removals WHERE ended_at < $1", s.now().Add(-useGrace).UnixMilli())
	if err != nil || len(ended) == 0 {
		return err
	}
	return s.db.Change(ctx, func(tx Tx) error {
		for _, id := range ended {
			if err := errors.Join(forgetUse(tx, id), exec(tx, "DELETE FROM removals WHERE workspace = $1", id)); err != nil {
				return err
			}
		}
		return nil
	})
}

// remove removes the rows of a workspace that is closed to writes, and then opens it again.
// Several callers may do so at the same time.
func (s *Store) remove(ctx context.Context, workspace int64) error {
	for more := true; more; {
		err := s.db.Step(ctx, workspace, func(tx Tx) (err error) {
			more, err = s.removeSome(tx, workspace)
			return err
		})
		if err != nil {
			return err
		}
	}
	err := s.db.Change(ctx, func(tx Tx) error { return s.end(tx, workspace) })
	if err == nil {
		s.options.Written(workspace)
	}
	return err
}

// end ends a removal, unless another caller has done so already. If the workspace still
// exists it is then open to writes again.
func (s *Store) end(tx Tx, workspace int64) error {
	n, err := tx.Exec("UPDATE removals SET ended_at = $1 WHERE workspace = $2 AND ended_at IS NULL", s.now().UnixMilli(), workspace)
	if err != nil || n == 0 {
		return err
	}
	if err := HasWorkspace(tx, workspace); petstore.CodeOf(err) == access.CodeWorkspaceNotFound {
		return forgetUse(tx, workspace)
	} else if err != nil {
		return err
	}
	if err := changed(tx); err != nil {
		return err
	}
	if err := s.beginFeed(tx, workspace); err != nil {
		return err
	}
	return exec(tx, "DELETE FROM removals WHERE workspace = $1", workspace)
}

// removeSome removes up to stepRows rows, table by table. It reports false if there was
// nothing to remove, or if another caller has ended the removal, so that the rows are new
// ones. It may remove fewer rows than there are, because another transaction is removing
// the others.
func (s *Store) removeSome(tx Tx, workspace int64) (more bool, err error) {
	n, err := tx.Exec("UPDATE removals SET steps = steps + 1 WHERE workspace = $1 AND ended_at IS NULL", workspace) // keeps others from ending it
	if err != nil || n == 0 {
		return false, err
	}
	left := int64(stepRows)
	for _, t := range ShopTables {
		n, err := tx.Exec(DeleteSome(t.Name, t.Key, "workspace = $1 LIMIT $2"), workspace, left)
		if left -= n; err != nil || left == 0 {
			return true, err
		}
	}
	return left < stepRows, nil
}

// forgetUse removes the limiter's rows and the usage of a deleted workspace.
func forgetUse(tx Tx, workspace int64) error {
	var b Batch
	b.Exec("DELETE FROM limit_windows WHERE subject = $1", fmt.Sprint("w:", workspace))
	b.Exec("DELETE FROM usage WHERE workspace = $1", workspace)
	return tx.Run(&b)
}
