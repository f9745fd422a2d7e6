package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// importPets imports so many pets, whose names begin with one and end with their
// number from 0 on, from an id on.
func importPets(t testing.TB, db *DB, workspace, from int64, n int, name string) {
	t.Helper()
	kind := &petstore.Category{Name: "Dogs"}
	units := []petstore.Unit{{Category: kind}}
	for i := range n {
		id := from + int64(i)
		u := petstore.Unit{In: kind, PetID: id, Animal: &petstore.Animal{Pet: petstore.Pet{ID: id, Name: fmt.Sprintf("%s %05d", name, i), Status: petstore.Available}, Quantity: 1}}
		if _, err := u.Check(petstore.At(db.now())); err != nil {
			t.Fatal(err)
		}
		units = append(units, u)
	}
	if refused, err := db.Load(t.Context(), workspace, &petstore.Batch{Units: units}); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
}

// ready returns up to which id the names of a workspace are indexed.
func (db *DB) ready(t testing.TB, workspace int64) (last int64) {
	t.Helper()
	err := db.read(context.Background(), func(c *conn) error {
		s, err := find(c, selectReady, workspace, 0, scanSegment)
		if s != nil {
			last = s.last
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// TestNamesAreIndexedInTheBackground: when enough animals have come, and, in a file
// that is behind, from its opening on.
func TestNamesAreIndexedInTheBackground(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	open := func() *DB {
		t.Helper()
		db, err := Open(t.Context(), path, Options{Readers: 1, segment: 16})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	workspace := newWorkspace(t, t.Context(), db, "shop")
	importPets(t, db, workspace, 1, 31, "Rex")
	importPets(t, db, workspace, 32, 69, "Ida")
	eventually(t, "names are indexed", func() bool { return db.ready(t, workspace) == 96 }) // of 100, since 4 are few
	db.namer.close()
	importPets(t, db, workspace, 101, 30, "Bo")
	n, err := db.beginNaming(t.Context(), workspace)
	if err == nil {
		err = errors.Join(n.step(t.Context(), 5), n.step(t.Context(), 5)) // and is killed
	}
	if err != nil {
		t.Fatal(err)
	}
	if ready := db.ready(t, workspace); ready != 96 {
		t.Errorf("pets up to %d are ready, want 96: the next segment is half made", ready)
	}
	importPets(t, db, workspace, 131, 70, "Ben")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open()
	defer db.Close()
	eventually(t, "what was there is indexed", func() bool { return db.ready(t, workspace) == 192 })
	if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("Check = %q, %v, want nothing", problems, err)
	}
}

// TestASearchWakesTheNamer: what another process brought is indexed when somebody
// searches it.
func TestASearchWakesTheNamer(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1, segment: 16})
	workspace := newWorkspace(t, t.Context(), db, "shop")
	other, err := Open(t.Context(), db.path, Options{Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	importPets(t, other, workspace, 1, 100, "Rex")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // before, and after
		got, err := db.Pets(t.Context(), workspace, petstore.PetQuery{Page: petstore.Page{Limit: 100, After: 98}, Name: "rex 00"})
		if err != nil || len(got) != 2 {
			t.Errorf("Pets = %v, %v, want two", got, err)
		}
		eventually(t, "names are indexed", func() bool { return db.ready(t, workspace) == 96 })
	}
}

// TestNewAnimalsWakeTheNamer: it looks after a quarter of a segment.
func TestNewAnimalsWakeTheNamer(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1, segment: 16})
	workspace := newShop(t, db)
	for range 20 {
		createPet(t, db, workspace, "Rex")
	}
	eventually(t, "names are indexed", func() bool { return db.ready(t, workspace) == 16 })
}

// TestFewAnimalsAreNotLookedAtAgain: where ids are far apart, not each search wakes
// the namer, which would find nothing.
func TestFewAnimalsAreNotLookedAtAgain(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1, segment: 16})
	workspace := newWorkspace(t, t.Context(), db, "shop")
	importPets(t, db, workspace, 1, 1, "Rex")
	importPets(t, db, workspace, 1000, 10, "Rex")
	const last = 1009
	eventually(t, "it has looked", func() bool {
		db.namer.mu.Lock()
		defer db.namer.mu.Unlock()
		return db.namer.few[workspace] == last
	})
	for _, test := range []struct {
		last int64
		want bool
	}{{last, false}, {last + 3, false}, {last + 4, true}, {last - 1, true}} {
		if got := db.namer.searched(workspace, test.last); got != test.want {
			t.Errorf("a search with ids up to %d wakes it: %v, want %v", test.last, got, test.want)
		}
	}
}

