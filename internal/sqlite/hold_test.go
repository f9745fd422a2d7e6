package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// openQuiet opens the file at path for a server that has not written for long.
func openQuiet(t *testing.T, path string, readers int) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, Options{Readers: readers, Cached: 64, LeaveNames: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	calmDown(db)
	return db
}

func calmDown(db *DB) { db.holder.wrote.Store(-int64(time.Hour)) }

// held returns how many idle connections hold a state.
func (db *DB) held() (n int) {
	db.readers.mu.Lock()
	defer db.readers.mu.Unlock()
	for _, c := range db.readers.idle {
		if c.held != nil {
			n++
		}
	}
	return n
}

// TestAHeldStateIsTheLatest: what another process commits is read at once, on a
// connection that has held a state since before.
func TestAHeldStateIsTheLatest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	here, there := openQuiet(t, path, 1), openQuiet(t, path, 1)
	workspace := newShop(t, there)
	holds := 0
	for i := range 200 {
		name := fmt.Sprint("Dogs ", i)
		if _, err := petstore.NewService(there).UpdateCategory(t.Context(), workspace, 1, petstore.CategoryPatch{Name: petstore.Some(name)}, petstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := here.Category(t.Context(), workspace, 1); got.Name != name || err != nil {
				t.Fatalf("Category = %v, %v, want %s", got, err, name)
			}
			holds += here.held()
			calmDown(here) // as if that had been long ago
		}
		if all, err := here.Categories(t.Context(), workspace, petstore.CategoryQuery{Page: petstore.Page{Limit: 9}}); len(all) != 1 || err != nil { // on the same connection
			t.Fatalf("Categories = %v, %v", all, err)
		}
		if here.held() > 0 {
			t.Fatal("a list left a state held")
		}
		if _, err := here.Order(t.Context(), workspace, 9); petstore.CodeOf(err) != petstore.CodeOrderNotFound {
			t.Fatalf("Order = %v, want none", err)
		}
	}
	if holds < 150 { // each time but the first, and those when all let go in between
		t.Errorf("a state was held after %d of 400 reads", holds)
	}
}

// TestNobodyHoldsBesideOthersWrites: when it is seen that another process has written
// nobody holds a state, whatever was read that showed it.
func TestNobodyHoldsBesideOthersWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	here, there := openQuiet(t, path, 3), openQuiet(t, path, 1)
	workspace := newShop(t, there)
	for i, read := range []func() error{
		func() error { _, err := here.Category(t.Context(), workspace, 1); return err },
		func() error { _, err := here.Pet(t.Context(), workspace, 1); return err },
		func() error {
			_, err := here.Pets(t.Context(), workspace, petstore.PetQuery{Page: petstore.Page{Limit: 20}})
			return err
		},
	} {
		createPet(t, there, workspace, "Rex")
		eventually(t, "a state is held", func() bool {
			calmDown(here)
			if _, err := here.Category(t.Context(), workspace, 1); err != nil {
				t.Fatal(err)
			}
			return here.held() > 0
		})
		createPet(t, there, workspace, "Ida")
		if err := read(); err != nil || here.held() > 0 {
			t.Errorf("%d: %d connections hold a state after a write of another process, %v", i, here.held(), err)
		}
	}
}

// TestNobodyHoldsBesideWrites: the first write of a process has all of its connections
// let go, and none holds a state while it writes.
func TestNobodyHoldsBesideWrites(t *testing.T) {
	t.Parallel()
	db := openQuiet(t, filepath.Join(t.TempDir(), "petstore.db"), 3)
	workspace := newShop(t, db)
	rename := func(name string) {
		t.Helper()
		if _, err := petstore.NewService(db).UpdateCategory(t.Context(), workspace, 1, petstore.CategoryPatch{Name: petstore.Some(name)}, petstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		calmDown(db)
		eventually(t, "a state is held", func() bool {
			if _, err := db.Category(t.Context(), workspace, 1); err != nil {
				t.Fatal(err)
			}
			return db.held() > 0
		})
		before := db.holder.wrote.Load()
		rename(fmt.Sprint("Dogs ", i))
		if db.holder.wrote.Load() <= before {
			t.Fatal("a write is not noted")
		}
		if n := db.held(); n > 0 {
			t.Fatalf("%d connections hold a state after a write", n)
		}
		db.holder.wrote.Store(writing) // however slow the machine is
		if _, err := db.Category(t.Context(), workspace, 1); err != nil || db.held() > 0 {
			t.Fatalf("%d connections hold a state beside writes, %v", db.held(), err)
		}
	}
}

// TestHeldStatesEnd: another process can have the log begin anew soon after reads.
func TestHeldStatesEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	here, there := openQuiet(t, path, 2), openQuiet(t, path, 1)
	workspace := newShop(t, there)
	eventually(t, "a state is held", func() bool {
		calmDown(here)
		if _, err := here.Category(t.Context(), workspace, 1); err != nil {
			t.Fatal(err)
		}
		return here.held() > 0
	})
	eventually(t, "the log is emptied", func() bool {
		busy := int64(1)
		err := there.change(t.Context(), func(*conn) error { return nil })
		if err == nil {
			_, err = there.checkpointer.conn.one("PRAGMA wal_checkpoint(TRUNCATE)", func(row *sqlite.Stmt) { busy = row.ColumnInt64(0) })
		}
		return err == nil && busy == 0
	})
	if n := here.held(); n > 0 {
		t.Errorf("%d connections hold a state", n)
	}
}

// TestHeldStatesEndWhereverTheyAre: a connection that is in use when all let go, or
// when this process begins to write, holds nothing when it is back.
func TestHeldStatesEndWhereverTheyAre(t *testing.T) {
	t.Parallel()
	db := openQuiet(t, filepath.Join(t.TempDir(), "petstore.db"), 2)
	workspace := newShop(t, db)
	out := func() *conn {
		t.Helper()
		calmDown(db)
		c, err := db.holding(t.Context())
		if err == nil {
			_, err = findLatest(db, c, selectCategory, workspace, 1, scanCategory)
		}
		if err != nil || c.held == nil {
			t.Fatalf("a connection holds %v, %v, want a state", c.held, err)
		}
		return c
	}
	c := out()
	db.readers.letGo()
	db.release(c)
	eventually(t, "it lets go", func() bool { return db.held() == 0 })

	c = out()
	createPet(t, db, workspace, "Rex")
	db.holder.wrote.Store(writing) // still
	db.release(c)
	if n := db.held(); n > 0 {
		t.Errorf("%d connections hold a state beside writes", n)
	}

	c = out()
	since := c.since - int64(holdFor) - 1
	c.since = since
	if _, err := findLatest(db, c, selectCategory, workspace, 1, scanCategory); err != nil || c.held == nil || c.since == since {
		t.Errorf("it holds %v since %d, %v, want another state", c.held, c.since, err)
	}
	db.release(c)
}
