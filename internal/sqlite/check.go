package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// maxProblems bounds what Check returns: a broken file can have millions.
const maxProblems = 100

// Check looks for damage and returns what it found, in words, at most a hundred
// problems; none is good. It reads the whole file, of which it checks the
// structure, the references, and the ledger: for each animal the movements must
// explain its stock and its open orders. Other calls go on beside it.
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
	for _, check := range []func(*conn, func(string, ...any)) error{
		checkStructure, checkReferences, checkStock, checkOrders, checkDeleted, checkCounters,
	} {
		if err := check(c, report); err != nil {
			return found, err
		}
	}
	return found, nil
}

func checkStructure(c *conn, report func(string, ...any)) error {
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

// checkStock holds each animal against its ledger.
func checkStock(c *conn, report func(string, ...any)) error {
	return c.each(`SELECT p.workspace, p.id, p.quantity, p.open_orders, p.movements,
			l.entries, l.last, l.total, l.open,
			(SELECT m.quantity FROM movements m WHERE m.workspace=p.workspace AND m.pet=p.id ORDER BY number DESC LIMIT 1),
			(SELECT count(*) FROM orders o WHERE o.workspace=p.workspace AND o.pet=p.id AND o.complete=0)
		FROM pets p LEFT JOIN (SELECT workspace, pet, count(*) AS entries, max(number) AS last, sum(delta) AS total,
				sum((kind='placed') - (kind IN ('completed', 'cancelled'))) AS open
			FROM movements GROUP BY workspace, pet) l ON l.workspace=p.workspace AND l.pet=p.id`,
		func(row *sqlite.Stmt) {
			n := func(col int) int64 { return row.ColumnInt64(col) }
			pet := fmt.Sprintf("ledger: pet %d of workspace %d", n(1), n(0))
			compare := func(what string, have int64, source string, want int64) {
				if have != want {
					report("%s: %s is %d, and %s %d", pet, what, have, source, want)
				}
			}
			if n(2) < 0 {
				report("%s: the quantity is %d", pet, n(2))
			}
			compare("the quantity", n(2), "the sum of its movements is", n(7))
			compare("the quantity", n(2), "its last movement says", n(9))
			compare("the number of movements", n(4), "the ledger has", n(5))
			compare("the number of movements", n(4), "the last one is numbered", n(6))
			compare("the number of open orders", n(3), "the ledger says", n(8))
			compare("the number of open orders", n(3), "the orders say", n(10))
		})
}

func checkOrders(c *conn, report func(string, ...any)) error {
	return c.each(`SELECT workspace, id, pet FROM orders o WHERE complete=0
		AND NOT EXISTS (SELECT 1 FROM pets p WHERE p.workspace=o.workspace AND p.id=o.pet)`, func(row *sqlite.Stmt) {
		report("ledger: order %d of workspace %d is open, and its pet %d does not exist",
			row.ColumnInt64(1), row.ColumnInt64(0), row.ColumnInt64(2))
	})
}

// checkDeleted looks at the ledgers of animals that are gone.
func checkDeleted(c *conn, report func(string, ...any)) error {
	return c.each(`SELECT workspace, pet, sum(delta) FROM movements m
		WHERE NOT EXISTS (SELECT 1 FROM pets p WHERE p.workspace=m.workspace AND p.id=m.pet)
		GROUP BY workspace, pet HAVING sum(delta) != 0`, func(row *sqlite.Stmt) {
		report("ledger: pet %d of workspace %d is gone, and its movements leave %d",
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
