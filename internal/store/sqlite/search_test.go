package sqlite

import (
	"fmt"
	"strings"
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

// TestCheckFindsLostNames plants damage in the index of names.
func TestCheckFindsLostNames(t *testing.T) {
	t.Parallel()
	for what, damage := range map[string]string{
		"a name is missing":   "INSERT INTO pet_names (pet_names, rowid, name) VALUES ('delete', (1<<40)+2, 'rex')",
		"a name is too much":  "INSERT INTO pet_names (rowid, name) VALUES ((1<<40)+9, 'rex')",
		"a pet has another":   "UPDATE pets SET folded='ida' WHERE id=3",
		"a structure is lost": "DELETE FROM pet_names_data WHERE id=(SELECT max(id) FROM pet_names_data)",
	} {
		db := openUnsynced(t)
		importNames(t, db, newWorkspace(t, db, "acme"), "Rex", "Rex", "Rex")
		if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
			t.Fatalf("Check = %q, %v, want nothing", problems, err)
		}
		must(t, db.change(t.Context(), func(c *conn) error { return c.exec(damage) }))
		problems, err := db.Check(t.Context())
		if err == nil && len(problems) == 0 || len(problems) > 0 && !strings.Contains(fmt.Sprint(problems), "names") {
			t.Errorf("%s: Check = %q, %v, want a problem of names", what, problems, err)
		}
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
