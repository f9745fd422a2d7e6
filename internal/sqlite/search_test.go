package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// openUnnamed opens a new database in which a segment has few animals, and whose
// names only the test indexes.
func openUnnamed(t testing.TB, segment int64) *DB {
	t.Helper()
	db := openTest(t, Options{Readers: 2, Cached: 64, segment: segment})
	db.namer.close()
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

// A nameModel is a shop and what is said to be in it.
type nameModel struct {
	db        *DB
	ctx       context.Context //nolint:containedctx // of the test
	name      string
	workspace int64
	pets      map[int64]petstore.Pet
	kinds     []int64 // ids of the categories
	last      int64   // the greatest id so far
	naming    []*naming
}

var parts = []string{"a", "b", "ab", "A", "ß", "é", "x\u0301", "犬", "猫犬", "🐕", "🐕\u200d🦺", "-"}

// madeUp returns a name.
func madeUp(r *rand.Rand) string {
	var name strings.Builder
	count := 1 + r.IntN(7)
	if r.IntN(6) == 0 {
		count = 22 // often longer than names whose grams are noted
	}
	for range count {
		name.WriteString(parts[r.IntN(len(parts))])
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
		units[i] = petstore.Unit{PetID: id, Animal: &petstore.Animal{Pet: petstore.Pet{
			ID: id, Name: madeUp(r), CategoryID: m.kinds[r.IntN(len(m.kinds))], Status: petstore.Statuses()[r.IntN(3)]}}}
		if units[i].Animal.Status != petstore.Sold {
			units[i].Animal.Quantity = 1
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
			m.pets[u.Animal.ID], m.last = u.Animal.Pet, max(m.last, u.Animal.ID)
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
				if err := m.db.ResetWorkspace(m.ctx, m.name, "test"); err != nil {
					t.Fatal(err)
				}
				m.pets = map[int64]petstore.Pet{}
				m.begin(t) // the categories have other ids now
			}
		},
		"begin to index": func(t *rapid.T) {
			n, err := m.db.beginNaming(m.ctx, m.workspace)
			if err != nil {
				t.Fatal(err)
			}
			if n != nil {
				m.naming = append(m.naming, n)
			}
		},
		"index": func(t *rapid.T) {
			for _, n := range m.naming {
				if !n.done && rapid.Bool().Draw(t, "step") {
					if err := n.step(m.ctx, rapid.IntRange(1, 2*len(n.grams)+1).Draw(t, "grams")); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
		"index all": func(t *rapid.T) {
			if err := m.db.IndexNames(m.ctx); err != nil {
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
}

// TestSearchesFindAll: whatever happens to a shop, and however far its names are
// indexed, a search finds what is there.
func TestSearchesFindAll(t *testing.T) {
	t.Parallel()
	db := openUnnamed(t, 8)
	n := 0
	slow := rapid.Custom(func(t *rapid.T) pace {
		return pace{rapid.Int64Range(1, 9).Draw(t, "first"), rapid.IntRange(1, 9).Draw(t, "on"), rapid.Int64Range(1, 30).Draw(t, "ids"), rapid.SampledFrom([]int{1, 5, 30}).Draw(t, "seeks"),
			rapid.SampledFrom([]int{1, 6, 112}).Draw(t, "dense")}
	})
	rapid.Check(t, func(r *rapid.T) {
		n++
		db.pace, db.segment = slow.Draw(r, "pace"), rapid.SampledFrom([]int64{8, 8, 30, 3 * fan}).Draw(r, "segment")
		name := fmt.Sprint("shop ", n)
		m := &nameModel{db: db, ctx: t.Context(), name: name, workspace: newWorkspace(r, t.Context(), db, name), pets: map[int64]petstore.Pet{}}
		m.begin(r)
		if db.segment > fan { // in blocks of three
			m.load(r, make([]int64, 2*db.segment)...)
		}
		r.Repeat(m.actions())
		for _, open := range m.naming {
			for !open.done {
				if err := open.step(m.ctx, gramsAtOnce); err != nil {
					r.Fatal(err)
				}
			}
		}
		m.search(r)
		err := db.read(m.ctx, snapshot(func(c *conn) error {
			return checkNames(c, func(format string, args ...any) { r.Errorf(format, args...) })
		}))
		if err != nil {
			r.Fatal(err)
		}
		if err := db.DeleteWorkspace(m.ctx, name, "test"); err != nil {
			r.Fatal(err)
		}
		for _, table := range []string{"name_segments", "name_grams"} {
			err := db.read(m.ctx, func(c *conn) error {
				return c.each("SELECT count(*) FROM "+table+" WHERE workspace=?", func(row *sqlite.Stmt) {
					if row.ColumnInt64(0) > 0 {
						r.Errorf("%s has %d rows of a workspace that is gone", table, row.ColumnInt64(0))
					}
				}, m.workspace)
			})
			if err != nil {
				r.Fatal(err)
			}
		}
	})
}

// TestSearchesOutliveALostSegment: what the index lacks is read row by row, and told.
func TestSearchesOutliveALostSegment(t *testing.T) {
	t.Parallel()
	for number := range 6 {
		var log lockedBuffer
		db := openTest(t, Options{Readers: 1, segment: 16, LeaveNames: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
		db.pace.first = 1
		workspace := newWorkspace(t, t.Context(), db, "shop")
		importPets(t, db, workspace, 1, 112, "Rex")
		if err := db.IndexNames(t.Context()); err != nil {
			t.Fatal(err)
		}
		alter(t, db, fmt.Sprintf("DELETE FROM name_segments WHERE number=%d", number))
		lost := int64(number)*16 + 1
		if _, err := petstore.NewService(db).UpdatePet(t.Context(), workspace, lost, petstore.PetPatch{Name: petstore.Some("Max")}, petstore.Condition{}); err != nil {
			t.Errorf("without segment %d, UpdatePet(%d) = %v", number, lost, err)
		}
		for after := range int64(100) {
			q := petstore.PetQuery{Page: petstore.Page{After: after, Limit: 1}, Name: fmt.Sprintf("%05d", 99)}
			got, err := db.Pets(t.Context(), workspace, q)
			if err != nil || len(got) != 1 || got[0].ID != 100 {
				t.Fatalf("without segment %d, Pets(%+v) = %v, %v, want the pet 100", number, q, got, err)
			}
		}
		if number < 5 && log.count("lacks a segment") == 0 {
			t.Errorf("that segment %d is missing was not told", number)
		}
	}
}

// TestSearchesReadLittle: what is read for a name of none, or of one, does not grow
// with the shop.
func TestSearchesReadLittle(t *testing.T) {
	t.Parallel()
	const pets, indexed = 50_200, 49_152 // too few are left for another segment
	db := openUnnamed(t, 0)
	workspace := newWorkspace(t, t.Context(), db, "shop")
	err := db.change(t.Context(), func(c *conn) error {
		return sqlitex.ExecuteScript(c.Conn, fmt.Sprintf(`INSERT INTO categories (workspace, id, name, folded) VALUES (%[1]d, 1, 'Dogs', 'dogs');
			INSERT INTO pets (workspace, id, name, category, status, quantity, open_orders, movements, folded)
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %[2]d)
				SELECT %[1]d, i, printf('Beagle %%05d', i), 1, 'available', 1, 0, 0, printf('beagle %%05d', i) FROM n;
			UPDATE counters SET pets=%[2]d WHERE workspace=%[1]d;`, workspace, pets), nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.IndexNames(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ready := db.ready(t, workspace); ready != indexed {
		t.Errorf("indexed up to pet %d of %d, want %d", ready, pets, indexed)
	}
	for _, test := range []struct {
		needle string
		found  int
		most   int64 // ids that are looked at
		seeks  int
	}{
		{"dachshund", 0, 0, 5}, {"q", 0, 0, 5}, {"beagle 19999", 1, 32, 30}, {"beagle 20010", 1, 32, 30}, {"19999", 1, 10 * 32, 30}, {"elgaeb 0", 0, 0, 5}, {"x\xff", 0, 0, 0},
	} {
		for _, statuses := range [][]petstore.Status{nil, {petstore.Sold}, petstore.Statuses()} {
			q := petstore.PetQuery{Page: petstore.Page{Limit: 20}, Name: test.needle, Statuses: statuses}
			found := test.found
			if len(statuses) == 1 {
				found = 0
			}
			err := db.read(t.Context(), func(c *conn) error {
				s := newSearch(c, workspace, &q, usualPace)
				err := s.run()
				if len(s.found) != found || s.looked > test.most || s.grams.seeks > test.seeks {
					t.Errorf("%q of %v: found %d, looked at %d ids and %d times into the index, want %d, at most %d and %d", test.needle, statuses, len(s.found), s.looked, s.grams.seeks, found, test.most, test.seeks)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// numberedHalf returns the bit of a half in its segment, numbered through the workspace.
func numberedHalf(h int64) halves {
	bit := uint64(1) << (h / 2 % fan)
	if h%2 == 1 {
		return halves{late: bit}
	}
	return halves{early: bit}
}

// TestPostings: the halves of blocks in which two grams are, however far apart.
func TestPostings(t *testing.T) {
	t.Parallel()
	db := openUnnamed(t, 0)
	var sets [3]map[int64]bool // of halves, numbered through
	has := func(half int64) func(map[int64]bool) bool { return func(of map[int64]bool) bool { return of[half] } }
	var last int64
	rapid.Check(t, func(r *rapid.T) {
		last++
		workspace := last
		for i, gram := range []string{"one", "two", anyGram} {
			sets[i] = map[int64]bool{}
			drawn := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 300), rapid.Int64Range(0, 20_000), rapid.Int64Range(0, 1<<23)), 1, 12).Draw(r, "halves of "+gram)
			if gram == anyGram && rapid.Bool().Draw(r, "no long names") {
				drawn = nil
			}
			err := db.change(t.Context(), func(c *conn) error {
				for _, h := range drawn {
					sets[i][h] = true
					if err := c.addGram(workspace, h/2/fan, gram, numberedHalf(h)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				r.Fatal(err)
			}
		}
		end := rapid.Int64Range(1, 1<<16).Draw(r, "segments")
		var want, got []int64
		for h := range sets[0] {
			if sets[1][h] && h/2/fan < end {
				want = append(want, h)
			}
		}
		for h := range sets[2] { // names that may have all
			if h/2/fan < end {
				want = append(want, h)
			}
		}
		slices.Sort(want)
		want = slices.Compact(want)
		from := rapid.Int64Range(0, end*fan).Draw(r, "again from")
		begin, _ := slices.BinarySearch(want, 2*from)
		want = append(want, want[begin:]...)
		dense := rapid.SampledFrom([]int{1, 2, 2*fan + 1}).Draw(r, "dense")
		err := db.read(t.Context(), func(c *conn) error {
			p := postings{c: c, workspace: workspace, grams: soughtFor("one", "two"), segments: end, most: rapid.IntRange(1, 50).Draw(r, "most"), dense: dense}
			again := false
			for at := int64(0); ; {
				next, found, err := p.next(blockLevel, at)
				if at = next; err != nil || again && (found == atEnd || at/fan >= end) {
					return err
				}
				if found == atEnd || at/fan >= end {
					again, at = true, from // another node than that before, and above
					continue
				}
				if found == atBlock {
					for _, h := range []int64{2 * at, 2*at + 1} {
						if p.at[blockLevel].bits.has(numberedHalf(h)) {
							got = append(got, h)
						}
					}
					at++
				}
				p.seeks = 0
			}
		})
		if dense <= 2*fan { // some are not looked up for the second
			got = slices.DeleteFunc(got, func(h int64) bool { return !slices.Contains(want, h) && slices.ContainsFunc(sets[:], has(h)) })
		}
		if err != nil || !slices.Equal(got, want) {
			r.Fatalf("halves of both = %v, %v, want %v", got, err, want)
		}
	})
}

// TestPostingsLookLittle: of grams that most names have, and some that few have,
// few are looked up.
func TestPostingsLookLittle(t *testing.T) {
	t.Parallel()
	const all, segments = ^uint64(0), 40
	db := openUnnamed(t, 0)
	for i, test := range []struct {
		name          string
		usual         uint64 // the blocks of most grams, in the second half of the segments
		one, other    uint64 // those of the others
		least         int    // blocks that have all
		blocks, seeks int    // at most
	}{
		{"never together", all, 3, 12, 0, 0, 2*segments + 20},
		{"together", all, 1, 1, segments, segments, 4 * segments},
		{"usual at first", 2, 1, 1, segments / 2, segments/2 + 10, 5 * segments},
	} {
		workspace := int64(i + 1)
		grams := []string{"a", "b", "c", "d", "e", "one", "other"}
		err := db.change(t.Context(), func(c *conn) (err error) {
			for n := range int64(segments) {
				for _, gram := range grams {
					blocks := all
					switch {
					case gram == "one":
						blocks = test.one
					case gram == "other":
						blocks = test.other
					case n >= segments/2:
						blocks = test.usual
					}
					err = errors.Join(err, c.addGram(workspace, n, gram, halves{blocks, blocks}))
				}
			}
			return err
		})
		blocks, seeks := 0, 0
		err = errors.Join(err, db.read(t.Context(), func(c *conn) error {
			p := postings{c: c, workspace: workspace, grams: soughtFor(grams...), segments: segments, most: 1000, dense: usualPace.dense}
			at, found, err := p.next(blockLevel, 0)
			for ; err == nil && found == atBlock && at/fan < segments; at, found, err = p.next(blockLevel, at+1) {
				blocks++
			}
			seeks = p.seeks
			return err
		}))
		if err != nil || blocks < test.least || blocks > test.blocks || seeks > test.seeks {
			t.Errorf("%s: %d blocks after %d seeks, %v, want %d to %d, and at most %d", test.name, blocks, seeks, err, test.least, test.blocks, test.seeks)
		}
	}
}

// TestSearchPlans: each way of a search begins in the index that is meant.
func TestSearchPlans(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	err := db.read(t.Context(), func(c *conn) error {
		for mask := range 8 {
			q := petstore.PetQuery{Page: petstore.Page{Limit: 20}, Statuses: petstore.Statuses()[:mask&3], CategoryID: int64(mask >> 2), Name: "x"}
			s := newSearch(c, 1, &q, usualPace)
			for _, l := range []*list[petstore.Pet]{s.byLane, s.byID} {
				texts, details := plans(t, c, l)
				for i, detail := range details {
					if !strings.Contains(detail, "id>? AND id<?)") || strings.Contains(detail, "SCAN") || strings.Contains(detail, "TEMP") || strings.Contains(detail, ";") ||
						l == s.byID && !strings.Contains(detail, "USING PRIMARY KEY") {
						t.Errorf("plan of %s = %q, want one search of a range of ids", texts[i], detail)
					}
				}
			}
			if s.ids != nil {
				wantPlan(t, c, s.ids)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
