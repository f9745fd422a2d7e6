package sqlite

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
	"pgregory.net/rapid"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// openUnsynced opens a new database that does not wait for the disk.
func openUnsynced(t testing.TB) *DB {
	t.Helper()
	db := openTest(t, Options{Readers: 2, Cached: 64})
	if err := db.writer.exec("PRAGMA synchronous=OFF"); err != nil { // nothing is lost here
		t.Fatal(err)
	}
	return db
}

func newWorkspace(t rapid.TB, ctx context.Context, db *DB, name string) int64 { //nolint:revive // rapid has no context of its own
	t.Helper()
	w, err := db.CreateWorkspace(ctx, access.Workspace{Name: name, Plan: access.Free, Quota: access.FreeQuota}, "test")
	if err != nil {
		t.Fatal(err)
	}
	return w.ID
}

// A nameModel is a workspace and what is said to be in it.
type nameModel struct {
	db        *DB
	ctx       context.Context //nolint:containedctx // of the test
	workspace int64
	pets      map[int64]petstore.Pet
	kinds     []int64 // ids of the categories
	last      int64   // the greatest id so far
}

var pieces = []string{"a", "b", "ab", "A", "ß", "é", "x\u0301", "犬", "猫犬", "🐕", "🐕\u200d🦺", "-", "\uFFFD", "\uFFFE", "\uFFFF", "\U0001FFFF"}

// madeUp returns a name.
func madeUp(r *rand.Rand) string {
	var name strings.Builder
	count := 1 + r.IntN(7)
	if r.IntN(6) == 0 {
		count = 22 // a long one
	}
	for range count {
		name.WriteString(pieces[r.IntN(len(pieces))])
	}
	return name.String()
}

// chance draws what many small choices come from.
func chance(t *rapid.T) *rand.Rand { return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "chance"), 0)) }

// load imports a pet for each id, with the next one for 0.
func (m *nameModel) load(t *rapid.T, ids ...int64) {
	r := chance(t)
	units := make([]petstore.Unit, len(ids))
	for i, id := range ids {
		units[i] = petstore.Unit{PetID: id, Pet: &petstore.StockedPet{Pet: petstore.Pet{
			ID: id, Name: madeUp(r), CategoryID: m.kinds[r.IntN(len(m.kinds))], Status: petstore.Statuses()[r.IntN(3)]}}}
		if units[i].Pet.Status != petstore.Sold {
			units[i].Pet.Quantity = 1
		}
		if _, err := units[i].Check(petstore.At(m.db.now())); err != nil {
			t.Fatal(err)
		}
	}
	refused, err := m.db.Load(m.ctx, m.workspace, &petstore.Batch{Units: units})
	if err != nil {
		t.Fatal(err)
	}
	if len(refused) == 0 { // an id may be taken
		for _, u := range units {
			m.pets[u.Pet.ID], m.last = u.Pet.Pet, max(m.last, u.Pet.ID)
		}
	}
}

func (m *nameModel) begin(t *rapid.T) {
	m.kinds = m.kinds[:0]
	for _, name := range []string{"Dogs", "Cats"} {
		kind, err := petstore.NewService(m.db).CreateCategory(m.ctx, m.workspace, petstore.NewCategory{Name: name}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.kinds = append(m.kinds, kind.ID)
	}
}

// some draws a pet, 0 if there are none.
func (m *nameModel) some(t *rapid.T) int64 {
	ids := slices.Sorted(maps.Keys(m.pets))
	if len(ids) == 0 {
		return 0
	}
	return rapid.SampledFrom(ids).Draw(t, "pet")
}

func (m *nameModel) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"":        m.search,
		"create":  func(t *rapid.T) { m.load(t, 0) },
		"append":  func(t *rapid.T) { m.load(t, m.last+rapid.Int64Range(1, 3).Draw(t, "gap")) },
		"leap":    func(t *rapid.T) { m.load(t, min(petstore.MaxID, m.last*5/4+1)) },
		"fill in": func(t *rapid.T) { m.load(t, rapid.Int64Range(1, m.last+1).Draw(t, "id")) },
		"many": func(t *rapid.T) {
			m.load(t, make([]int64, rapid.IntRange(1, 40).Draw(t, "n"))...)
		},
		"rename": func(t *rapid.T) {
			if id := m.some(t); id != 0 {
				p, err := petstore.NewService(m.db).UpdatePet(m.ctx, m.workspace, id, petstore.PetPatch{Name: petstore.Some(madeUp(chance(t)))}, petstore.Condition{})
				if err != nil {
					t.Fatal(err)
				}
				m.pets[id] = p
			}
		},
		"delete": func(t *rapid.T) {
			if id := m.some(t); id != 0 {
				if err := petstore.NewService(m.db).DeletePet(m.ctx, m.workspace, id, petstore.Condition{}); err != nil {
					t.Fatal(err)
				}
				delete(m.pets, id)
			}
		},
		"reset": func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
				if err := m.db.ResetWorkspace(m.ctx, m.workspace, "test"); err != nil {
					t.Fatal(err)
				}
				m.pets = map[int64]petstore.Pet{}
				m.begin(t) // the categories have other ids now
			}
		},
		"index anew": func(t *rapid.T) {
			if err := rebuildNames(m.ctx, m.db); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// search compares one with all pets.
func (m *nameModel) search(t *rapid.T) {
	needle := madeUp(chance(t))
	if id := m.some(t); id != 0 && rapid.Bool().Draw(t, "of one") {
		runes := []rune(m.pets[id].Name)
		from := rapid.IntRange(0, len(runes)-1).Draw(t, "from")
		needle = string(runes[from:rapid.IntRange(from+1, len(runes)).Draw(t, "to")])
	}
	q := petstore.PetQuery{
		Page:       petstore.Page{After: rapid.Int64Range(0, m.last).Draw(t, "after"), Limit: rapid.IntRange(1, 5).Draw(t, "limit")},
		CategoryID: rapid.SampledFrom(append([]int64{0}, m.kinds...)).Draw(t, "category"), Name: petstore.Fold(needle),
		Statuses: rapid.SliceOfNDistinct(rapid.SampledFrom(petstore.Statuses()), 0, 3, rapid.ID).Draw(t, "statuses"),
	}
	want := []petstore.Pet{}
	for _, id := range slices.Sorted(maps.Keys(m.pets)) {
		if p := m.pets[id]; id > q.After && selects(q, p) && len(want) < q.Limit {
			want = append(want, p)
		}
	}
	got, err := m.db.Pets(m.ctx, m.workspace, q)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("Pets(%+v) = %+v, %v, want %+v", q, got, err, want)
	}
	if got, by := byIndex(t, m.db, m.workspace, q); by && !slices.Equal(got, want) {
		t.Fatalf("Pets(%+v) by the index of names = %+v, want %+v", q, got, want)
	}
}