// TestSmallShopsHaveNoIndex: not before there are a quarter more than in a segment.
func TestSmallShopsHaveNoIndex(t *testing.T) {
	t.Parallel()
	db := openUnnamed(t, 16)
	workspace := newWorkspace(t, t.Context(), db, "shop")
	importPets(t, db, workspace, 1000, 19, "Rex") // their ids are far from those of none
	for _, want := range []int64{0, 1015} {
		if err := db.IndexNames(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := db.ready(t, workspace); got != want {
			t.Errorf("indexed up to pet %d, want %d", got, want)
		}
		importPets(t, db, workspace, 2000+want, 1, "Rex")
	}
}

// TestOneBuilderOfASegment: who was at work when the shop was emptied, and filled
// again with the same ids, does not make the new segment ready.
func TestOneBuilderOfASegment(t *testing.T) {
	t.Parallel()
	db := openUnnamed(t, 16)
	workspace := newWorkspace(t, t.Context(), db, "shop")
	importPets(t, db, workspace, 1, 40, "Rex")
	old, err := db.beginNaming(t.Context(), workspace)
	if err == nil {
		err = old.step(t.Context(), gramsAtOnce) // reads the names
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.ResetWorkspace(t.Context(), "shop", "test"); err != nil {
		t.Fatal(err)
	}
	importPets(t, db, workspace, 1, 40, "Ida")
	now, err := db.beginNaming(t.Context(), workspace)
	if err != nil || old.segment.last != now.segment.last {
		t.Fatalf("the segments are %+v and %+v, %v, want the same ids", old.segment, now.segment, err)
	}
	for !old.done {
		if err := old.step(t.Context(), gramsAtOnce); err != nil {
			t.Fatal(err)
		}
	}
	if got := db.ready(t, workspace); got != 0 || !old.lost {
		t.Errorf("indexed up to pet %d, lost %v, by who read other names; want 0, true", got, old.lost)
	}
	for !now.done {
		if err := now.step(t.Context(), gramsAtOnce); err != nil {
			t.Fatal(err)
		}
	}
	if got := db.ready(t, workspace); got != 16 {
		t.Errorf("indexed up to pet %d, want 16", got)
	}
}

// TestNamesThatNoBuilderReads: an animal is renamed, and once more or deleted, after its
// segment was noted and before its names are read. What the first new name had in common
// with the old one is then added by nobody, and another of its half gets it.
func TestNamesThatNoBuilderReads(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"renamed", "deleted"} {
		db := openUnnamed(t, 4*fan) // the pets 1 and 2 share half a block
		db.pace.first = 1
		workspace := newWorkspace(t, t.Context(), db, "shop")
		importPets(t, db, workspace, 1, 8*fan, "Ben")
		shop := petstore.NewService(db)
		rename := func(id int64, name string) {
			t.Helper()
			if _, err := shop.UpdatePet(t.Context(), workspace, id, petstore.PetPatch{Name: petstore.Some(name)}, petstore.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		rename(1, "xyz")
		n, err := db.beginNaming(t.Context(), workspace)
		if err != nil {
			t.Fatal(err)
		}
		rename(1, "wxyz")
		if end == "deleted" {
			err = shop.DeletePet(t.Context(), workspace, 1, petstore.Condition{})
		} else {
			rename(1, "Ben")
		}
		for err == nil && !n.done {
			err = n.step(t.Context(), gramsAtOnce)
		}
		if err != nil {
			t.Fatal(err)
		}
		rename(2, "wxy")
		for _, needle := range []string{"w", "x", "y", "wx", "xy", "wxy"} {
			got, err := db.Pets(t.Context(), workspace, petstore.PetQuery{Page: petstore.Page{Limit: 1}, Name: needle})
			if err != nil || len(got) != 1 || got[0].ID != 2 {
				t.Errorf("%s: Pets of %q = %v, %v, want the pet 2", end, needle, got, err)
			}
		}
		if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
			t.Errorf("%s: Check = %q, %v, want nothing", end, problems, err)
		}
	}
}

// TestIndexingKeepsTheCache: it changes no animal.
func TestIndexingKeepsTheCache(t *testing.T) {
	t.Parallel()
	db := openUnnamed(t, 16)
	workspace := newWorkspace(t, t.Context(), db, "shop")
	importPets(t, db, workspace, 1, 40, "Rex")
	if _, err := db.Pet(t.Context(), workspace, 1); err != nil {
		t.Fatal(err)
	}
	if err := db.IndexNames(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, held, _ := db.cache.row(cacheKey{workspace, 1}); !held || db.ready(t, workspace) != 32 {
		t.Errorf("held %v, indexed up to pet %d, want true, 32", held, db.ready(t, workspace))
	}
}

// A lockedBuffer is one that several goroutines use.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) count(s string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), s)
}

// TestIndexingFailsAlone: what goes wrong there is told once, and disturbs no write.
func TestIndexingFailsAlone(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	db := openTest(t, Options{segment: 16, tryAgain: time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
	workspace := newWorkspace(t, t.Context(), db, "shop")
	alter(t, db, breakIndex)
	tried := func() int64 { return db.Stats().Writes }
	for i := range int64(3) {
		before := tried()
		importPets(t, db, workspace, 1+100*i, 40, "Rex")
		eventually(t, "it was tried", func() bool { return tried() >= before+3 }) // the import, and two of indexing
	}
	if got := log.count("names could not be indexed"); got != 1 {
		t.Errorf("told %d times, want once", got)
	}
	if got := db.ready(t, workspace); got != 0 {
		t.Errorf("indexed up to pet %d, want 0", got)
	}
	alter(t, db, "DROP TRIGGER broken")
	eventually(t, "names are indexed", func() bool { return db.ready(t, workspace) > 100 })
}

const breakIndex = "CREATE TRIGGER broken BEFORE INSERT ON name_grams BEGIN SELECT RAISE(ABORT, 'broken'); END"

func alter(t *testing.T, db *DB, query string) {
	t.Helper()
	err := db.change(t.Context(), func(c *conn) error { return sqlitex.ExecuteTransient(c.Conn, query, nil) })
	if err != nil {
		t.Fatal(err)
	}
}

// TestSearchesDoNotRetryIndexing: a read must not become a write that fails.
func TestSearchesDoNotRetryIndexing(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	db := openTest(t, Options{segment: 16, Log: slog.New(slog.NewTextHandler(&log, nil))})
	workspace := newWorkspace(t, t.Context(), db, "shop")
	alter(t, db, breakIndex)
	importPets(t, db, workspace, 1, 40, "Rex")
	eventually(t, "it failed", func() bool { return log.count("names could not be indexed") > 0 })
	before := db.Stats().Writes
	for range 200 {
		if _, err := db.Pets(t.Context(), workspace, petstore.PetQuery{Page: petstore.Page{Limit: 100}, Name: "ida"}); err != nil {
			t.Fatal(err)
		}
	}
	if after := db.Stats().Writes; after != before {
		t.Errorf("200 searches came with %d writes, want none", after-before)
	}
}

// TestCheckFindsLostNames plants damage in the index of names.
func TestCheckFindsLostNames(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ damage, want string }{
		"none":      {"", ""},
		"too much":  {"INSERT INTO name_grams VALUES (1, 2, 1, 'z', -1, -1), (1, 1, 0, 'z', 2, 0), (1, 0, 0, 'z', 1, 0)", ""},
		"parts":     {"UPDATE name_grams SET early=-1 WHERE level=2 AND node=1 AND gram='rex'", "segment 1 of workspace 1 has grams without their parts"},
		"gram":      {"DELETE FROM name_grams WHERE level=2 AND node=1 AND gram='x 0'", "segment 1 of workspace 1 lacks the grams of some names of its pets 17 to 32"},
		"block":     {"UPDATE name_grams SET early=early&~4 WHERE level=2 AND node=2 AND gram='re'", "segment 2 of workspace 1 lacks the grams"},
		"segment":   {"UPDATE name_grams SET early=early&~4 WHERE level=1 AND gram='rex'", "segment 2 of workspace 1 has grams that level 1 of the index lacks"},
		"node":      {"DELETE FROM name_grams WHERE level=0", "segment 0 of workspace 1 has grams that level 0 of the index lacks"},
		"gap":       {"DELETE FROM name_segments WHERE number=1", "segment 2 of workspace 1, from pet 33 on, does not follow from the one before"},
		"not ready": {"UPDATE name_segments SET builder=7 WHERE number=1", "segment 2 of workspace 1, from pet 33 on, does not follow from the one before"},
		"unindexed": {"DELETE FROM name_segments; DELETE FROM name_grams", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkDamaged(t, 16, test.damage, test.want)
		})
	}
}

// TestCheckTellsHalvesApart: in blocks of two animals either half of a row may be
// damaged.
func TestCheckTellsHalvesApart(t *testing.T) {
	t.Parallel()
	checkDamaged(t, 2*fan, "", "")
	for _, column := range []string{"early", "late"} {
		checkDamaged(t, 2*fan, "UPDATE name_grams SET "+column+"=0 WHERE level=2 AND node=1 AND gram='rex'",
			"segment 1 of workspace 1 lacks the grams of some names of its pets 129 to 256")
	}
}

// checkDamaged indexes the names of six segments and a quarter, damages the index,
// and wants a problem that says so, or none.
func checkDamaged(t *testing.T, segment int64, damage, want string) {
	t.Helper()
	db := openUnnamed(t, segment)
	importPets(t, db, newWorkspace(t, t.Context(), db, "shop"), 1, int(segment)*25/4, "Rex")
	if err := db.IndexNames(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.change(t.Context(), func(c *conn) error { return sqlitex.ExecuteScript(c.Conn, damage, nil) }); err != nil {
		t.Fatal(err)
	}
	got, err := db.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(got, "\n"); (len(got) > 0) != (want != "") || !strings.Contains(all, want) {
		t.Errorf("after %q, Check = %q, want %q", damage, all, want)
	}
}

// TestGrams: those of every name of which it is a part are among those of the name.
func TestGrams(t *testing.T) {
	t.Parallel()
	grams := func(s string) map[string]bool {
		all := map[string]bool{}
		eachGram(s, func(gram string) { all[gram] = true })
		return all
	}
	for name, want := range map[string]string{"": "", "犬": "犬", "ab": "a b ab", "aaaa": "a aa aaa", "aé犬b": "a é 犬 b aé é犬 犬b aé犬 é犬b"} {
		all := map[string]bool{}
		for _, gram := range strings.Fields(want) {
			all[gram] = true
		}
		if got := grams(name); !maps.Equal(got, all) {
			t.Errorf("grams of %q = %v, want %v", name, got, all)
		}
	}
	long := strings.Repeat("abcdé犬ghij", 10) + "z"
	for from := range long {
		for _, to := range []int{from + 1, from + 4, len(long)} {
			needle := strings.ToValidUTF8(long[from:min(to, len(long))], "")
			if needle == "" {
				continue
			}
			got := gramsOf(needle)
			for _, gram := range got {
				if !strings.Contains(needle, gram) {
					t.Errorf("gramsOf(%q) has %q", needle, gram)
				}
			}
			if len(got) == 0 || len(got) > mostGrams {
				t.Errorf("gramsOf(%q) are %d", needle, len(got))
			}
		}
	}
}

// BenchmarkIndexNames: the time and the room that the index takes for each animal,
// of made-up names in which many letters follow many.
func BenchmarkIndexNames(b *testing.B) {
	db := openUnnamed(b, segmentSize)
	workspace := newWorkspace(b, b.Context(), db, "shop")
	const batch = 8 * segmentSize
	for from := int64(1); from <= int64(b.N)+2*segmentSize; from += batch {
		b.StopTimer()
		names := make([]petstore.Unit, batch)
		kind := &petstore.Category{Name: "Dogs"}
		for i := range names {
			id := from + int64(i)
			names[i] = petstore.Unit{In: kind, PetID: id, Animal: &petstore.Animal{Pet: petstore.Pet{ID: id, Name: inventedName(id), Status: petstore.Available}, Quantity: 1}}
			if _, err := names[i].Check(petstore.At(db.now())); err != nil {
				b.Fatal(err)
			}
		}
		if refused, err := db.Load(b.Context(), workspace, &petstore.Batch{Units: append([]petstore.Unit{{Category: kind}}, names...)}); err != nil || len(refused) > 0 {
			b.Fatal(refused, err)
		}
		b.StartTimer()
		if err := db.IndexNames(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(size(b, db)/float64(db.ready(b, workspace)), "B/animal")
}

// size returns how many bytes the index of names takes.
func size(b *testing.B, db *DB) (bytes float64) {
	b.Helper()
	err := db.read(b.Context(), func(c *conn) error {
		return c.each("SELECT sum(pgsize) FROM dbstat WHERE name='name_grams'", func(row *sqlite.Stmt) { bytes = row.ColumnFloat(0) })
	})
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

// inventedName returns a name of two words of three or four syllables, out of 140.
func inventedName(n int64) string {
	h := uint64(n) * 0x9E3779B97F4A7C15
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

// TestBlocksOfASegment: each id is in one half of one block, and the empty ones behind
// the last begin where the segment ends.
func TestBlocksOfASegment(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{1, 2, 63, 64, 65, 100, 101, 4096, 4097, 5000} {
		s := segment{first: 7, last: 6 + size}
		next := s.first
		for block := range int64(fan) {
			first, last := s.ids(block)
			if first != next {
				t.Fatalf("block %d of %d ids begins with %d, want %d", block, size, first, next)
			}
			early, late := halves{early: 1 << block}, halves{late: 1 << block}
			begin, middle := s.idsOf(block, early)
			behind, end := s.idsOf(block, late)
			if begin != first || behind != middle+1 || end != last || middle-first > s.width()/2 || last-behind > s.width()/2 {
				t.Fatalf("the halves of block %d of %d ids are %d to %d and %d to %d, want those of %d to %d", block, size, begin, middle, behind, end, first, last)
			}
			if begin, end := s.idsOf(block, early.or(late)); begin != first || end != last {
				t.Fatalf("both halves of block %d of %d ids are %d to %d, want %d to %d", block, size, begin, end, first, last)
			}
			for id := first; id <= last; id++ {
				want := early
				if id > middle {
					want = late
				}
				if got := s.half(id); got != want {
					t.Fatalf("the half of %d among %d ids = %b, want %b", id, size, got, want)
				}
			}
			next = last + 1
		}
		if next != s.last+1 {
			t.Errorf("the blocks of %d ids end with %d, want %d", size, next-1, s.last)
		}
	}
}

// TestLongNames are found, and cost the index no more than a row of each level.
func TestLongNames(t *testing.T) {
	t.Parallel()
	db := openUnnamed(t, 16)
	workspace := newWorkspace(t, t.Context(), db, "shop")
	long := strings.Repeat("x", mostLetters) + " Ōkami"
	importPets(t, db, workspace, 1, 48, long)
	if err := db.IndexNames(t.Context()); err != nil {
		t.Fatal(err)
	}
	for needle, want := range map[string]int{"ami 00007": 1, petstore.Fold(long) + " 0000": 10, "k": 48, "ami 00048": 0} {
		got, err := db.Pets(t.Context(), workspace, petstore.PetQuery{Page: petstore.Page{Limit: 100}, Name: needle})
		if err != nil || len(got) != want {
			t.Errorf("Pets of %q = %d, %v, want %d", needle, len(got), err, want)
		}
	}
	var grams int64
	err := db.read(t.Context(), func(c *conn) error {
		_, err := c.one("SELECT count(*) FROM name_grams WHERE level=?", func(row *sqlite.Stmt) { grams = scanInt(row) }, blockLevel)
		return err
	})
	if ready := db.ready(t, workspace); err != nil || ready != 32 || grams != 2 {
		t.Errorf("of pets up to %d there are %d grams, %v, want 2 of 32: one of each segment", ready, grams, err)
	}
}
