package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

var eventually = processtest.Eventually

// grouped has all calls carried out as one group, in their order, and returns their errors: it
// keeps both committers busy until all of them wait, and then releases one.
func grouped(t *testing.T, db *DB, calls ...func() error) []error {
	t.Helper()
	var holds, group sync.WaitGroup
	var release [committers]func()
	for i := range release {
		workspace, _ := newStocked(t, db, 1) // of its own, since it is locked meanwhile
		gate, entered := make(chan struct{}), make(chan struct{}, 10)
		release[i] = sync.OnceFunc(func() { close(gate) })
		defer release[i]()
		hold := &petstore.Change{Workspace: workspace, Decide: func(petstore.Facts) (petstore.Effects, error) {
			entered <- struct{}{}
			<-gate
			return petstore.Effects{}, nil
		}}
		holds.Go(func() {
			if _, err := db.Do(context.Background(), hold); err != nil {
				t.Errorf("Do of the change that holds a committer: %v", err)
			}
		})
		<-entered
	}
	errs := make([]error, len(calls))
	for i, call := range calls {
		group.Go(func() { errs[i] = call() })
		eventually(t, "waiting", func() bool { return db.Stats().Waiting == i+1 })
	}
	release[0]()
	group.Wait()
	release[1]()
	holds.Wait()
	return errs
}

func TestAfterClose(t *testing.T) {
	t.Parallel()
	db := node(t, newDatabase(t), Options{})
	workspace, pet := newStocked(t, db, 1)
	must(t, db.Close())
	_, err1 := db.Do(t.Context(), &petstore.Change{Workspace: workspace})
	_, err2 := db.Pet(t.Context(), workspace, pet)
	_, err3 := db.AccessState(t.Context())
	_, err4 := db.Forget(t.Context())
	for i, err := range []error{err1, err2, err3, err4} {
		if petstore.CodeOf(err) != petstore.CodeServiceUnavailable {
			t.Errorf("call %d after Close = %v, want %s", i, err, petstore.CodeServiceUnavailable)
		}
	}
}

// lockWaits returns how many sessions wait for a lock.
func lockWaits(t *testing.T, c *pgx.Conn) (n int) {
	t.Helper()
	err := c.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
	if err != nil {
		t.Error(err)
	}
	return n
}

// TestLockedWorkspaces: changes of a workspace whose lock another transaction holds wait for it,
// those of others in the same group do not, and if many are locked, or a table is, none is lost.
func TestLockedWorkspaces(t *testing.T) {
	t.Parallel()
	url, ctx := newDatabase(t), t.Context()
	db := node(t, url, Options{})
	free, pet := newStocked(t, db, 10)
	order := func(workspace int64) func() error {
		return func() error {
			_, err := petstore.NewService(db).CreateOrder(ctx, workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
			return err
		}
	}
	left := func(workspace int64) int64 {
		p, err := db.Pet(ctx, workspace, pet)
		must(t, err)
		return p.Quantity
	}
	var locked []int64
	calls := []func() error{order(free)}
	for range store.MaxPatient + 2 {
		workspace, _ := newStocked(t, db, 10)
		locked, calls = append(locked, workspace), append(calls, order(workspace))
	}
	rival, watch := direct(t, url), direct(t, url)
	for _, c := range []struct {
		name    string
		calls   []func() error
		waiting int // for locks
	}{{"one", slices.Concat(calls[:2], calls[:1]), 1}, {"many", calls[1:], store.MaxPatient + 1}} {
		_, err := rival.Exec(ctx, "BEGIN")
		must(t, err)
		_, err = rival.Exec(ctx, "SELECT 1 FROM petstore.counters WHERE workspace = ANY ($1) FOR UPDATE", locked)
		must(t, err)
		var rivalry sync.WaitGroup
		rivalry.Go(func() {
			eventually(t, c.name+" waiting for locks, and the free workspace not", func() bool {
				return lockWaits(t, watch) >= c.waiting && left(free) == 8
			})
			if _, err := rival.Exec(ctx, "COMMIT"); err != nil {
				t.Error(err)
			}
		})
		must(t, errors.Join(grouped(t, db, c.calls...)...))
		rivalry.Wait()
	}
	for _, table := range []string{"pets", "events"} { // a group reads the one, and writes the other
		_, err := rival.Exec(ctx, "BEGIN; LOCK TABLE petstore."+table+" IN ACCESS EXCLUSIVE MODE")
		must(t, err)
		var locking sync.WaitGroup
		locking.Go(func() { must(t, order(free)()) })
		eventually(t, "waiting for the table "+table, func() bool { return lockWaits(t, watch) > 0 })
		_, err = rival.Exec(ctx, "COMMIT")
		must(t, err)
		locking.Wait()
	}
	for i, workspace := range locked {
		if got, want := left(workspace), int64(9); i > 0 && got != want || i == 0 && got != want-1 {
			t.Errorf("the locked workspace %d has %d left", i, got)
		}
	}
	wantSound(t, db)
}
