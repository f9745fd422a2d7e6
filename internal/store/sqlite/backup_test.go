package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/petstore/internal/petstore"
)

// openStocked opens the database in a file and makes a workspace with one pet that can be ordered for ever.
func openStocked(t *testing.T, path string) (*DB, *petstore.Service, int64) {
	t.Helper()
	db := openAt(t, path, Options{Serve: true})
	service, workspace := petstore.NewService(db), newShop(t, db, "acme")
	createPet(t, db, workspace, "Guppy")
	_, err := service.UpdateInventory(t.Context(), workspace, 1, petstore.MaxQuantity, petstore.Condition{})
	must(t, err)
	return db, service, workspace
}

// Every order that was acknowledged before a backup began is in it.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, service, workspace := openStocked(t, filepath.Join(dir, "petstore.db"))
	ctx, stop := context.WithCancel(t.Context())
	var buyers sync.WaitGroup
	var acknowledged atomic.Int64
	for range 4 {
		buyers.Go(func() {
			for ctx.Err() == nil {
				if _, err := service.CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: 1, Quantity: 1}, nil); err != nil {
					t.Error(err)
					return
				}
				acknowledged.Add(1)
			}
		})
	}
	for range 3 {
		before := acknowledged.Load()
		path := filepath.Join(dir, "copy.db")
		must(t, Backup(t.Context(), filepath.Join(dir, "petstore.db"), path))
		if got := openOrders(t, path, workspace); got < before {
			t.Errorf("the backup has %d orders, want at least %d", got, before)
		}
		if beside, err := filepath.Glob(path + "?*"); err != nil || len(beside) > 0 {
			t.Errorf("there are %v beside the backup, want nothing", beside)
		}
	}
	stop()
	buyers.Wait()
}

// openOrders returns the units taken from the pet in the database at path, after
// checking that it is sound and readable by its owner alone.
func openOrders(t *testing.T, path string, workspace int64) int64 {
	t.Helper()
	if problems, err := Verify(t.Context(), path); err != nil || len(problems) > 0 {
		t.Fatalf("Verify(%s) = %v, %v, want none", path, problems, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v, want 0600", info.Mode(), err)
	}
	db, err := Open(t.Context(), path, Options{Readers: 1, ReadOnly: true})
	must(t, err)
	pet, err := db.Pet(t.Context(), workspace, 1)
	must(t, errors.Join(err, db.Close()))
	return petstore.MaxQuantity - pet.Quantity
}

// TestRestoreWarnsOfLostIDs: what cannot be read of the database that is replaced is said.
func TestRestoreWarnsOfLostIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "petstore.db"), filepath.Join(dir, "copy.db")
	db, _, workspace := openStocked(t, path)
	must(t, errors.Join(Backup(t.Context(), path, copied), db.Close()))
	for content, want := range map[string]string{
		"":                                     "",
		strings.Repeat("not a database ", 100): "the ids of " + path + ", which was replaced, could not be read, and some may be issued again: is not an SQLite database",
	} {
		writeFile(t, path, content)
		warning, err := Restore(t.Context(), copied, path, Options{})
		if err != nil || (warning == nil) != (want == "") || warning != nil && !strings.HasPrefix(warning.Error(), want) {
			t.Errorf("Restore over %.5q = %v, %v, want the warning %q", content, warning, err, want)
		}
		if got := openOrders(t, path, workspace); got != 0 {
			t.Errorf("after the restore %d units are taken, want 0", got)
		}
	}
}

// TestRestoredIDsGoOn: ids that were issued after the backup are never issued again, also
// if the same backup is restored twice, with a reset between, and all feeds say that it was restored.
func TestRestoredIDsGoOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "petstore.db"), filepath.Join(dir, "copy.db")
	db, service, workspace := openStocked(t, path)
	must(t, Backup(t.Context(), path, copied))
	_, err := service.CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: 1, Quantity: 1}, nil)
	must(t, err)
	last, shop := lastEvent(t, db, workspace), workspace
	for restored := int64(1); restored <= 3; restored++ {
		must(t, db.Close())
		if warning, err := Restore(t.Context(), copied, path, Options{}); err != nil || warning != nil {
			t.Fatal(warning, err)
		}
		db = openAt(t, path, Options{})
		want := restored*1_000_000 + 1
		if got := firstIDs(t, petstore.NewService(db), workspace); got != [3]int64{want, want, want} {
			t.Errorf("the ids of the first category, pet and order after restore %d = %d, want %d", restored, got, want)
		}
		page, err := db.Events(t.Context(), workspace, petstore.EventQuery{After: last, Limit: 1})
		if err != nil || len(page.Events) != 1 || page.Events[0].Type != petstore.WorkspaceReset || page.Events[0].ID != restored<<36 {
			t.Errorf("events after %d, after restore %d = %+v, %v, want %s with the id %d", last, restored, page.Events, err, petstore.WorkspaceReset, restored<<36)
		}
		if id := newWorkspace(t, db, fmt.Sprint("new ", restored)); id != restored*10_000+1 {
			t.Errorf("the id of a workspace after restore %d = %d, want %d", restored, id, restored*10_000+1)
		}
		must(t, db.ResetWorkspace(t.Context(), workspace, "cli"))
		must(t, db.Resume(t.Context()))
		w, err := db.WorkspaceByID(t.Context(), workspace)
		must(t, err)
		shop = w.Shop
		last = lastEvent(t, db, shop)
	}
	if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("Check = %v, %v, want none", problems, err)
	}
	if problems, err := db.CheckFeed(t.Context(), shop); err != nil || len(problems) > 0 {
		t.Errorf("CheckFeed = %v, %v, want none", problems, err)
	}
}

// firstIDs returns the ids of a new category, pet and order.
func firstIDs(t *testing.T, s *petstore.Service, workspace int64) [3]int64 {
	t.Helper()
	c, err1 := s.CreateCategory(t.Context(), workspace, petstore.NewCategory{Name: "Birds"}, nil)
	p, err2 := s.CreatePet(t.Context(), workspace, petstore.NewPet{Name: "Polly", CategoryID: 1}, nil)
	o, err3 := s.CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: 1, Quantity: 1}, nil)
	must(t, errors.Join(err1, err2, err3))
	return [3]int64{c.ID, p.ID, o.ID}
}

// lastEvent returns the id of the latest event.
func lastEvent(t *testing.T, db *DB, workspace int64) int64 {
	t.Helper()
	page, err := db.Events(t.Context(), workspace, petstore.EventQuery{Oldest: true, Limit: 1})
	must(t, err)
	return page.Last
}
