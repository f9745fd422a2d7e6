package sqlite

import (
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	sqlite3 "modernc.org/sqlite/lib"
)

// TestStatementsArePreparedOnce: no value that is bound has SQLite plan anew, as a
// partial index, a limit or a pattern can.
func TestStatementsArePreparedOnce(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	s, workspace := petstore.NewService(db), newShop(t, db)
	now, most := petstore.At(time.Now()), int64(7)
	statusOf(db.writer, sqlite3.SQLITE_STMTSTATUS_REPREPARE) // of the migrations
	do := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for i := range int64(3) {
		pet := createPet(t, db, workspace, "Rex")
		_, err := s.UpdateInventory(t.Context(), workspace, pet, 20+i, petstore.Condition{})
		do("UpdateInventory", err)
		for range 2 {
			o, err := s.CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: pet, Quantity: 1 + i}, nil)
			do("CreateOrder", err)
			_, err = s.UpdateOrder(t.Context(), workspace, o.ID, petstore.OrderPatch{Complete: petstore.Some(true)}, petstore.Condition{})
			do("UpdateOrder", err)
			_, err = db.Order(t.Context(), workspace, o.ID)
			do("Order", err)
		}
		page := petstore.Page{After: i, Limit: int(5 + i)}
		for mask := range 16 {
			q := orderQuery(mask)
			q.PetID = int64(mask >> 3)
			q.Page, q.ShipDateFrom.Millis, q.ShipDateTo.Millis = page, i, now.Millis+i
			_, err := db.Orders(t.Context(), workspace, q)
			do("Orders", err)
			_, err = db.Inventory(t.Context(), workspace, petstore.InventoryQuery{Page: page, MaxQuantity: &most, Statuses: petstore.Statuses()[:mask&3]})
			do("Inventory", err)
			_, err = db.Pets(t.Context(), workspace, petstore.PetQuery{Page: page, Statuses: petstore.Statuses()[:mask&3], CategoryID: int64(mask >> 2 & 1), Name: "re"})
			do("Pets", err)
		}
	}
	for name, c := range map[string]*conn{"reader": db.readers.idle[0], "writer": db.writer} {
		if got := statusOf(c, sqlite3.SQLITE_STMTSTATUS_REPREPARE); got != 0 {
			t.Errorf("the %s prepared statements anew %d times, want 0", name, got)
		}
	}
}
