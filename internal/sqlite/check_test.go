package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/sqlite"
)

// TestCheckFinds plants damage in the ledger.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, damage, want string }{
		{"none", "", ""},
		{"stock", "UPDATE pets SET quantity=quantity+1", "pet 1 of workspace 1: the quantity is 8, and the sum of its movements is 7"},
		{"lost movement", "DELETE FROM movements WHERE number=2", "the number of movements is 4, and the ledger has 3"},
		{"lost last movement", "DELETE FROM movements WHERE number=4", "the quantity is 7, and its last movement says 9"},
		{"lost order", "DELETE FROM orders WHERE id=1", "the number of open orders is 2, and the orders say 1"},
		{"forgotten order", "UPDATE pets SET open_orders=1", "the number of open orders is 1, and the ledger says 2"},
		{"lost pet", "DELETE FROM pets", "order 1 of workspace 1 is open, and its pet 1 does not exist"},
		{"lost pet's ledger", "DELETE FROM pets; DELETE FROM orders", "pet 1 of workspace 1 is gone, and its movements leave 7"},
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
