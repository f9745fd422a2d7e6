package sqlite

import (
	"reflect"
	"regexp"
	"strconv"
	"testing"

	"example.com/petstore/internal/petstore"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

const testDay = 24 * 60 * 60 * 1000

// stock writes pets and orders, with the ids from 1 on, into workspace 1.
func stock(t *testing.T, db *DB, items []petstore.InventoryItem, orders []petstore.Order) {
	t.Helper()
	err := db.change(t.Context(), func(c *conn) error {
		if err := c.exec("INSERT INTO categories (workspace, id, name, folded) VALUES (1, 1, 'Dogs', 'dogs')"); err != nil {
			return err
		}
		for _, i := range items {
			err := c.exec(`INSERT INTO pets (workspace, id, name, category, status, quantity, open_orders, movements, folded)
				VALUES (1, ?, 'Rex', 1, ?, ?, 0, 0, 'rex')`, i.PetID, string(i.Status), i.Quantity)
			if err != nil {
				return err
			}
		}
		for i, o := range orders {
			var shipDate any
			if o.ShipDate.Valid {
				shipDate = o.ShipDate.Millis
			}
			if err := c.exec("INSERT INTO orders (workspace, id, pet, quantity, complete, ship_date) VALUES (1, ?, ?, ?, ?, ?)",
				i+1, o.PetID, o.Quantity, o.Complete, shipDate); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// openForWorkspace opens a new database that can issue ids in workspace 1.
func openForWorkspace(t *testing.T) *DB {
	t.Helper()
	db := openTest(t, Options{Readers: 1}) // nobody else uses the reader
	if err := db.change(t.Context(), func(c *conn) error {
		return c.exec("INSERT INTO counters (workspace) VALUES (1)")
	}); err != nil {
		t.Fatal(err)
	}
	return db
}

// TestListsByValueReadLittle: filters that nothing passes, or little, cost the same in
// a workspace four times as large.
func TestListsByValueReadLittle(t *testing.T) {
	t.Parallel()
	var steps [2]map[string]int32
	for i, size := range []int64{4_500, 18_000} {
		db := openForWorkspace(t)
		items, orders := make([]petstore.InventoryItem, size), make([]petstore.Order, size)
		for i := range size {
			items[i] = petstore.InventoryItem{PetID: i + 1, Quantity: 90, Status: petstore.Statuses()[i%3]}
			orders[i] = petstore.Order{PetID: 1, Quantity: 1, Complete: i%2 == 0, ShipDate: petstore.Time{Millis: i % 9 * testDay, Valid: i%2 == 0}}
		}
		items[size-1].Quantity = 3
		stock(t, db, items, orders)
		steps[i] = filteredSteps(t, db)
	}
	for what, small := range steps[0] {
		if large := steps[1][what]; large > small*11/10 {
			t.Errorf("%s takes %d steps of SQLite's machine in the large workspace, %d in the small one, want as many", what, large, small)
		}
	}
}

// filteredSteps returns how many steps of SQLite's machine lists take that few rows
// of TestListsByValueReadLittle pass, of 0 and 1.
func filteredSteps(t *testing.T, db *DB) map[string]int32 {
	t.Helper()
	steps := map[string]int32{}
	page := petstore.Page{Limit: 21}
	count := func(what string, want int, list func() (int, error)) {
		t.Helper()
		machineSteps(db)
		if got, err := list(); got != want || err != nil {
			t.Errorf("%s: %d rows, %v, want %d", what, got, err, want)
		}
		steps[what] = machineSteps(db)
	}
	for most, want := range map[int64]int{0: 0, 1: 0, 7: 1, 20: 1} {
		count("quantity of at most "+strconv.FormatInt(most, 10), want, func() (int, error) {
			got, err := db.Inventory(t.Context(), 1, petstore.InventoryQuery{Page: page, MaxQuantity: &most})
			return len(got), err
		})
	}
	day := func(n int64) petstore.Time { return petstore.Time{Millis: n * testDay, Valid: true} }
	incomplete := false
	for what, q := range map[string]petstore.OrderQuery{
		"ship date from":         {ShipDateFrom: day(10)},
		"ship date to":           {ShipDateTo: day(-1)},
		"ship date of open ones": {ShipDateFrom: day(1), Complete: &incomplete},
	} {
		q.Page = page
		count(what, 0, func() (int, error) {
			got, err := db.Orders(t.Context(), 1, q)
			return len(got), err
		})
	}
	return steps
}

// ofEngine matches the statements that are not ours.
var ofEngine = regexp.MustCompile("^(PRAGMA|REPLACE INTO 'main'[.]'pet_names)")

// machineSteps returns how many steps the only reader's statements took since it
// was last called.
func machineSteps(db *DB) int32 {
	return statusOf(db.readers.idle[0], sqlite3.SQLITE_STMTSTATUS_VM_STEP)
}

// statusOf returns the sum of what SQLite counted of a connection's statements but
// pragmas and those of FTS5 itself, and has it begin anew (https://sqlite.org/c3ref/stmt_status.html).
func statusOf(c *conn, counter int32) (sum int32) {
	tls := libc.NewTLS()
	defer tls.Close()
	handle := uintptr(reflect.ValueOf(c.Conn).Elem().FieldByName("conn").Uint())
	for stmt := sqlite3.Xsqlite3_next_stmt(tls, handle, 0); stmt != 0; stmt = sqlite3.Xsqlite3_next_stmt(tls, handle, stmt) {
		if n := sqlite3.Xsqlite3_stmt_status(tls, stmt, counter, 1); !ofEngine.MatchString(libc.GoString(sqlite3.Xsqlite3_sql(tls, stmt))) {
			sum += n
		}
	}
	return sum
}

// TestOrdersWithoutShipDates pay nothing for the index by ship date.
func TestOrdersWithoutShipDates(t *testing.T) {
	t.Parallel()
	db := openForWorkspace(t)
	entries := func() (n int64) {
		t.Helper()
		err := db.read(t.Context(), func(c *conn) (err error) {
			n, err = c.number("SELECT sum(ncell) FROM dbstat WHERE name='orders_by_ship_date'")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	stock(t, db, nil, []petstore.Order{{PetID: 1, Quantity: 1}, {PetID: 1, Quantity: 1}})
	if got := entries(); got != 0 {
		t.Errorf("the index has %d entries, want none", got)
	}
	_, err := db.Do(t.Context(), &petstore.Change{Workspace: 1, Needs: petstore.Needs{OrderID: 1}, Decide: func(f petstore.Facts) (petstore.Effects, error) {
		f.Order.Complete, f.Order.ShipDate = true, petstore.Time{Millis: 1, Valid: true}
		return petstore.Effects{SaveOrder: f.Order}, nil
	}})
	if got := entries(); got != 1 || err != nil {
		t.Errorf("the index has %d entries after one order was shipped, %v, want 1", got, err)
	}
}
