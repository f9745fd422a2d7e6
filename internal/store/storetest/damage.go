package storetest

import (
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
)

// A Damage runs statements of SQL on the database of a store, beside it, with no regard
// for its constraints.
type Damage func(statements string)

// RunDamage tests that Check of an engine, and CheckFeed, find the faults of damaged
// databases.
func RunDamage(t *testing.T, open func(t *testing.T, now func() time.Time) (Stores, Damage)) {
	for _, test := range damages {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var damage Damage
			s := newDamaged(t, func(t *testing.T, now func() time.Time) (s Stores) {
				s, damage = open(t, now)
				return s
			})
			pet := s.pet(10)
			s.order(pet, 1)
			s.order(pet, 2)
			damage(test.damage)
			got, err := s.Check(s.ctx)
			if strings.Contains(test.want, "last event") {
				got, err = s.CheckFeed(s.ctx, s.workspace)
			}
			must(t, err)
			if all := strings.Join(got, "\n"); (len(got) > 0) != (test.want != "") || !strings.Contains(all, test.want) {
				t.Errorf("Check = %q, want %q", all, test.want)
			}
		})
	}
	t.Run("long ledger", func(t *testing.T) {
		t.Parallel()
		testLongLedger(t, open)
	})
}

// damages are done to a pet that was created, stocked and ordered twice.
var damages = []struct{ name, damage, want string }{
	{"none", "", ""},
	{"stock", "UPDATE pets SET quantity = quantity + 1", "pet 1 of workspace 1: the quantity is 8, and its last movement says 7"},
	{"lost movement", "DELETE FROM movements WHERE number = 2", "pet 1 of workspace 1: its ledger lacks the movement 2"},
	{"lost last movement", "DELETE FROM movements WHERE number = 4", "pet 1 of workspace 1: its ledger lacks the last movement"},
	{"ledger cut short", "UPDATE movements SET before = 0 WHERE number = 3", "the movement 3 follows the movement 0"},
	{"ledger of another", "UPDATE movements SET pet = 2 WHERE number = 2", "pet 1 of workspace 1: its ledger lacks the movement 2"},
	{"ledger in a ring", "UPDATE movements SET before = 4 WHERE number = 2", "pet 1 of workspace 1: its ledger lacks the movement 4"},
	{"movement", "UPDATE movements SET quantity = quantity + 1 WHERE number = 3", "the movement 3 leaves 10, after 10 and a change by -1"},
	{"nobody's movement", `INSERT INTO movements (workspace, id, before, pet, number, kind, delta, quantity, at)
		SELECT workspace, 5, 0, pet, 5, kind, delta, quantity, at FROM movements WHERE number = 1; UPDATE counters SET movements = 5`, "workspace 1 has 5 movements, and its pets account for 4"},
	{"counter of movements", "UPDATE counters SET movements = 3", "movements of workspace 1 have the id 4, which was never issued"},
	{"deleted", "UPDATE movements SET kind = 'deleted' WHERE number = 4", "pet 1 of workspace 1 was deleted, and is in the catalogue"},
	{"two movements after one", "UPDATE movements SET before = 2 WHERE number = 4", "the movement 4 follows the movement 2"},
	{"lost order", "DELETE FROM orders WHERE id = 1", "the number of open orders is 2, and the orders say 1"},
	{"order of another", "UPDATE orders SET pet = 2 WHERE id = 1", "the number of open orders is 2, and the orders say 1"},
	{"order that ended", "UPDATE orders SET complete = TRUE WHERE id = 2", "the number of open orders is 2, and the orders say 1"},
	{"forgotten order", "UPDATE pets SET open_orders = 1", "the number of open orders is 1, and the ledger says 2"},
	{"lost pet", "DELETE FROM pets", "order 1 of workspace 1 is open, and its pet 1 does not exist"},
	{"lost pet's ledger", "DELETE FROM pets; DELETE FROM orders", "workspace 1 has 4 movements, and its pets account for 0"},
	{"gone with stock", "UPDATE movements SET kind = 'deleted' WHERE number = 4; DELETE FROM pets; DELETE FROM orders", "pet 1 of workspace 1 was deleted, and its movements leave 7"},
	{"lost category", "DELETE FROM categories", "pet 1 of workspace 1 names the category 1, which does not exist"},
	{"key of nobody", `INSERT INTO api_keys (id, workspace, name, prefix, hash, scopes, created_at)
		SELECT 'key_x', 7, 'x', 'x', value, 1, 0 FROM meta WHERE name = 'secret'`, "the key key_x is of the workspace 7, which does not exist"},
	{"ban of no key", "INSERT INTO bans (key_id, begins_at, ends_at, level, reason, imposed_by) VALUES ('key_x', 0, 0, 1, '', '')", "the key key_x is banned, and does not exist"},
	{"negative stock", "UPDATE pets SET quantity = -1", "the quantity is -1"},
	{"counter", "UPDATE counters SET orders = 1", "orders of workspace 1 have the id 2, which was never issued"},
	{"pet without an event", "UPDATE pets SET name = 'Tom'", "the pet 1 is not as its last event says"},
	{"stock without an event", "UPDATE pets SET quantity = 2", "the inventory 1 is not as its last event says"},
	{"deletion without an event", "DELETE FROM orders WHERE id = 1", "the order 1 is not there, as its last event says"},
}

// testLongLedger: in a ledger that is read in pieces each movement counts.
func testLongLedger(t *testing.T, open func(t *testing.T, now func() time.Time) (Stores, Damage)) {
	var damage Damage
	s := newDamaged(t, func(t *testing.T, now func() time.Time) (s Stores) {
		s, damage = open(t, now)
		return s
	})
	dogs := s.category("dogs")
	s.load(&petstore.Batch{Units: []petstore.Unit{{
		PetID: 1, Pet: &petstore.StockedPet{Pet: petstore.Pet{ID: 1, Name: "Rex", CategoryID: dogs, Status: petstore.Available}, Quantity: 2},
		Movements: longLedger(1, 25_000, petstore.At(start)),
	}}})
	s.checkLedger()
	damage("UPDATE movements SET quantity = 9 WHERE number = 15001")
	want := []string{
		"ledger: pet 1 of workspace 1: the movement 15001 leaves 9, after 2 and a change by -1",
		"ledger: pet 1 of workspace 1: the movement 15002 leaves 2, after 9 and a change by 1",
	}
	if got, err := s.Check(s.ctx); err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("Check = %q, %v, want %q", got, err, want)
	}
}
