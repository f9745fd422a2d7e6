package store

import "fmt"

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

// CheckRemovals reports a workspace whose rows are being removed, and whether there is
// one: its rows are not whole.
func CheckRemovals(tx Tx, report Report) (removing bool, err error) {
	return one(tx, "SELECT workspace FROM removals WHERE ended_at IS NULL", func(row Row) error {
		var id int64
		err := row.Scan(&id)
		report("ledger: workspace %d is being reset or deleted; check again when that has ended", id)
		return err
	})
}

// CheckOrders looks for open orders without a pet.
func CheckOrders(tx Tx, report Report) error {
	return each(tx, `SELECT workspace, id, pet FROM orders o WHERE NOT complete
		AND NOT EXISTS (SELECT 1 FROM pets p WHERE p.workspace = o.workspace AND p.id = o.pet)`, func(row Row) error {
		var workspace, id, pet int64
		err := row.Scan(&workspace, &id, &pet)
		report("ledger: order %d of workspace %d is open, and its pet %d does not exist", id, workspace, pet)
		return err
	})
}

// CheckCounters makes sure that no id can be issued again.
func CheckCounters(tx Tx, report Report) error {
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
