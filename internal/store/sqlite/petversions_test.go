package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

// openCached opens the file at path.
func openCached(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, Options{Readers: 2})
	must(t, err)
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
	must(t, err)
	if _, err := petstore.NewService(db).CreateCategory(t.Context(), w.ID, petstore.NewCategory{Name: "Dogs"}, nil); err != nil {
		t.Fatal(err)
	}
	return w.ID
}

func createPet(t *testing.T, db *DB, workspace int64, name string) int64 {
	t.Helper()
	c, err := petstore.NewService(db).CreatePet(t.Context(), workspace, petstore.NewPet{Name: name, CategoryID: 1}, nil)
	must(t, err)
	return c.ID
}

func nameAnew(db *DB, workspace, id int64, name string) error {
	_, err := petstore.NewService(db).UpdatePet(context.Background(), workspace, id, petstore.PetPatch{Name: petstore.Some(name)}, petstore.Condition{})
	return err
}

// A held is what is held of a pet, as those who hold answers do it.
type held struct {
	db *DB
	sync.Mutex
	pets     map[int64]petstore.Pet
	versions map[int64]uint64
}

func newHeld(db *DB) *held {
	return &held{db: db, pets: map[int64]petstore.Pet{}, versions: map[int64]uint64{}}
}

// pet returns a pet, and whether it was held.
func (h *held) pet(workspace, id int64) (p petstore.Pet, was bool, err error) {
	version, known := h.db.PetVersion(workspace)
	h.Lock()
	p, there := h.pets[id]
	there = there && known && h.versions[id] == version
	h.Unlock()
	if there {
		return p, true, nil
	}
	if p, err = h.db.Pet(context.Background(), workspace, id); err == nil && known {
		h.Lock()
		defer h.Unlock()
		h.pets[id], h.versions[id] = p, version
	}
	return p, false, err
}

// TestVersionsOfOtherWrites: what is saved every few seconds, the limiter's counts and what
// keys did, changes no version, nor does what is removed by and by, or another workspace's.
func TestVersionsOfOtherWrites(t *testing.T) {
	t.Parallel()
	db := openCached(t, filepath.Join(t.TempDir(), "petstore.db"))
	ws, other := newShop(t, db), newShopNamed(t, db, "other")
	createPet(t, db, ws, "one")
	before, known := db.PetVersion(other)
	must(t, db.SaveLimits(t.Context(), []ratelimit.SavedWindow{{Subject: "w1", Day: 1}}))
	must(t, db.AddKeyDays(t.Context(), []usage.KeyDay{{Workspace: ws, KeyID: "key_1"}}))
	if _, err := db.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := db.ForgetEvents(t.Context(), petstore.Time{}); n == 0 || err != nil {
		t.Fatalf("ForgetEvents = %d, %v, want the event of the pet", n, err)
	}
	must(t, nameAnew(db, ws, 1, "uno"))
	if after, _ := db.PetVersion(other); after != before || !known {
		t.Errorf("PetVersion = %d, %t, was %d", after, known, before)
	}
}

// TestVersionsSeeOtherProcesses has a second database on the file, which tells
// the first as little as another process would. The one that commits sees it at
// once, the other soon.
func TestVersionsSeeOtherProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	here, there := newHeld(openCached(t, path)), newHeld(openCached(t, path))
	ws := newShop(t, here.db)
	id := createPet(t, here.db, ws, "v0")
	read := func(h *held) string {
		t.Helper()
		p, _, err := h.pet(ws, id)
		must(t, err)
		return p.Name
	}
	for i := range 6 {
		by, other := here, there
		if i%2 == 1 {
			by, other = there, here
		}
		read(by)
		read(other)
		want := fmt.Sprint("v", i+1)
		must(t, nameAnew(by.db, ws, id, want))
		if got := read(by); got != want {
			t.Fatalf("by whom it was renamed the pet is %q, want %q", got, want)
		}
		eventually(t, "the other one sees it", func() bool { return read(other) == want })
	}
}

// TestCloseWaitsForOthers: Close returns when other processes have had time to look for
// what was committed.
func TestCloseWaitsForOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	here, there := openCached(t, path), openCached(t, path)
	ws := newShop(t, here)
	id := createPet(t, here, ws, "before")
	began := time.Now()
	must(t, nameAnew(there, ws, id, "after"))
	must(t, there.Close())
	if took := time.Since(began); took < noticeEvery {
		t.Errorf("a change and Close took %v, less than the %v in which others look", took, noticeEvery)
	}
}

// TestVersionsAreNeverBehind has a database change pets while readers look: nobody may
// see a version older than one that was confirmed, or seen by anybody, before the
// look began.
func TestVersionsAreNeverBehind(t *testing.T) {
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
	all := newHeld(db)
	var found atomic.Int64
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
				pet, was, err := all.pet(ws, ids[i])
				if was {
					found.Add(1)
				}
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
	if found.Load() == 0 {
		t.Error("nothing was ever held")
	}
}
