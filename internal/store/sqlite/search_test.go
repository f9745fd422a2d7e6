package sqlite

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// openUnsynced opens a new database that does not wait for the disk.
func openUnsynced(t testing.TB) *DB {
	t.Helper()
	db := openTest(t, Options{Readers: 2})
	if err := db.writer.exec("PRAGMA synchronous=OFF"); err != nil { // nothing is lost here
		t.Fatal(err)
	}
	return db
}

func newWorkspace(t testing.TB, ctx context.Context, db *DB, name string) int64 { //nolint:revive // as long as others use it so
	t.Helper()
	w, err := db.CreateWorkspace(ctx, access.Workspace{Name: name, Plan: access.Free, Quota: access.FreeQuota}, "test")
	must(t, err)
	return w.ID
}

// TestSearchesFindNoncharacters, which FTS5 takes for another letter.
func TestSearchesFindNoncharacters(t *testing.T) {
	t.Parallel()
	db := openUnsynced(t)
	workspace := newShop(t, db)
	for _, name := range []string{"a\uFFFEb", "\uFFFF", "\uFFFDabc", "\U0001FFFF"} {
		pet := createPet(t, db, workspace, name)
		for _, text := range append(strings.Split(name, ""), name) {
			found, err := db.Pets(t.Context(), workspace, petstore.PetQuery{Page: petstore.Page{Limit: 20}, Name: text})
			if err != nil || !slices.ContainsFunc(found, func(p petstore.Pet) bool { return p.ID == pet }) {
				t.Errorf("Pets of %+q = %+v, %v, want %+q among them", text, found, err, name)
			}
		}
	}
	if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("Check = %q, %v, want nothing", problems, err)
	}
}

// importNames imports a pet for each name.
func importNames(t testing.TB, db *DB, workspace int64, names ...string) {
	t.Helper()
	kind := &petstore.Category{Name: "Dogs"}
	units := []petstore.Unit{{Category: kind}}
	for _, name := range names {
		units = append(units, petstore.Unit{In: kind, Pet: &petstore.StockedPet{Pet: petstore.Pet{Name: name, Status: petstore.Available}, Quantity: 1}})
	}
	for i := range units {
		if _, err := units[i].Check(petstore.At(time.Now())); err != nil {
			t.Fatal(err)
		}
	}
	if refused, err := db.Load(t.Context(), workspace, &petstore.Batch{Units: units}); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
}

// TestTheIndexHasTheNames, whatever happens to the pets: FTS5 compares both.
func TestTheIndexHasTheNames(t *testing.T) {
	t.Parallel()
	db := openUnsynced(t)
	importNames(t, db, newWorkspace(t, t.Context(), db, "acme"), "Rex", "Rex", "Tom", "Ida")
	check := func() error {
		return db.change(t.Context(), func(c *conn) error {
			return c.exec("INSERT INTO pet_names (pet_names, rank) VALUES ('integrity-check', 1)")
		})
	}
	for _, happens := range []string{
		"SELECT 1", "UPDATE pets SET folded = 'max' WHERE id = 3", "UPDATE pets SET quantity = 2", "DELETE FROM pets WHERE id < 3",
		"INSERT INTO pets SELECT workspace, (1 << 40) + id, name, category, status, quantity, open_orders, movements, last_movement, folded FROM pets",
		"UPDATE pets SET folded = 'kim'", "DELETE FROM pets WHERE id >= 1 << 40", // which are not in the index
	} {
		must(t, db.change(t.Context(), func(c *conn) error { return c.exec(happens) }))
		if err := check(); err != nil {
			t.Errorf("after %s the index has other names: %v", happens, err)
		}
	}
	must(t, db.change(t.Context(), func(c *conn) error {
		return c.exec("INSERT INTO pet_names (pet_names, rowid, name) VALUES ('delete', (1<<40)+3, 'kim')")
	}))
	if check() == nil {
		t.Error("the check does not find that a name is missing")
	}
}

// TestPhrases: of a long text both ends are asked for, so that what many names have at one
// of them costs little.
func TestPhrases(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"rex":               `"rex"`,
		"number":            `"number"`,
		"numbers":           `"number" AND "umbers"`,
		"pet number 150001": `"pet nu" AND "150001"`,
		`say "so" to ida`:   `"say ""s" AND "to ida"`,
		"abc\uFFFF":         "\"abc\uFFFD\"",
	} {
		if got := phrases([]rune(text)); got != want {
			t.Errorf("phrases(%q) = %s, want %s", text, got, want)
		}
	}
}
