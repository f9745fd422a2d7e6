package postgres

import (
	"context"
	"maps"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres/postgrestest"
)

// TestRecovery: after a mistake the database comes back as it was before, from a base
// backup that was taken while the service was busy, and the archived log. Nothing that was
// told since is told again under the same id, nor after another recovery from the same base
// backup.
func TestRecovery(t *testing.T) {
	t.Parallel()
	primary := postgrestest.Start(t, append(postgrestest.Lax(), "archive_mode = on")...)
	db := node(t, primary.URL("postgres"), Options{})
	p := newPast(t, db)
	busy, pet := newStocked(t, db, petstore.MaxQuantity)
	crowd := buy(t, busy, pet, 16, db)
	crowd.more(100)
	archive := primary.Archive(t)
	crowd.more(500)
	seen := crowd.seen()
	before := time.Now() // one machine, one clock
	crowd.more(500)
	crowd.end()
	after := crowd.seen()
	p.goOn(t, db)
	if p.order != 2 {
		t.Errorf("the second order has the id %d, want 2", p.order)
	}
	execute(t, primary.URL("postgres"), "DROP SCHEMA petstore CASCADE")
	must(t, primary.Archived(t.Context(), archive))

	first, again := recovered(t, archive, before)
	kept := ordersOf(t, again, busy)
	if lost := missing(seen, kept); lost > 0 {
		t.Errorf("%d of %d orders that were confirmed before the moment are lost", lost, len(seen))
	}
	if lost := missing(after, kept); lost == 0 {
		t.Errorf("all %d orders are there, also those that came after the moment", len(after))
	}
	p.wantGap(t, again, 1)
	p.goOn(t, again)
	if p.order != 1_000_002 {
		t.Errorf("another order has the id %d, want 1000002: one recovery is one gap", p.order)
	}
	must(t, first.Archived(t.Context(), archive))
	_, again = recovered(t, archive, before)
	p.wantGap(t, again, 2)
}

// recovered starts a server and a node from an archive.
func recovered(t *testing.T, archive postgrestest.Archive, until time.Time) (*postgrestest.Server, *DB) {
	t.Helper()
	server := postgrestest.Recover(t, archive, until)
	return server, node(t, server.URL("postgres"), Options{})
}

// wantOrder fails the test unless an order can be placed.
func wantOrder(t *testing.T, db *DB, workspace, pet int64) {
	t.Helper()
	_, err := petstore.NewService(db).CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
	if err != nil {
		t.Errorf("CreateOrder after the recovery = %v", err)
	}
}

// seen returns the orders that were confirmed so far.
func (c *crowd) seen() map[int64]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.confirmed)
}

// end ends the buying.
func (c *crowd) end() {
	close(c.stop)
	c.wg.Wait()
}

// ordersOf returns the ids of the orders that are there.
func ordersOf(t *testing.T, db *DB, workspace int64) map[int64]bool {
	t.Helper()
	all, err := db.Orders(context.Background(), workspace, petstore.OrderQuery{Page: petstore.Page{Limit: petstore.MaxOrder}})
	must(t, err)
	there := make(map[int64]bool, len(all))
	for _, o := range all {
		there[o.ID] = true
	}
	return there
}

// missing counts the confirmed orders that are not there.
func missing(confirmed, there map[int64]bool) (n int) {
	for id := range confirmed {
		if !there[id] {
			n++
		}
	}
	return n
}
