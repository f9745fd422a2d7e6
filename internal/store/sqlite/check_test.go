package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/sqlite"
)

// TestCheckFinds plants damage in the ledger.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, damage, want string }{
		{"none", "", ""},
		{"stock", "UPDATE pets SET quantity=quantity+1", "pet 1 of workspace 1: the quantity is 8, and its last movement says 7"},
		{"lost movement", "DELETE FROM movements WHERE number=2", "pet 1 of workspace 1: its ledger lacks the movement 2"},
		{"lost last movement", "DELETE FROM movements WHERE number=4", "pet 1 of workspace 1: its ledger lacks the last movement"},
		{"ledger cut short", "UPDATE movements SET before=0 WHERE number=3", "the movement 3 follows the movement 0"},
		{"ledger of another", "UPDATE movements SET pet=2 WHERE number=2", "pet 1 of workspace 1: its ledger lacks the movement 2"},
		{"ledger in a ring", "PRAGMA ignore_check_constraints=ON; UPDATE movements SET before=4 WHERE number=2", "pet 1 of workspace 1: its ledger lacks the movement 4"},
		{"movement", "UPDATE movements SET quantity=quantity+1 WHERE number=3", "the movement 3 leaves 10, after 10 and a change by -1"},
		{"nobody's movement", "INSERT INTO movements SELECT workspace, 5, 0, pet, 5, kind, order_id, delta, quantity, at FROM movements WHERE number=1", "workspace 1 has 5 movements, and its pets account for 4"},
		{"counter of movements", "UPDATE counters SET movements=3", "movements of workspace 1 have the id 4, which was never issued"},
		{"deleted", "UPDATE movements SET kind='deleted' WHERE number=4", "pet 1 of workspace 1 was deleted, and is in the catalogue"},
		{"two movements after one", "UPDATE movements SET before=2 WHERE number=4", "the movement 4 follows the movement 2"},
		{"lost order", "DELETE FROM orders WHERE id=1", "the number of open orders is 2, and the orders say 1"},
		{"order of another", "UPDATE orders SET pet=2 WHERE id=1", "the number of open orders is 2, and the orders say 1"},
		{"order that ended", "UPDATE orders SET complete=1 WHERE id=2", "the number of open orders is 2, and the orders say 1"},
		{"forgotten order", "UPDATE pets SET open_orders=1", "the number of open orders is 1, and the ledger says 2"},
		{"lost pet", "DELETE FROM pets", "order 1 of workspace 1 is open, and its pet 1 does not exist"},
		{"lost pet's ledger", "DELETE FROM pets; DELETE FROM orders", "workspace 1 has 4 movements, and its pets account for 0"},
		{"gone with stock", "UPDATE movements SET kind='deleted' WHERE number=4; DELETE FROM pets; DELETE FROM orders", "pet 1 of workspace 1 was deleted, and its movements leave 7"},
		{"lost category", "PRAGMA foreign_keys=OFF; DELETE FROM categories", "a row of pets names one of categories that does not exist"},
		{"negative stock", "PRAGMA ignore_check_constraints=ON; UPDATE pets SET quantity=-1", "the quantity is -1"},
		{"counter", "UPDATE counters SET orders=1", "orders of workspace 1 have the id 2, which was never issued"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "petstore.db")
			db := openAt(t, path, sqlite.Options{Readers: 1})
			workspace := newShop(t, db, 10)
			for quantity := range int64(2) {
				if _, err := petstore.NewService(db).CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: 1, Quantity: quantity + 1}, nil); err != nil {
					t.Fatal(err)
				}
			}
			script(t, path, test.damage)
			got, err := db.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(got, "\n"); (len(got) > 0) != (test.want != "") || !strings.Contains(all, test.want) {
				t.Errorf("Check = %q, want %q", all, test.want)
			}
		})
	}
}
