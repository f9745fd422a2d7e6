package postgres_test

import (
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/postgrestest"
)

// TestReadsGoToThePrimary: of several hosts the first is a standby that lags
// behind. What was written is read all the same.
func TestReadsGoToThePrimary(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	primary := postgrestest.Start(t)
	standby := primary.Standby(t)
	db := node(t, postgrestest.URL("postgres", standby, primary), postgres.Options{})
	workspace, pet := newStocked(t, db, petstore.MaxQuantity)
	eventually(t, "the workspace at the standby", func() bool {
		var n int
		err := direct(t, standby.URL("postgres")).QueryRow(ctx, "SELECT count(*) FROM petstore.pets").Scan(&n)
		return err == nil && n == 1
	})
	must(t, standby.Exec(ctx, "postgres", "SELECT pg_wal_replay_pause()"))
	if _, err := petstore.NewService(db).UpdateInventory(ctx, workspace, pet, 7, petstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	if got, err := db.InventoryItem(ctx, workspace, pet); err != nil || got.Quantity != 7 {
		t.Errorf("InventoryItem after writing 7 = %+v, %v", got, err)
	}
}
