package sqlite

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

// openCached opens the file at path with a cache.
func openCached(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, Options{Readers: 2, Cached: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// newShop makes a workspace with one category and returns its number.
func newShop(t *testing.T, db *DB) int64 {
	t.Helper()
	return newShopNamed(t, db, t.Name())
}

func newShopNamed(t *testing.T, db *DB, name string) int64 {
	t.Helper()
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: name, Plan: access.Enterprise, Quota: access.Quota{PerMinute: 1, PerDay: 1}}, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := petstore.NewService(db).CreateCategory(t.Context(), w.ID, petstore.NewCategory{Name: "Dogs"}, nil); err != nil {
		t.Fatal(err)
	}
	return w.ID
}

func createPet(t *testing.T, db *DB, workspace int64, name string) int64 {
	t.Helper()
	c, err := petstore.NewService(db).CreatePet(t.Context(), workspace, petstore.NewPet{Name: name, CategoryID: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

func nameAnew(db *DB, workspace, id int64, name string) error {
	_, err := petstore.NewService(db).UpdatePet(context.Background(), workspace, id, petstore.PetPatch{Name: petstore.Some(name)}, petstore.Condition{})
	return err
}

func (db *DB) holds(workspace, id int64) bool {
	_, ok, _ := db.cache.row(cacheKey{workspace, id})
	return ok
}

// TestCacheKeepsWhatWasRead also checks that what is saved every few seconds, the
// limiter's counts and what keys did, empties nothing, nor does what is removed by and by.
func TestCacheKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	db := openCached(t, filepath.Join(t.TempDir(), "petstore.db"))
	ws, other := newShop(t, db), newShopNamed(t, db, "other")
	for _, w := range []int64{ws, other} {
		createPet(t, db, w, "one")
	}
	for _, w := range []int64{ws, other} {
		if _, err := db.Pet(t.Context(), w, 1); err != nil || !db.holds(w, 1) {
			t.Fatalf("the pet of %d is not held after it was read (%v)", w, err)
		}
	}
	if err := db.SaveLimits(t.Context(), ratelimit.Saved{Windows: []ratelimit.SavedWindow{{Subject: "w1", Day: 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := db.AddKeyDays(t.Context(), []usage.KeyDay{{Workspace: ws, KeyID: "key_1"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := db.ForgetEvents(t.Context(), petstore.Time{}); n == 0 || err != nil {
		t.Fatalf("ForgetEvents = %d, %v, want the events of two pets", n, err)
	}
	if err := nameAnew(db, ws, 1, "uno"); err != nil {
		t.Fatal(err)
	}
	if db.holds(ws, 1) || !db.holds(other, 1) {
		t.Errorf("after a change in %d: held = %t and %t, want only what is of the other workspace", ws, db.holds(ws, 1), db.holds(other, 1))
	}
}

// TestCacheSeesOtherProcesses has a second database on the file, which tells
// the first as little as another process would. The one that commits sees it at
// once, the other soon.
func TestCacheSeesOtherProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	here, there := openCached(t, path), openCached(t, path)
	ws := newShop(t, here)
	id := createPet(t, here, ws, "v0")
	query := petstore.PetQuery{Page: petstore.Page{Limit: 10}}
	read := func(db *DB) (pet, listed string) {
		t.Helper()
		one, err := db.Pet(t.Context(), ws, id)
		if err != nil {
			t.Fatal(err)
		}
		all, err := db.Pets(t.Context(), ws, query)
		if err != nil || len(all) != 1 {
			t.Fatalf("Pets = %v, %v, want one", all, err)
		}
		return one.Name, all[0].Name
	}
	for i := range 6 {
		by, other := here, there
		if i%2 == 1 {
			by, other = there, here
		}
		read(by)
		read(other)
		want := fmt.Sprint("v", i+1)
		if err := nameAnew(by, ws, id, want); err != nil {
			t.Fatal(err)
		}
		if pet, listed := read(by); pet != want || listed != want {
			t.Fatalf("by whom it was renamed the pet is %q, and %q in the list, want %q", pet, listed, want)
		}
		eventually(t, "the other one sees it", func() bool {
			pet, listed := read(other)
			return pet == want && listed == want
		})
	}
}

// TestCloseWaitsForOthers: what was committed holds everywhere when Close returns.
func TestCloseWaitsForOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	here, there := openCached(t, path), openCached(t, path)
	ws := newShop(t, here)
	id := createPet(t, here, ws, "before")
	if _, err := here.Pet(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
	if err := nameAnew(there, ws, id, "after"); err != nil {
		t.Fatal(err)
	}
	if err := there.Close(); err != nil {
		t.Fatal(err)
	}
	if pet, err := here.Pet(t.Context(), ws, id); err != nil || pet.Name != "after" {
		t.Errorf("Pet = %v, %v, want the new name", pet, err)
	}
}

// TestCacheIsNeverBehind has a database change pets while readers look: nobody may
// see a version older than one that was confirmed, or seen by anybody, before the
// look began.
func TestCacheIsNeverBehind(t *testing.T) {
	t.Parallel()
	db := openCached(t, filepath.Join(t.TempDir(), "petstore.db"))
	ws := newShop(t, db)
	const pets, changes = 4, 150
	var confirmed [pets]struct {
		sync.Mutex
		version int
	}
	confirm := func(i, version int) {
		confirmed[i].Lock()
		defer confirmed[i].Unlock()
		confirmed[i].version = max(confirmed[i].version, version)
	}
	ids := make([]int64, pets)
	for i := range ids {
		ids[i] = createPet(t, db, ws, "0")
	}
	var writers, readers sync.WaitGroup
	for i := range ids {
		writers.Go(func() {
			for version := 1; version <= changes; version++ {
				if err := nameAnew(db, ws, ids[i], fmt.Sprint(version)); err != nil {
					t.Error(err)
					return
				}
				confirm(i, version)
			}
		})
	}
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for i := 0; ; i = (i + 1) % pets {
				select {
				case <-done:
					return
				default:
				}
				confirmed[i].Lock()
				least := confirmed[i].version
				confirmed[i].Unlock()
				pet, err := db.Pet(context.Background(), ws, ids[i])
				var seen int
				if _, scanErr := fmt.Sscan(pet.Name, &seen); err != nil || scanErr != nil || seen < least {
					t.Errorf("pet %d is at version %q (%v), but %d was confirmed before", ids[i], pet.Name, err, least)
					return
				}
				confirm(i, seen)
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

// TestCacheAgainstMap keeps, changes and flushes at random: whatever is held is what
// was kept last.
func TestCacheAgainstMap(t *testing.T) {
	t.Parallel()
	c, r := newCache(1<<12), rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a repeatable sequence
	last := map[cacheKey]row{}
	found := 0
	for i := range 200_000 {
		k := cacheKey{1 + r.Int64N(3), 1 + r.Int64N(2000)}
		held, ok, version := c.row(k)
		switch n := r.IntN(20_000); {
		case n == 0:
			c.flush()
			clear(last)
		case n < 10:
			if err := c.commit(&touched{workspaces: []int64{k.workspace, k.workspace}}, func() error {
				_, ok, during := c.row(k)
				c.keep(k, row{name: "before"}, during)
				if _, again, _ := c.row(k); ok || again {
					t.Fatal("a row is held while it changes")
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			c.keep(k, row{name: "before"}, version)
			maps.DeleteFunc(last, func(other cacheKey, _ row) bool { return other.workspace == k.workspace })
		case n < 10_000:
			last[k] = row{name: fmt.Sprint(i), category: int64(i)}
			c.keep(k, last[k], version)
		case ok:
			found++
			if held != last[k] {
				t.Fatalf("after %d steps: row(%v) = %v, want %v", i, k, held, last[k])
			}
		}
		if held, ok, _ := c.row(k); ok && held != last[k] {
			t.Fatalf("after %d steps: row(%v) = %v, want %v", i, k, held, last[k])
		}
	}
	if found < 10_000 {
		t.Errorf("%d were found, want most of a hundred thousand", found)
	}
}

// TestCacheKeepsThePopular reads pets as the web reads pages, one in three of them
// once only, and wants most reads of what is popular to find it.
func TestCacheKeepsThePopular(t *testing.T) {
	t.Parallel()
	const rows = 1 << 12
	c, r := newCache(rows), rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a repeatable sequence
	popular := rand.NewZipf(r, 1.1, 1, 10*rows-1)
	found, asked := 0, 0
	for i := range 400_000 {
		k := cacheKey{1, 1 + int64(popular.Uint64())*7919%(10*rows)} //nolint:gosec // small
		if i%3 == 0 {
			k.id = 1_000_000 + int64(i)
		}
		_, ok, version := c.row(k)
		if !ok {
			c.keep(k, row{name: "Laika"}, version)
		}
		if i%3 != 0 && i > 100_000 {
			asked++
			if ok {
				found++
			}
		}
	}
	if share := float64(found) / float64(asked); share < 0.7 {
		t.Errorf("%.2f of the reads of popular pets found them, want 0.7", share)
	}
	for i := range c.shards {
		if s := &c.shards[i]; len(s.young)+len(s.older) > rows/len(c.shards) {
			t.Errorf("a shard has %d and %d rows, want %d at most", len(s.young), len(s.older), rows/len(c.shards))
		}
	}
}
