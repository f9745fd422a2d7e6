package sqlite

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite/sqlitex"
)

// migratedTo makes a new file with the migrations up to a version, and what a
// script writes into it.
func migratedTo(t *testing.T, version int, script string) (path string) {
	t.Helper()
	path, err := prepareFile(filepath.Join(t.TempDir(), "petstore.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := openConn(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	all, err := c.migrations()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := known.Up(all[:version], time.Now, c.apply); err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteScript(c.Conn, script, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLedgersAreMigrated: a workspace of schema 3, where movements lay by pet, has
// them afterwards as they were, and goes on.
func TestLedgersAreMigrated(t *testing.T) {
	t.Parallel()
	path := migratedTo(t, 3, `
		INSERT INTO workspaces (id, name, plan, per_minute, per_day, created_at, state) VALUES (1, 'a', 'free', 1, 1, 0, 1), (2, 'b', 'free', 1, 1, 0, 1), (3, 'c', 'free', 1, 1, 0, 1);
		INSERT INTO counters (workspace, pets, categories, orders) VALUES (1, 3, 1, 2), (2, 1, 1, 0), (3, 0, 0, 0);
		INSERT INTO categories (workspace, id, name, folded) VALUES (1, 1, 'Dogs', 'dogs'), (2, 1, 'Dogs', 'dogs');
		INSERT INTO pets (workspace, id, name, category, status, quantity, open_orders, movements, folded) VALUES
			(1, 1, 'Rex', 1, 'available', 8, 1, 3, 'rex'), (1, 3, 'Ida', 1, 'available', 5, 0, 1, 'ida'), (2, 1, 'Bo', 1, 'sold', 0, 0, 1, 'bo');
		INSERT INTO orders (workspace, id, pet, quantity, complete) VALUES (1, 1, 1, 1, 1), (1, 2, 1, 1, 0);
		INSERT INTO movements (workspace, pet, number, kind, order_id, delta, quantity, at) VALUES
			(1, 1, 1, 'created', NULL, 10, 10, 100), (1, 1, 2, 'sale', 1, -1, 9, 101), (1, 1, 3, 'placed', 2, -1, 8, 102),
			(1, 2, 1, 'created', NULL, 4, 4, 100), (1, 2, 2, 'deleted', NULL, -4, 0, 103),
			(1, 3, 1, 'created', NULL, 5, 5, 104), (2, 1, 1, 'created', NULL, 0, 0, 105);`)
	if err := Backup(t.Context(), path, path+".copy"); err != nil {
		t.Errorf("a backup before the migration: %v", err)
	}
	db, err := Open(t.Context(), path, Options{Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sold, err := petstore.NewService(db).CreateOrder(t.Context(), 1, petstore.NewOrder{PetID: 3, Quantity: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("Check = %q, %v, want nothing", problems, err)
	}
	at := func(ms int64) petstore.Time { return petstore.Time{Millis: ms, Valid: true} }
	for pet, want := range map[int64][]petstore.Movement{
		1: {
			{PetID: 1, Number: 1, Kind: petstore.MovedCreated, Delta: 10, Quantity: 10, At: at(100)},
			{PetID: 1, Number: 2, Kind: petstore.MovedSale, OrderID: 1, Delta: -1, Quantity: 9, At: at(101)},
			{PetID: 1, Number: 3, Kind: petstore.MovedPlaced, OrderID: 2, Delta: -1, Quantity: 8, At: at(102)},
		},
		2: {
			{PetID: 2, Number: 1, Kind: petstore.MovedCreated, Delta: 4, Quantity: 4, At: at(100)},
			{PetID: 2, Number: 2, Kind: petstore.MovedDeleted, Delta: -4, At: at(103)},
		},
		3: {
			{PetID: 3, Number: 1, Kind: petstore.MovedCreated, Delta: 5, Quantity: 5, At: at(104)},
			{PetID: 3, Number: 2, Kind: petstore.MovedPlaced, OrderID: sold.ID, Delta: -2, Quantity: 3},
		},
	} {
		got, _, err := db.Movements(t.Context(), 1, pet, 0, 100)
		slices.Reverse(got)
		if pet == 3 && len(got) == 2 {
			got[1].At = petstore.Time{} // just now
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Movements of pet %d = %+v, %v, want %+v", pet, got, err, want)
		}
	}
}

// TestValuesAreMigrated: the pets of schema 4 are found by their quantities afterwards,
// and the orders by their ship dates.
func TestValuesAreMigrated(t *testing.T) {
	t.Parallel()
	path := migratedTo(t, 4, `
		INSERT INTO categories (workspace, id, name, folded) VALUES (1, 1, 'Dogs', 'dogs');
		INSERT INTO counters (workspace, pets, categories, orders) VALUES (1, 6000, 1, 3);
		WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i+1 FROM n WHERE i < 6000)
			INSERT INTO pets (workspace, id, name, category, status, quantity, open_orders, movements, folded)
			SELECT 1, i, 'Rex', 1, 'available', CASE WHEN i <= 3000 THEN i - 1 ELSE (i - 3000) * (i - 3000) * 120 END, 0, 0, 'rex' FROM n;
		INSERT INTO orders (workspace, id, pet, quantity, ship_date, complete) VALUES (1, 1, 1, 1, -1, 1), (1, 2, 1, 1, NULL, 0), (1, 3, 1, 1, 86400000, 1);`)
	db, err := Open(t.Context(), path, Options{Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	most := int64(2)
	items, err := db.Inventory(t.Context(), 1, petstore.InventoryQuery{Page: petstore.Page{Limit: 100}, MaxQuantity: &most})
	if len(items) != 3 || err != nil {
		t.Errorf("Inventory of at most 2 = %v, %v, want the first three pets", items, err)
	}
	orders, err := db.Orders(t.Context(), 1, petstore.OrderQuery{Page: petstore.Page{Limit: 100}, ShipDateFrom: petstore.Time{Millis: 1, Valid: true}})
	if len(orders) != 1 || orders[0].ID != 3 || err != nil {
		t.Errorf("Orders from the first day on = %v, %v, want the third", orders, err)
	}
}

// TestOrdersOfPetsAreMigrated: the orders of schema 6, where an index led to those of a
// pet, and of schema 16, where its row had the latest in another form, are listed
// afterwards as they were, before those that come then.
func TestOrdersOfPetsAreMigrated(t *testing.T) {
	t.Parallel()
	t.Run("schema 6", func(t *testing.T) {
		t.Parallel()
		testOrdersMigrated(t, 6, "")
	})
	t.Run("schema 16", func(t *testing.T) {
		t.Parallel()
		testOrdersMigrated(t, 16, `
			WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i+1 FROM n WHERE i < 30)
				INSERT INTO pet_orders (workspace, pet, complete, id) SELECT 1, 1, i % 2, i FROM n;
			UPDATE names_indexed SET workspace=0, pet=0;
			UPDATE pets SET recent=x'013f0203020302030203020000000000';`) // those from 31 on: how much each id is greater
	})
}

// testOrdersMigrated tests a file of a schema with forty orders of a pet, which a
// script lists.
func testOrdersMigrated(t *testing.T, schema int, lists string) {
	t.Helper()
	path := migratedTo(t, schema, `
		INSERT INTO workspaces (id, name, plan, per_minute, per_day, created_at, state) VALUES (1, 'a', 'free', 1, 1, 0, 1);
		INSERT INTO categories (workspace, id, name, folded) VALUES (1, 1, 'Dogs', 'dogs');
		INSERT INTO counters (workspace, pets, categories, orders, entries) VALUES (1, 1, 1, 40, 41);
		INSERT INTO pets (workspace, id, name, category, status, quantity, open_orders, movements, folded, last_entry)
			VALUES (1, 1, 'Rex', 1, 'available', 10, 20, 41, 'rex', 41);
		WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i+1 FROM n WHERE i < 40)
			INSERT INTO orders (workspace, id, pet, quantity, complete) SELECT 1, i, 1, 1, i % 2 FROM n;
		WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i+1 FROM n WHERE i < 40)
			INSERT INTO movements (workspace, entry, before, pet, number, kind, order_id, delta, quantity, at)
			SELECT 1, i+1, i, 1, i+1, iif(i = 0, 'created', iif(i % 2, 'sale', 'placed')), iif(i, i, NULL), iif(i, -1, 50), 50 - i, 0 FROM n;`+lists)
	c, err := openConn(path, true)
	if err != nil {
		t.Fatal(err)
	}
	before, err := c.problems()
	if err = errors.Join(err, c.Close()); err != nil || len(before) > 0 {
		t.Fatalf("before: %q, %v, want nothing", before, err)
	}
	db, err := Open(t.Context(), path, Options{Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	service, want := petstore.NewService(db), []int64{}
	for id := range int64(40) {
		want = append(want, id+1)
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"nothing", func() error { return nil }},
		{"order 40 is completed", func() error {
			_, err := service.UpdateOrder(t.Context(), 1, 40, petstore.OrderPatch{Complete: petstore.Some(true)}, petstore.Condition{})
			return err
		}},
		{"order 38 is cancelled", func() error {
			want = slices.DeleteFunc(want, func(id int64) bool { return id == 38 })
			return service.CancelOrder(t.Context(), 1, 38, petstore.Condition{})
		}},
		{"order 41 is placed", func() error {
			want = append(want, 41)
			_, err := service.CreateOrder(t.Context(), 1, petstore.NewOrder{PetID: 1, Quantity: 1}, nil)
			return err
		}},
		{"order 36 is completed", func() error {
			_, err := service.UpdateOrder(t.Context(), 1, 36, petstore.OrderPatch{Complete: petstore.Some(true)}, petstore.Condition{})
			return err
		}},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		got := []int64{}
		orders, err := db.Orders(t.Context(), 1, petstore.OrderQuery{PetID: 1, Page: petstore.Page{Limit: 100}})
		for _, o := range orders {
			got = append(got, o.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: orders of the pet = %v, %v, want %v", step.name, got, err, want)
		}
		if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
			t.Errorf("%s: Check = %q, %v, want nothing", step.name, problems, err)
		}
	}
}

// TestNamesAreMigrated: the names of an earlier schema are found, whatever is done to them
// then; also those of a file whose names were not all indexed when it was closed.
func TestNamesAreMigrated(t *testing.T) {
	t.Parallel()
	const count = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i+1 FROM n WHERE i < 3000) "
	const leveled = count + `INSERT INTO pets (workspace, id, name, category, status, quantity, open_orders, movements, last_entry, level, folded)
		SELECT 1, i, 'Bo '||i, 1, 'sold', 0, 0, 0, 0, 0, 'bo '||i FROM n;`
	const half = count + `INSERT INTO pets (workspace, id, name, category, status, quantity, open_orders, movements, last_entry, folded)
		SELECT 1, i, 'Bo '||i, 1, 'sold', 0, 0, 0, 0, 'bo '||i FROM n;
		INSERT INTO pet_names (rowid, name) SELECT number, name FROM indexed_names WHERE number <= (1<<40)+1000;
		UPDATE names_indexed SET workspace=1, pet=1000;`
	for schema, pets := range map[int]string{5: leveled, 6: leveled, 7: leveled, 8: leveled, 9: leveled, 18: half} {
		path := migratedTo(t, schema, `
			INSERT INTO workspaces (id, name, plan, per_minute, per_day, created_at, state) VALUES (1, 'a', 'free', 1, 1, 0, 1);
			INSERT INTO counters (workspace, pets, categories, orders) VALUES (1, 3000, 1, 0);
			INSERT INTO categories (workspace, id, name, folded) VALUES (1, 1, 'Dogs', 'dogs');`+pets)
		db, err := Open(t.Context(), path, Options{Readers: 1})
		if err != nil {
			t.Fatal(err)
		}
		for id, text := range map[int64]string{2999: "bo 2999", 1234: "bo 1234", 999: "bo 999"} {
			wantNames(t, db, text, id)
		}
		for _, id := range []int64{2999, 3} {
			if err := nameAnew(db, 1, id, "Rex"); err != nil {
				t.Fatal(err)
			}
		}
		wantNames(t, db, "bo 2999")
		wantNames(t, db, "rex", 3, 2999)
		if err := db.read(t.Context(), snapshot(func(c *conn) error { return checkNames(c, t.Errorf) })); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// wantNames fails the test unless a search finds these pets.
func wantNames(t *testing.T, db *DB, text string, want ...int64) {
	t.Helper()
	found, err := db.Pets(t.Context(), 1, petstore.PetQuery{Page: petstore.Page{Limit: 100}, Name: text})
	var got []int64
	for _, pet := range found {
		got = append(got, pet.ID)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("pets named %q = %v, %v, want %v", text, got, err, want)
	}
}
