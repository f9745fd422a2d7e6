package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
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

// TestLedgersAreMigrated: a shop of schema 3, where movements lay by animal, has
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
		got, err := db.Movements(t.Context(), 1, pet)
		if pet == 3 && len(got) == 2 {
			got[1].At = petstore.Time{} // just now
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Movements of pet %d = %+v, %v, want %+v", pet, got, err, want)
		}
	}
}

// TestLevelsAreMigrated: the animals of schema 4 have the levels of their
// quantities afterwards, and the orders are found by their ship dates.
func TestLevelsAreMigrated(t *testing.T) {
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
	err = db.read(t.Context(), func(c *conn) error {
		return checkLevels(c, func(format string, args ...any) { t.Errorf(format, args...) })
	})
	if err != nil {
		t.Error(err)
	}
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
// pet, are listed afterwards as they were, before those that come then.
func TestOrdersOfPetsAreMigrated(t *testing.T) {
	t.Parallel()
	path := migratedTo(t, 6, `
		INSERT INTO workspaces (id, name, plan, per_minute, per_day, created_at, state) VALUES (1, 'a', 'free', 1, 1, 0, 1);
		INSERT INTO categories (workspace, id, name, folded) VALUES (1, 1, 'Dogs', 'dogs');
		INSERT INTO counters (workspace, pets, categories, orders, entries) VALUES (1, 1, 1, 40, 41);
		INSERT INTO pets (workspace, id, name, category, status, quantity, open_orders, movements, folded, level, last_entry)
			VALUES (1, 1, 'Rex', 1, 'available', 10, 20, 41, 'rex', 5, 41);
		WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i+1 FROM n WHERE i < 40)
			INSERT INTO orders (workspace, id, pet, quantity, complete) SELECT 1, i, 1, 1, i % 2 FROM n;
		WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i+1 FROM n WHERE i < 40)
			INSERT INTO movements (workspace, entry, before, pet, number, kind, order_id, delta, quantity, at)
			SELECT 1, i+1, i, 1, i+1, iif(i = 0, 'created', iif(i % 2, 'sale', 'placed')), iif(i, i, NULL), iif(i, -1, 50), 50 - i, 0 FROM n;`)
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
	shop, want := petstore.NewService(db), []int64{}
	for id := range int64(40) {
		want = append(want, id+1)
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"nothing", func() error { return nil }},
		{"order 40 is completed", func() error {
			_, err := shop.UpdateOrder(t.Context(), 1, 40, petstore.OrderPatch{Complete: petstore.Some(true)}, petstore.Condition{})
			return err
		}},
		{"order 38 is cancelled", func() error {
			want = slices.DeleteFunc(want, func(id int64) bool { return id == 38 })
			return shop.CancelOrder(t.Context(), 1, 38, petstore.Condition{})
		}},
		{"order 41 is placed", func() error {
			want = append(want, 41)
			_, err := shop.CreateOrder(t.Context(), 1, petstore.NewOrder{PetID: 1, Quantity: 1}, nil)
			return err
		}},
		{"order 36 is completed", func() error {
			_, err := shop.UpdateOrder(t.Context(), 1, 36, petstore.OrderPatch{Complete: petstore.Some(true)}, petstore.Condition{})
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

// TestNamesAreIndexedAnew: an index of an earlier schema may say less exactly where
// grams are, and that of schema 7 may have some without their parts. No backup is
// refused for it, and it is gone afterwards.
func TestNamesAreIndexedAnew(t *testing.T) {
	t.Parallel()
	for schema, grams := range map[int][]string{6: {"b", "o", "bo", "rex"}, 7: {"b", "o", "bo", "rex"}, 8: {"b", "o", "bo"}} {
		more, value := ", recent", ", x''"
		if schema == 6 {
			more, value = "", ""
		}
		var rows strings.Builder
		for _, gram := range grams {
			fmt.Fprintf(&rows, "INSERT INTO name_grams VALUES (1, 2, 0, '%[1]s', -1), (1, 1, 0, '%[1]s', 1), (1, 0, 0, '%[1]s', 1);", gram)
		}
		path := migratedTo(t, schema, `
			INSERT INTO workspaces (id, name, plan, per_minute, per_day, created_at, state) VALUES (1, 'a', 'free', 1, 1, 0, 1);
			INSERT INTO counters (workspace, pets, categories, orders) VALUES (1, 300, 1, 0);
			INSERT INTO categories (workspace, id, name, folded) VALUES (1, 1, 'Dogs', 'dogs');
			WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i+1 FROM n WHERE i < 300)
				INSERT INTO pets (workspace, id, name, category, status, quantity, open_orders, movements, last_entry, level, folded`+more+`)
				SELECT 1, i, 'Bo', 1, 'sold', 0, 0, 0, 0, 0, 'bo'`+value+` FROM n;
			INSERT INTO name_segments VALUES (1, 0, 1, 128, 0), (1, 1, 129, 256, 7);
			INSERT INTO name_grams VALUES (1, 2, 1, 'bo', 1);`+rows.String())
		namesAnew(t, schema, path)
	}
}

// namesAnew checks the index of a file of an earlier schema, and opens it.
func namesAnew(t *testing.T, schema int, path string) {
	t.Helper()
	c, err := openConn(path, true)
	if err != nil {
		t.Fatal(err)
	}
	report := func(format string, args ...any) { t.Errorf("schema %d: "+format, append([]any{schema}, args...)...) }
	if err := checkNames(c, report); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), path, Options{Readers: 1, LeaveNames: true, segment: 2 * fan})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := db.ready(t, 1); got != 0 {
		t.Errorf("schema %d: indexed up to pet %d, want none", schema, got)
	}
	if err := db.IndexNames(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := db.ready(t, 1); got != 256 {
		t.Errorf("schema %d: indexed up to pet %d, want 256", schema, got)
	}
	if err := db.read(t.Context(), func(c *conn) error { return checkNames(c, report) }); err != nil {
		t.Error(err)
	}
}
