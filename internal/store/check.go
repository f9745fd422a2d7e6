package store

import (
	"context"
	"errors"
	"fmt"
)

// ErrDamaged is the beginning of the error of a database whose rows contradict each other.
var ErrDamaged = errors.New("the database is damaged")

// maxProblems bounds what a check returns: a broken database can have millions.
const maxProblems = 100

// Problems are what a check has found, in words, at most a hundred.
type Problems []string

// Report adds a problem.
func (p *Problems) Report(format string, args ...any) {
	if len(*p) < maxProblems {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

// A Report takes what a check finds.
type Report = func(format string, args ...any)

// Check looks for damage and returns what it found, in words, at most a hundred problems;
// none is good. It reads all workspaces, as they are at one moment: the references, and the
// ledger, which must explain for each pet its stock and its open orders. Other calls go on
// beside it.
func (s *Store) Check(ctx context.Context) (problems []string, err error) {
	err = s.db.Snapshot(ctx, func(tx Tx) (err error) {
		problems, err = Check(tx, s.options.Dialect)
		return err
	})
	return problems, err
}

// Check is [Store.Check] of a database that is read by tx, a transaction of one instant.
func Check(tx Tx, own Dialect) ([]string, error) {
	found := Problems{}
	for _, check := range []func(Tx, Report) error{own.CheckStructure, checkReferences} {
		if err := check(tx, found.Report); err != nil {
			return found, err
		}
	}
	if removing, err := checkRemovals(tx, found.Report); err != nil || removing {
		return found, err
	}
	ledgers := func(tx Tx, report Report) error { return checkLedgers(tx, own.Ledgers("DESC"), report) }
	for _, check := range []func(Tx, Report) error{checkOrders, checkCounters, ledgers, own.CheckRows} {
		if check == nil {
			continue
		}
		if err := check(tx, found.Report); err != nil {
			return found, err
		}
	}
	return found, nil
}

// checkReferences looks for rows that name one that does not exist.
func checkReferences(tx Tx, report Report) error {
	err := each(tx, `SELECT workspace, id, category FROM pets p
		WHERE NOT EXISTS (SELECT 1 FROM categories c WHERE c.workspace = p.workspace AND c.id = p.category)`, func(row Row) error {
		var workspace, id, category int64
		err := row.Scan(&workspace, &id, &category)
		report("references: pet %d of workspace %d names the category %d, which does not exist", id, workspace, category)
		return err
	})
	if err != nil {
		return err
	}
	err = each(tx, "SELECT id, workspace FROM api_keys k WHERE NOT EXISTS (SELECT 1 FROM workspaces w WHERE w.id = k.workspace)", func(row Row) error {
		var (
			id        string
			workspace int64
		)
		err := row.Scan(&id, &workspace)
		report("references: the key %s is of the workspace %d, which does not exist", id, workspace)
		return err
	})
	if err != nil {
		return err
	}
	return each(tx, "SELECT key_id FROM bans b WHERE NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.id = b.key_id)", func(row Row) error {
		var id string
		err := row.Scan(&id)
		report("references: the key %s is banned, and does not exist", id)
		return err
	})
}

// checkRemovals reports a workspace whose rows are being removed, and whether there is
// one: its rows are not whole.
func checkRemovals(tx Tx, report Report) (removing bool, err error) {
	return one(tx, "SELECT workspace FROM removals WHERE ended_at IS NULL", func(row Row) error {
		var id int64
		err := row.Scan(&id)
		report("ledger: workspace %d is being reset or deleted; check again when that has ended", id)
		return err
	})
}

// checkOrders looks for open orders without a pet.
func checkOrders(tx Tx, report Report) error {
	return each(tx, `SELECT workspace, id, pet FROM orders o WHERE NOT complete
		AND NOT EXISTS (SELECT 1 FROM pets p WHERE p.workspace = o.workspace AND p.id = o.pet)`, func(row Row) error {
		var workspace, id, pet int64
		err := row.Scan(&workspace, &id, &pet)
		report("ledger: order %d of workspace %d is open, and its pet %d does not exist", id, workspace, pet)
		return err
	})
}

// checkCounters makes sure that no id can be issued again.
func checkCounters(tx Tx, report Report) error {
	for _, table := range []string{"pets", "categories", "orders"} {
		err := each(tx, `SELECT workspace, max(id) FROM `+table+` t GROUP BY workspace
			HAVING max(id) > coalesce((SELECT c.`+table+` FROM counters c WHERE c.workspace = t.workspace), 0)`, func(row Row) error {
			var workspace, id int64
			err := row.Scan(&workspace, &id)
			report("ids: %s of workspace %d have the id %d, which was never issued", table, workspace, id)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
