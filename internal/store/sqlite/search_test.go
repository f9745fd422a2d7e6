package sqlite

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

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
	if err != nil {
		t.Fatal(err)
	}
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
		if _, err := units[i].Check(petstore.At(db.now())); err != nil {
			t.Fatal(err)
		}
	}
	if refused, err := db.Load(t.Context(), workspace, &petstore.Batch{Units: units}); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
}

// inventedName returns a name of two words of three or four syllables, out of 140.
func inventedName(n int) string {
	h := uint64(n) * 0x9E3779B97F4A7C15 //nolint:gosec // a hash
	var name strings.Builder
	for i := range 7 {
		if i == 3 {
			name.WriteByte(' ')
		}
		s := h >> (8 * i) % 140
		name.WriteString("bcdfghjklmnprstvwxyz"[s%20 : s%20+1])
		name.WriteString([...]string{"a", "e", "i", "o", "u", "ar", "en"}[s/20])
	}
	return name.String()
}

// TestSearchesReadLittle: what is read for a text of three letters or more that none has,
// or one, is a small part of the workspace.
func TestSearchesReadLittle(t *testing.T) {
	t.Parallel()
	const pets = 30_000
	db := openTest(t, Options{Readers: 1})
	workspace := newWorkspace(t, t.Context(), db, "acme")
	names := make([]string, pets)
	for i := range names {
		names[i] = inventedName(i)
	}
	names[pets-1] = "Aqua"
	importNames(t, db, workspace, names...)
	for text, want := range map[string]int{names[pets-4]: 1, "no such name": 0, "aqua": 1} {
		for _, statuses := range [][]petstore.Status{nil, {petstore.Available}} {
			machineSteps(db)
			q := petstore.PetQuery{Page: petstore.Page{Limit: 20}, Name: petstore.Fold(text), Statuses: statuses}
			found, err := db.Pets(t.Context(), workspace, q)
			if err != nil || len(found) != want {
				t.Errorf("Pets of %q = %v, %v, want %d", text, found, err, want)
			}
			if steps := machineSteps(db); steps > pets*2 { // to test all of them takes six for each
				t.Errorf("Pets of %q, status %v, took %d steps, want at most %d", text, statuses, steps, pets*2)
			}
		}
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
		importNames(t, db, newWorkspace(t, t.Context(), db, "acme"), "Rex", "Rex", "Rex")
		if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
			t.Fatalf("Check = %q, %v, want nothing", problems, err)
		}
		if err := db.change(t.Context(), func(c *conn) error { return c.exec(damage) }); err != nil {
			t.Fatal(err)
		}
		problems, err := db.Check(t.Context())
		if err == nil && len(problems) == 0 || len(problems) > 0 && !strings.Contains(fmt.Sprint(problems), "names") {
			t.Errorf("%s: Check = %q, %v, want a problem of names", what, problems, err)
		}
	}
}

// pagesRead returns how many pages the only reader has looked at since it was last called,
// which includes those that FTS5 reads.
func pagesRead(db *DB) (sum int32) {
	tls := libc.NewTLS()
	defer tls.Close()
	counts, pinner := new([2]int32), runtime.Pinner{}
	pinner.Pin(counts)
	defer pinner.Unpin()
	current, most := uintptr(unsafe.Pointer(&counts[0])), uintptr(unsafe.Pointer(&counts[1]))
	handle := uintptr(reflect.ValueOf(db.readers.idle[0].Conn).Elem().FieldByName("conn").Uint())
	for _, of := range []int32{sqlite3.SQLITE_DBSTATUS_CACHE_HIT, sqlite3.SQLITE_DBSTATUS_CACHE_MISS} {
		sqlite3.Xsqlite3_db_status(tls, handle, of, current, most, 1)
		sum += counts[0]
	}
	return sum
}

// TestSearchesEndWithTheirWorkspace: workspaces before and behind, whose names have the
// terms of a text but not the text, cost a search next to nothing.
func TestSearchesEndWithTheirWorkspace(t *testing.T) {
	t.Parallel()
	const pets, theirs = 2500, 30_000
	db := openTest(t, Options{Readers: 1})
	if err := db.writer.exec("PRAGMA synchronous=OFF"); err != nil {
		t.Fatal(err)
	}
	var searched []int64
	for i, others := range [][]string{nil, {"ber mbe amb"}, nil, {"ber mbe", "amb"}, nil} {
		workspace := newWorkspace(t, t.Context(), db, fmt.Sprint("workspace ", i))
		names := make([]string, pets)
		if others == nil {
			searched = append(searched, workspace)
		} else {
			names = make([]string, theirs)
		}
		for n := range names {
			if names[n] = inventedName(n); others != nil {
				names[n] = others[n%len(others)]
			}
		}
		importNames(t, db, workspace, names...)
	}
	for _, workspace := range searched {
		for _, newest := range []bool{false, true} {
			read := func(text string) int32 {
				t.Helper()
				pagesRead(db)
				q := petstore.PetQuery{Page: petstore.Page{Limit: 20, Newest: newest}, Name: text}
				if found, err := db.Pets(t.Context(), workspace, q); err != nil || len(found) > 0 {
					t.Fatalf("Pets = %v, %v, want none", found, err)
				}
				return pagesRead(db)
			}
			least := read("qqqqq")
			if n := read("amber"); n > least+100 {
				t.Errorf("workspace %d, newest first %v: a search read %d pages, and %d for letters that no name has", workspace, newest, n, least)
			}
		}
	}
}

// TestFrequentTermsAreNotLookedUp: names are tested one by one if most have each term.
func TestFrequentTermsAreNotLookedUp(t *testing.T) {
	t.Parallel()
	db := openUnsynced(t)
	workspace := newWorkspace(t, t.Context(), db, "acme")
	names := slices.Repeat([]string{"ber mbe amb"}, 1000)
	importNames(t, db, workspace, names...)
	for text, want := range map[string]bool{"amber": false, "amb": false, "amber rex": true} {
		err := db.read(t.Context(), func(c *conn) error {
			search, err := searchNames(sqlTx{c}, workspace, petstore.Page{Limit: 20}, text, func(any) string { return "?" })
			if asked := search != nil; asked != want {
				t.Errorf("the index of names is asked for %q: %v, want %v", text, asked, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
