package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A Damage runs statements of SQL on the database of a store, beside it, with no regard
// for its constraints.
type Damage func(statements string)

// RunDamage tests that Check of an engine, and CheckFeed, find the faults of a damaged
// database. Each is in a workspace of its own.
func RunDamage(t *testing.T, open func(t *testing.T, now func() time.Time) (Stores, Damage)) {
	t.Helper()
	var damage Damage
	s := newDamaged(t, func(t *testing.T, now func() time.Time) (s Stores) {
		t.Helper()
		s, damage = open(t, now)
		return s
	})
	ids := make([]*strings.Replacer, len(damages))
	var statements strings.Builder
	for i, test := range damages {
		one := s.beside(test.name)
		pet := one.pet(10)
		one.order(pet, 1)
		one.order(pet, 2)
		ids[i] = strings.NewReplacer("$w", fmt.Sprint(one.workspace))
		statements.WriteString(ids[i].Replace(test.damage) + ";")
	}
	s.checkLedger()
	damage(statements.String())
	problems, err := s.Check(s.ctx)
	must(t, err)
	for i, test := range damages {
		found, want := problems, ids[i].Replace(test.want)
		if strings.HasPrefix(want, "events: ") {
			var id int64
			_, err := fmt.Sscanf(want, "events: workspace %d", &id)
			must(t, err)
			found, err = s.CheckFeed(s.ctx, id)
			must(t, err)
		}
		if !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, want) }) {
			t.Errorf("%s: the problems are %q, want %q", test.name, found, want)
		}
	}
	if all := strings.Join(problems, "\n"); strings.Contains(all, fmt.Sprintf("workspace %d: ", s.workspace+1)) {
		t.Errorf("Check = %s, want nothing of the workspace %d, which is the first", all, s.workspace+1)
	}
}

// damages are done to a pet that was created, stocked and ordered twice, in the workspace $w.
var damages = []struct{ name, damage, want string }{
	{"none", "", ""},
	{"stock", "UPDATE pets SET quantity = quantity + 1 WHERE workspace = $w",
		"pet 1 of workspace $w: the quantity is 8, and its last movement says 7"},
	{"lost movement", "DELETE FROM movements WHERE number = 2 AND workspace = $w", "pet 1 of workspace $w: its ledger lacks the movement 2"},
	{"lost last movement", "DELETE FROM movements WHERE number = 4 AND workspace = $w",
		"pet 1 of workspace $w: its ledger lacks the last movement"},
	{"ledger cut short", "UPDATE movements SET before = 0 WHERE number = 3 AND workspace = $w",
		"pet 1 of workspace $w: the movement 3 follows the movement 0"},
	{"ledger of another", "UPDATE movements SET pet = 2 WHERE number = 2 AND workspace = $w",
		"pet 1 of workspace $w: its ledger lacks the movement 2"},
	{"ledger in a ring", "UPDATE movements SET before = 4 WHERE number = 2 AND workspace = $w",
		"pet 1 of workspace $w: its ledger lacks the movement 4"},
	{"movement", "UPDATE movements SET quantity = quantity + 1 WHERE number = 3 AND workspace = $w",
		"pet 1 of workspace $w: the movement 3 leaves 10, after 10 and a change by -1"},
	{"nobody's movement", `INSERT INTO movements (workspace, id, before, pet, number, kind, delta, quantity, at)
		SELECT workspace, 5, 0, pet, 5, kind, delta, quantity, at FROM movements WHERE number = 1 AND workspace = $w; UPDATE counters SET movements = 5 WHERE workspace = $w`,
		"workspace $w: its pets have 4 movements, and its ledger has 5"},
	{"counter of movements", "UPDATE counters SET movements = 3 WHERE workspace = $w",
		"movements of workspace $w have the id 4, which was never issued"},
	{"deleted", "UPDATE movements SET kind = 'deleted' WHERE number = 4 AND workspace = $w",
		"pet 1 of workspace $w was deleted, and is in the catalogue"},
	{"two movements after one", "UPDATE movements SET before = 2 WHERE number = 4 AND workspace = $w",
		"pet 1 of workspace $w: the movement 4 follows the movement 2"},
	{"lost order", "DELETE FROM orders WHERE id = 1 AND workspace = $w",
		"pet 1 of workspace $w: the number of open orders is 2, and the orders say 1"},
	{"order of another", "UPDATE orders SET pet = 2 WHERE id = 1 AND workspace = $w",
		"pet 1 of workspace $w: the number of open orders is 2, and the orders say 1"},
	{"order that ended", "UPDATE orders SET complete = TRUE WHERE id = 2 AND workspace = $w",
		"pet 1 of workspace $w: the number of open orders is 2, and the orders say 1"},
	{"forgotten order", "UPDATE pets SET open_orders = 1 WHERE workspace = $w",
		"pet 1 of workspace $w: the number of open orders is 1, and the orders say 2"},
	{"movement of another kind", "UPDATE movements SET kind = 'set' WHERE number = 3 AND workspace = $w",
		"workspace $w: its pets have 2 open orders, and its ledger has 1"},
	{"lost pet", "DELETE FROM pets WHERE workspace = $w", "order 1 of workspace $w is open, and its pet 1 does not exist"},
	{"lost pet's ledger", "DELETE FROM pets WHERE workspace = $w; DELETE FROM orders WHERE workspace = $w",
		"workspace $w: its pets have 0 movements, and its ledger has 4"},
	{"gone with stock", "UPDATE movements SET kind = 'deleted' WHERE number = 4 AND workspace = $w; DELETE FROM pets WHERE workspace = $w; DELETE FROM orders WHERE workspace = $w",
		"pet 1 of workspace $w was deleted, and its movements leave 7"},
	{"lost category", "DELETE FROM categories WHERE workspace = $w", "pet 1 of workspace $w names the category 1, which does not exist"},
	{"key of nobody", `INSERT INTO api_keys (id, workspace, name, prefix, hash, scopes, created_at)
		SELECT 'key_x', 700, 'x', 'x', value, 1, 0 FROM meta WHERE name = 'secret'`, "the key key_x is of the workspace 700, which does not exist"},
	{"negative stock", "UPDATE pets SET quantity = -1 WHERE workspace = $w", "pet 1 of workspace $w: the quantity is -1"},
	{"counter", "UPDATE counters SET orders = 1 WHERE workspace = $w", "orders of workspace $w have the id 2, which was never issued"},
	{"pet without an event", "UPDATE pets SET name = 'Tom' WHERE workspace = $w",
		"events: workspace $w: the pet 1 is not as its last event says"},
	{"stock without an event", "UPDATE pets SET quantity = 2 WHERE workspace = $w",
		"events: workspace $w: the inventory 1 is not as its last event says"},
	{"deletion without an event", "DELETE FROM orders WHERE id = 1 AND workspace = $w",
		"events: workspace $w: the order 1 is not there, as its last event says"},
}
