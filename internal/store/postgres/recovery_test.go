package postgres_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/postgrestest"
)

// TestRecoveryToTheMomentBefore: after a mistake the database comes back as it was
// before, from a base backup that was taken while the service was busy, and the archived log.
func TestRecoveryToTheMomentBefore(t *testing.T) {
	t.Parallel()
	primary := postgrestest.Start(t, "archive_mode = on")
	db := node(t, primary.URL("postgres"), postgres.Options{})
	workspace, pet := newStocked(t, db, petstore.MaxQuantity)
	crowd := buy(t, workspace, pet, 16, db)
	crowd.more(100)
	began := time.Now()
	archive := primary.Archive(t)
	t.Logf("the base backup took %v", time.Since(began).Round(time.Millisecond))
	crowd.more(500)
	seen := crowd.seen()
	before := time.Now() // one machine, one clock
	crowd.more(500)
	crowd.end()
	after := crowd.seen()
	execute(t, primary.URL("postgres"), "DROP SCHEMA petstore CASCADE")
	must(t, primary.Archived(t.Context(), archive))

	again, took := recovered(t, archive, before)
	kept := ordersOf(t, again, workspace)
	if lost := missing(seen, kept); lost > 0 {
		t.Errorf("%d of %d orders that were confirmed before the moment are lost", lost, len(seen))
	}
	if lost := missing(after, kept); lost == 0 {
		t.Errorf("all %d orders are there, also those that came after the moment", len(after))
	}
	wantSound(t, again)
	t.Logf("%d orders were confirmed before the moment, and %d are there; orders again after %v", len(seen), len(kept), took)
	wantOrder(t, again, workspace, pet)
}

// recovered starts a server and a node from an archive, and returns how long that took.
func recovered(t *testing.T, archive postgrestest.Archive, until time.Time) (*postgres.DB, time.Duration) {
	t.Helper()
	began := time.Now()
	server := postgrestest.Recover(t, archive, until)
	db := node(t, server.URL("postgres"), postgres.Options{})
	return db, time.Since(began).Round(time.Millisecond)
}

// wantOrder fails the test unless an order can be placed.
func wantOrder(t *testing.T, db *postgres.DB, workspace, pet int64) {
	t.Helper()
	_, err := petstore.NewService(db).CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
	if err != nil {
		t.Errorf("CreateOrder after the recovery = %v", err)
	}
}

// seen returns the orders that were confirmed so far, and when.
func (c *crowd) seen() map[int64]time.Time {
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
func ordersOf(t *testing.T, db *postgres.DB, workspace int64) map[int64]bool {
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
func missing(confirmed map[int64]time.Time, there map[int64]bool) (n int) {
	for id := range confirmed {
		if !there[id] {
			n++
		}
	}
	return n
}
