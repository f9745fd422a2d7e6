package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// maxProblems bounds what Check returns: a broken file can have millions.
const maxProblems = 100

// Check looks for damage and returns what it found, in words, at most a hundred
// problems; none is good. It reads the whole file, of which it checks the
// structure, the references, and the ledger: for each pet the movements must
// explain its stock and its open orders, and the index of names must lead to each
// name. Other calls go on beside it.
func (db *DB) Check(ctx context.Context) (problems []string, err error) {
	err = db.readLong(ctx, snapshot(func(c *conn) (err error) {
		problems, err = c.problems()
		return err
	}))
	return problems, err
}

// problems is Check on a connection that is in a transaction.
func (c *conn) problems() ([]string, error) {
	found := []string{}
	report := func(format string, args ...any) {
		if len(found) < maxProblems {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	removing, err := c.removing()
	if err != nil {
		return found, err
	}
	if len(removing) > 0 {
		report("ledger: workspace %d is being reset or deleted; check again when that has ended", removing[0])
		err := errors.Join(checkStructure(c, report), checkReferences(c, report))
		return found, err
	}
	checks := []func(*conn, func(string, ...any)) error{checkStructure, checkReferences, checkOrders, checkCounters}
	current, err := c.hasTable("departed")
	if err != nil {
		return found, err
	}
	if current { // before, ledgers were kept in another way
		checks = append(checks, checkLedger, checkEntries)
	}
	if current, err = c.hasTable("pet_names"); err != nil {
		return found, err
	}
	if current {
		checks = append(checks, checkNames)
	}
	for _, check := range checks {
		if err := check(c, report); err != nil {
			return found, err
		}
	}
	return found, nil
}

// removing returns the workspaces whose rows are being removed: they are not whole.
func (c *conn) removing() (all []int64, err error) {
	current, err := c.hasTable("removals")
	if err == nil && current {
		err = c.each("SELECT workspace FROM removals WHERE ended_at IS NULL", func(row *sqlite.Stmt) { all = append(all, scanInt(row)) })
	}
	return all, err
}

func checkStructure(c *conn, report func(string, ...any)) error {
	indexed, err := c.hasTable("pet_names")
	if err == nil && indexed { // else FTS5 may check what it remembers of an earlier state
		_, err = c.one("SELECT rowid FROM pet_names WHERE pet_names MATCH 'any'", func(*sqlite.Stmt) {})
	}
	if err != nil {
		return err
	}
	return c.each("PRAGMA integrity_check(100)", func(row *sqlite.Stmt) {
		if text := row.ColumnText(0); text != "ok" {
			report("structure: %s", text)
		}
	})
}

func checkReferences(c *conn, report func(string, ...any)) error {
	return c.each("PRAGMA foreign_key_check", func(row *sqlite.Stmt) {
		report("references: a row of %s names one of %s that does not exist", row.ColumnText(0), row.ColumnText(2))
	})
}

func checkOrders(c *conn, report func(string, ...any)) error {
	return c.each(`SELECT workspace, id, pet FROM orders o WHERE complete=0
		AND NOT EXISTS (SELECT 1 FROM pets p WHERE p.workspace=o.workspace AND p.id=o.pet)`, func(row *sqlite.Stmt) {
		report("ledger: order %d of workspace %d is open, and its pet %d does not exist",
			row.ColumnInt64(1), row.ColumnInt64(0), row.ColumnInt64(2))
	})
}

// checkCounters makes sure that no id can be issued again.
func checkCounters(c *conn, report func(string, ...any)) error {
	for _, table := range []string{"pets", "categories", "orders"} {
		err := c.each(`SELECT workspace, max(id) FROM `+table+` t GROUP BY workspace
			HAVING max(id) > coalesce((SELECT c.`+table+` FROM counters c WHERE c.workspace=t.workspace), 0)`, func(row *sqlite.Stmt) {
			report("ids: %s of workspace %d have the id %d, which was never issued", table, row.ColumnInt64(0), row.ColumnInt64(1))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkEntries makes sure that no place in a ledger can be taken again.
func checkEntries(c *conn, report func(string, ...any)) error {
	return c.each(`SELECT workspace, max(entry) FROM movements m GROUP BY workspace
		HAVING max(entry) > coalesce((SELECT c.entries FROM counters c WHERE c.workspace=m.workspace), 0)`, func(row *sqlite.Stmt) {
		report("ledger: workspace %d has the entry %d, which is beyond its last", row.ColumnInt64(0), row.ColumnInt64(1))
	})
}

func (c *conn) hasTable(name string) (bool, error) {
	return c.one("SELECT 1 FROM sqlite_schema WHERE type='table' AND name=?", func(*sqlite.Stmt) {}, name)
}
