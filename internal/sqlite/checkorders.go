package sqlite

import (
	"bytes"

	"zombiezen.com/go/sqlite"
)

const selectLastEarlier = "SELECT coalesce(max(id), 0) FROM (SELECT max(id) AS id FROM pet_orders WHERE workspace=?1 AND pet=?2 AND complete=0" +
	" UNION ALL SELECT max(id) FROM pet_orders WHERE workspace=?1 AND pet=?2 AND complete=1)"

// latest checks the orders that a pet's row names, and returns how many of
// them are open.
func (k *ledgerCheck) latest(workspace int64, a *stored) (open int64) {
	if !k.recents || k.err != nil {
		return 0
	}
	if end, _ := a.recent.end(); a.recent.length%recentStep != 0 || a.recent.length > mostRecent || len(bytes.TrimRight(a.recent.bytes[end:], "\x00")) > 0 {
		k.report("lists: pet %d of workspace %d has something else behind its latest orders", a.ID, workspace)
	}
	last := k.count(selectLastEarlier, workspace, a.ID)
	if last > 0 && !a.recent.earlier() {
		k.report("lists: pet %d of workspace %d had orders before its latest, and its row does not say so", a.ID, workspace)
	}
	for id, complete := range a.recent.all() {
		if id <= last {
			k.report("lists: order %d of workspace %d, one of the latest of the pet %d, comes before the order %d", id, workspace, a.ID, last)
		}
		last = id
		k.order(workspace, a.ID, id, complete)
		if !complete {
			open++
		}
	}
	return open
}

// order checks an order that a pet is said to have.
func (k *ledgerCheck) order(workspace, pet, id int64, complete bool) {
	if k.err != nil {
		return
	}
	k.ordered[workspace]++
	o, err := find(k.c, selectOrder, workspace, id, scanOrder)
	switch {
	case err != nil:
		k.fail(err)
	case o == nil:
		k.report("lists: pet %d of workspace %d has the order %d, which does not exist", pet, workspace, id)
	case o.PetID != pet || o.Complete != complete:
		k.report("lists: order %d of workspace %d is of the pet %d, complete: %t, and listed for the pet %d, complete: %t",
			id, workspace, o.PetID, o.Complete, pet, complete)
	}
}

// orders checks those before the latest, and that none is missing: no order is
// counted twice, since each is of one pet, in one state, and there behind others.
func (k *ledgerCheck) orders() error {
	err := k.c.each("SELECT workspace, pet, id, complete FROM pet_orders", func(row *sqlite.Stmt) {
		k.order(row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(2), row.ColumnBool(3))
	})
	if err != nil {
		return err
	}
	return k.c.each("SELECT workspace, count(*) FROM orders GROUP BY workspace", func(row *sqlite.Stmt) {
		if id, n := row.ColumnInt64(0), row.ColumnInt64(1); n != k.ordered[id] {
			k.report("lists: workspace %d has %d orders, and its pets account for %d", id, n, k.ordered[id])
		}
	})
}