// byIndex searches without testing any names first, and reports whether the index of
// names was asked.
func byIndex(t interface {
	Helper()
	Fatal(args ...any)
}, db *DB, workspace int64, q petstore.PetQuery,
) (found []petstore.Pet, asked bool) {
	t.Helper()
	l := petList(workspace, q)
	err := db.read(context.Background(), snapshot(func(c *conn) error {
		s, err := l.rest(c, l.page.Start())
		if asked = s != nil; !asked || err != nil {
			return err
		}
		for row, err := range c.query(s.String(), s.args...) {
			if err != nil {
				return err
			}
			if found = append(found, scanPet(row)); len(found) == q.Limit {
				break
			}
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return found, asked
}

// rebuildNames rebuilds the index of names, as docs/troubleshooting.md says.
func rebuildNames(ctx context.Context, db *DB) error {
	return db.change(ctx, func(c *conn) error { return c.exec("INSERT INTO pet_names (pet_names) VALUES ('rebuild')") })
}

// TestSearchesFindAll: whatever happens to a workspace, a search finds what is there.
func TestSearchesFindAll(t *testing.T) {
	t.Parallel()
	db := openUnsynced(t)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		m := &nameModel{db: db, ctx: t.Context(), workspace: newWorkspace(r, t.Context(), db, fmt.Sprint("workspace ", n)), pets: map[int64]petstore.Pet{}}
		m.begin(r)
		r.Repeat(m.actions())
		m.search(r)
		err := db.read(m.ctx, snapshot(func(c *conn) error {
			return checkNames(accessTx{c}, func(format string, args ...any) { r.Errorf(format, args...) })
		}))
		if err != nil {
			r.Fatal(err)
		}
		if err := db.DeleteWorkspace(m.ctx, m.workspace, "test"); err != nil {
			r.Fatal(err)
		}
	})
}

// TestSearchesFindNoncharacters, which FTS5 takes for another letter.
func TestSearchesFindNoncharacters(t *testing.T) {
	t.Parallel()
	db := openUnsynced(t)
	workspace := newShop(t, db)
	for _, name := range []string{"a\uFFFEb", "\uFFFF", "\uFFFDabc", "\U0001FFFF"} {
		pet := createPet(t, db, workspace, name)
		for _, text := range append(strings.Split(name, ""), name) {
			q := petstore.PetQuery{Page: petstore.Page{Limit: 20}, Name: text}
			found, err := db.Pets(t.Context(), workspace, q)
			if again, asked := byIndex(t, db, workspace, q); asked && !slices.Equal(again, found) {
				t.Errorf("Pets of %+q by the index of names = %+v, want %+v", text, again, found)
			}
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
	const pets = 20_000
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

// TestSearchPlans: the index of names leads to the rows, in their order.
func TestSearchPlans(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	err := db.read(t.Context(), func(c *conn) error {
		for mask := range 8 {
			l := petList(1, petstore.PetQuery{Name: "rex", CategoryID: int64(mask & 1), Statuses: petstore.Statuses()[:mask>>1&1], Page: petstore.Page{Newest: mask&4 != 0, Limit: 20}})
			s, err := l.rest(c, l.page.Start())
			if err != nil {
				return err
			}
			if steps := planOf(t, c, s.String()); len(steps) != 2 || !strings.HasPrefix(steps[0], "SCAN pet_names VIRTUAL TABLE INDEX") || steps[1] != "SEARCH pets USING PRIMARY KEY (workspace=? AND id=?)" {
				t.Errorf("plan of %s = %q, want the index of names and then the key of each row", s, steps)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
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
	const pets, theirs = firstTested + 500, 30_000
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
	names := slices.Repeat([]string{"ber mbe amb"}, firstTested+500)
	importNames(t, db, workspace, names...)
	for text, want := range map[string]bool{"amber": false, "amb": false, "amber rex": true} {
		if _, asked := byIndex(t, db, workspace, petstore.PetQuery{Page: petstore.Page{Limit: 20}, Name: text}); asked != want {
			t.Errorf("the index of names was asked for %q: %v, want %v", text, asked, want)
		}
	}
}
