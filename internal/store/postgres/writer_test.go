package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/processtest"
)

var eventually = processtest.Eventually

// grouped has all calls carried out as one group, in their order, and returns
// their errors: it keeps both committers busy until all of them wait.
func grouped(t *testing.T, db *DB, workspace int64, calls ...func() error) []error {
	t.Helper()
	gate, entered := make(chan struct{}), make(chan struct{}, 10)
	var wg sync.WaitGroup
	hold := &petstore.Change{Workspace: workspace, Decide: func(petstore.Facts) (petstore.Effects, error) {
		entered <- struct{}{}
		<-gate
		return petstore.Effects{}, nil
	}}
	for range 2 {
		wg.Go(func() {
			if _, err := db.Do(context.Background(), hold); err != nil {
				t.Errorf("Do of the change that holds a committer: %v", err)
			}
		})
		<-entered
	}
	errs := make([]error, len(calls))
	for i, call := range calls {
		wg.Go(func() { errs[i] = call() })
		eventually(t, "waiting", func() bool { return db.Stats().Waiting == i+1 })
	}
	close(gate)
	wg.Wait()
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

// TestDeadlock: a session that locks against our order makes ours the victim.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	url, ctx := newDatabase(t), t.Context()
	db := node(t, url, Options{})
	workspace, first := newStocked(t, db, 10)
	s := petstore.NewService(db)
	second, err := s.CreatePet(ctx, workspace, petstore.NewPet{Name: "Tom", CategoryID: 1}, nil)
	must(t, err)
	order := func(pet int64) error {
		_, err := s.CreateOrder(ctx, workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
		return err
	}
	rival, watch := direct(t, url), direct(t, url)
	var rivalry sync.WaitGroup
	do := func(sql string, args ...any) {
		if _, err := rival.Exec(ctx, sql, args...); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	const lock = "SELECT 1 FROM petstore.pets WHERE id = $1 FOR UPDATE"
	do("BEGIN; SET LOCAL deadlock_timeout = '30s'")
	do(lock, second.ID)
	errs := grouped(t, db, workspace, func() error { return order(first) }, func() error { return order(second.ID) }, func() error {
		rivalry.Go(func() {
			eventually(t, "waiting for a lock", func() bool {
				var n int
				err := watch.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
				return err == nil && n > 0
			})
			do(lock, first)
			do("COMMIT")
		})
		return order(first)
	})
	rivalry.Wait()
	must(t, errors.Join(errs...))
	if retries, split := db.PoolStats().Retries, db.Stats().SplitGroups; retries == 0 || split != 0 {
		t.Errorf("%d retries and %d splits, want a retry and no split", retries, split)
	}
	if got, err := db.Pet(ctx, workspace, first); err != nil || got.Quantity != 8 {
		t.Errorf("InventoryItem = %+v, %v, want 8 left", got, err)
	}
	wantSound(t, db)
}
