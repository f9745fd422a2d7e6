package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// openCached opens the file at path with a cache.
func openCached(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, Options{Readers: 2, Cached: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if db.cache == nil {
		t.Skip("this platform has no view of the log's index")
	}
	return db
}

// newShop makes a workspace with one category and returns its number.
func newShop(t *testing.T, db *DB) int64 {
	t.Helper()
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: t.Name(), Plan: access.Enterprise, Quota: access.Quota{PerMinute: 1, PerDay: 1}}, "test")
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
	_, ok, _ := db.cache.row(rowKey{workspace, id})
	return ok
}

// TestCacheKeepsWhatWasRead also checks that a save of the limiter's counts,
// which comes twice a second, empties nothing.
func TestCacheKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	db := openCached(t, filepath.Join(t.TempDir(), "petstore.db"))
	ws := newShop(t, db)
	first, second := createPet(t, db, ws, "one"), createPet(t, db, ws, "two")
	for _, id := range []int64{first, second} {
		if _, err := db.Pet(t.Context(), ws, id); err != nil || !db.holds(ws, id) {
			t.Fatalf("pet %d is not held after it was read (%v)", id, err)
		}
	}
	if err := db.SaveLimits(t.Context(), ratelimit.Saved{Windows: []ratelimit.SavedWindow{{Subject: "w1", Day: 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := nameAnew(db, ws, first, "uno"); err != nil {
		t.Fatal(err)
	}
	if db.holds(ws, first) || !db.holds(ws, second) {
		t.Errorf("after a change of %d: held = %t and %t, want only the other", first, db.holds(ws, first), db.holds(ws, second))
	}
}

// TestCacheSeesOtherProcesses has a second database on the file, which tells
// the first as little as another process would.
func TestCacheSeesOtherProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	here, there := openCached(t, path), openCached(t, path)
	ws := newShop(t, here)
	id := createPet(t, here, ws, "v0")
	query := petstore.PetQuery{Page: petstore.Page{Limit: 10}}
	for i := range 50 {
		for _, db := range []*DB{here, there} {
			if _, err := db.Pet(t.Context(), ws, id); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Pets(t.Context(), ws, query); err != nil {
				t.Fatal(err)
			}
		}
		want := fmt.Sprint("v", i+1)
		by := []*DB{here, there}[i%2]
		if err := nameAnew(by, ws, id, want); err != nil {
			t.Fatal(err)
		}
		for name, db := range map[string]*DB{"here": here, "there": there} {
			pet, err := db.Pet(t.Context(), ws, id)
			if err != nil || pet.Name != want {
				t.Fatalf("%s: the pet is %q (%v), want %q", name, pet.Name, err, want)
			}
			pets, err := db.Pets(t.Context(), ws, query)
			if err != nil || len(pets) != 1 || pets[0].Name != want {
				t.Fatalf("%s: the page is %v (%v), want one %q", name, pets, err, want)
			}
		}
	}
}

// TestCacheIsNeverBehind has two databases on one file change pets while readers
// of both look: nobody may see a version older than one that was confirmed
// before the look began.
func TestCacheIsNeverBehind(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	dbs := []*DB{openCached(t, path), openCached(t, path)}
	ws := newShop(t, dbs[0])
	const pets, changes = 4, 150
	var confirmed [pets]struct {
		sync.Mutex
		version int
	}
	ids := make([]int64, pets)
	for i := range ids {
		ids[i] = createPet(t, dbs[0], ws, "0")
	}
	var writers, readers sync.WaitGroup
	for i := range ids {
		writers.Go(func() {
			for version := 1; version <= changes; version++ {
				if err := nameAnew(dbs[rand.IntN(2)], ws, ids[i], fmt.Sprint(version)); err != nil {
					t.Error(err)
					return
				}
				confirmed[i].Lock()
				confirmed[i].version = version
				confirmed[i].Unlock()
			}
		})
	}
	done := make(chan struct{})
	for _, db := range dbs {
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
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

// TestCachedPagesOutliveStock: an order changes no list of pets, unless it sells
// the last one.
func TestCachedPagesOutliveStock(t *testing.T) {
	t.Parallel()
	db := openCached(t, filepath.Join(t.TempDir(), "petstore.db"))
	ws := newShop(t, db)
	service, id := petstore.NewService(db), createPet(t, db, ws, "one")
	if _, err := service.UpdateInventory(t.Context(), ws, id, 2, petstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	query := petstore.PetQuery{Page: petstore.Page{Limit: 10}}
	key, _ := keyOf(ws, &query)
	if _, err := db.Pets(t.Context(), ws, query); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if _, err := service.CreateOrder(t.Context(), ws, petstore.NewOrder{PetID: id, Quantity: 1}, nil); err != nil {
			t.Fatal(err)
		}
		if _, held, _, _ := db.cache.page(key); held != want {
			t.Errorf("the page is held: %t, want %t", held, want)
		}
	}
	pets, err := db.Pets(t.Context(), ws, query)
	if err != nil || len(pets) != 1 || pets[0].Status == petstore.Available {
		t.Errorf("after the last one was sold: %v (%v)", pets, err)
	}
}
