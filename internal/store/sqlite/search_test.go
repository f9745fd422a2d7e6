package sqlite

import (
	"testing"
	"time"

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
	importNames(t, db, newWorkspace(t, db, "acme"), "Rex", "Rex", "Tom", "Ida", "Ada", "Ben", "Cleo", "Dora")
	segments, err := db.writer.number("SELECT count(DISTINCT segid) FROM pet_names_idx")
	if must(t, err); segments != 1 { // FTS5 begins another one for a row that comes before the last one
		t.Errorf("one import has made %d segments of the index, want 1", segments)
	}
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

// TestImportMergesTheIndex: after a large import a search reads one part of the index.
func TestImportMergesTheIndex(t *testing.T) {
	t.Parallel()
	db := openUnsynced(t)
	workspace := newWorkspace(t, db, "acme")
	for range 7 { // each begins a part
		importNames(t, db, workspace, "Rex")
	}
	_, err := db.Load(t.Context(), workspace, &petstore.Batch{Imported: &petstore.Imported{Pets: 10_000}})
	must(t, err)
	if parts, err := db.writer.number("SELECT count(DISTINCT segid) FROM pet_names_idx"); err != nil || parts != 1 {
		t.Errorf("after an import the index has %d parts, %v, want 1", parts, err)
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
