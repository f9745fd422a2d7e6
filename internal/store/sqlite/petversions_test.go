package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

func nameAnew(db *DB, workspace, id int64, name string) error {
	_, err := petstore.NewService(db).UpdatePet(context.Background(), workspace, id, petstore.PetPatch{Name: petstore.Some(name)}, petstore.Condition{})
	return err
}

// TestVersionsOfOtherWrites: what is saved every few seconds, the limiter's counts and what
// keys did, changes no version, nor does what is removed by and by, or another workspace's.
func TestVersionsOfOtherWrites(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{})
	ws, other := newShop(t, db, "acme"), newShop(t, db, "other")
	createPet(t, db, ws, "one")
	before, known := db.PetVersion(other)
	must(t, db.SaveLimits(t.Context(), []ratelimit.SavedWindow{{Subject: "w1", Day: 1}}))
	must(t, db.AddUsage(t.Context(), []usage.Row{{Workspace: ws, Interval: usage.Day, Key: "key_1", LastUsed: 1}}))
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
	both := [2]*DB{openAt(t, path, Options{}), openAt(t, path, Options{})}
	ws := newShop(t, both[0], "acme")
	id := createPet(t, both[0], ws, "v0")
	for i := range 6 {
		by, other := both[i%2], both[1-i%2]
		var before [2]uint64
		for i, db := range []*DB{by, other} {
			processtest.Eventually(t, "the version is known", func() (known bool) { before[i], known = db.PetVersion(ws); return known })
		}
		must(t, nameAnew(by, ws, id, fmt.Sprint("v", i+1)))
		if after, known := by.PetVersion(ws); known && after == before[0] {
			t.Fatal("by whom it was renamed the pet has the version of before")
		}
		processtest.Eventually(t, "the other one sees it", func() bool { after, known := other.PetVersion(ws); return !known || after != before[1] })
	}
}

// TestCloseWaitsForOthers: Close returns when other processes have had time to look for
// what was committed.
func TestCloseWaitsForOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	here, there := openAt(t, path, Options{}), openAt(t, path, Options{})
	ws := newShop(t, here, "acme")
	id := createPet(t, here, ws, "before")
	began := time.Now()
	must(t, nameAnew(there, ws, id, "after"))
	must(t, there.Close())
	if took := time.Since(began); took < noticeEvery {
		t.Errorf("a change and Close took %v, less than the %v in which others look", took, noticeEvery)
	}
}

// TestVersionsAreNeverBehind has a database change a pet while readers look, who hold what they have read while its version
// stays: nobody may see a name older than one that was confirmed, or seen by anybody, before the look began.
func TestVersionsAreNeverBehind(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{})
	ws := newShop(t, db, "acme")
	id := createPet(t, db, ws, "0")
	var least, held atomic.Int64
	seen := func(n int64) {
		for old := least.Load(); n > old && !least.CompareAndSwap(old, n); old = least.Load() {
		}
	}
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			var name, version int64 = 0, -1
			for !done.Load() {
				runtime.Gosched() // the writer has its turn on one processor too
				atLeast := least.Load()
				if now, known := db.PetVersion(ws); known && int64(now) == version {
					held.Add(1)
				} else {
					pet, err := db.Pet(context.Background(), ws, id)
					if _, scanErr := fmt.Sscan(pet.Name, &name); err != nil || scanErr != nil {
						t.Error(err, scanErr)
						return
					}
					if version = -1; known {
						version = int64(now)
					}
				}
				if name < atLeast {
					t.Errorf("the pet has the name %d, but %d was confirmed before", name, atLeast)
					return
				}
				seen(name)
			}
		})
	}
	for n := range int64(300) {
		must(t, nameAnew(db, ws, id, fmt.Sprint(n+1)))
		seen(n + 1)
	}
	done.Store(true)
	readers.Wait()
	if held.Load() == 0 {
		t.Error("nothing was ever held")
	}
}
