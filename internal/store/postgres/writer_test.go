package postgres_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
)

// eventually polls until ok; at the deadline it fails the test and returns.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			tb.Errorf("%s did not happen", what)
			return
		}
		time.Sleep(2 * time.Millisecond) // between looks, for nothing in particular
	}
}

// grouped has all calls carried out as one group, in their order, and returns
// their errors: it keeps both committers busy until all of them wait.
func grouped(t *testing.T, db *postgres.DB, workspace int64, calls ...func() error) []error {
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

// A tenant is a workspace with one pet, for tests of groups.
type tenant struct {
	*postgres.DB
	*petstore.Service
	t              *testing.T
	url            string
	workspace, pet int64
}

func openTenant(t *testing.T, stock int64) *tenant {
	t.Helper()
	s := &tenant{t: t, url: newDatabase(t)}
	s.DB = node(t, s.url, postgres.Options{})
	s.Service = petstore.NewService(s.DB)
	s.workspace, s.pet = newStocked(t, s.DB, stock)
	t.Cleanup(func() { wantSound(t, s.DB) })
	return s
}

func (s *tenant) order() error {
	_, err := s.CreateOrder(context.Background(), s.workspace, petstore.NewOrder{PetID: s.pet, Quantity: 1}, nil)
	return err
}

func (s *tenant) wantStock(want int64) {
	s.t.Helper()
	if got, err := s.DB.InventoryItem(context.Background(), s.workspace, s.pet); err != nil || got.Quantity != want {
		s.t.Errorf("InventoryItem = %+v, %v, want quantity %d", got, err, want)
	}
}

func wantCodes(t *testing.T, errs []error, want ...petstore.Code) {
	t.Helper()
	for i, err := range errs {
		if got := petstore.CodeOf(err); got != want[i] || (err == nil) != (want[i] == "") {
			t.Errorf("outcome %d = %v, want code %q", i, err, want[i])
		}
	}
}

// TestGroupNeighbours: text that PostgreSQL refuses fails the whole
// transaction, but its own change alone.
func TestGroupNeighbours(t *testing.T) {
	t.Parallel()
	s := openTenant(t, 10)
	bad := func() error {
		_, err := s.DB.Do(t.Context(), &petstore.Change{Workspace: s.workspace, Decide: func(petstore.Facts) (petstore.Effects, error) {
			return petstore.Effects{SaveCategory: &petstore.Category{Name: "a\x00b"}}, nil
		}})
		if err == nil || petstore.CodeOf(err) != "" {
			t.Errorf("Do with a NUL = %v, want an error without a code", err)
		}
		return nil
	}
	errs := grouped(t, s.DB, s.workspace, s.order, bad, s.order, bad, s.order)
	wantCodes(t, errs, "", "", "", "", "")
	if got := s.Stats(); got.SplitGroups != 1 {
		t.Errorf("Stats = %+v, want one group split", got)
	}
	s.wantStock(7)
}

// TestGroupDropsWhatItSaved: an order is changed and then cancelled, and its pet
// is renamed and then deleted, all in one group.
func TestGroupDropsWhatItSaved(t *testing.T) {
	t.Parallel()
	s := openTenant(t, 10)
	ctx := t.Context()
	made, err := s.CreateOrder(ctx, s.workspace, petstore.NewOrder{PetID: s.pet, Quantity: 4}, nil)
	must(t, err)
	errs := grouped(t, s.DB, s.workspace, func() error {
		_, err := s.UpdateOrder(ctx, s.workspace, made.ID, petstore.OrderPatch{ShipDate: petstore.Some(petstore.At(time.Now()))}, petstore.Condition{})
		return err
	}, func() error {
		return s.CancelOrder(ctx, s.workspace, made.ID, petstore.Condition{})
	}, func() error {
		return s.CancelOrder(ctx, s.workspace, made.ID, petstore.Condition{})
	}, func() error {
		_, err := s.UpdatePet(ctx, s.workspace, s.pet, petstore.PetPatch{Name: petstore.Some("Tom")}, petstore.Condition{})
		return err
	}, func() error {
		return s.DeletePet(ctx, s.workspace, s.pet, petstore.Condition{})
	}, s.order)
	wantCodes(t, errs, "", "", petstore.CodeOrderNotFound, "", "", petstore.CodeValidationFailed)
	if _, err := s.DB.Order(ctx, s.workspace, made.ID); petstore.CodeOf(err) != petstore.CodeOrderNotFound {
		t.Errorf("Order = %v, want %s", err, petstore.CodeOrderNotFound)
	}
	if _, err := s.DB.Pet(ctx, s.workspace, s.pet); petstore.CodeOf(err) != petstore.CodePetNotFound {
		t.Errorf("Pet = %v, want %s", err, petstore.CodePetNotFound)
	}
}

// TestCategoryIsDroppedAlone: a category goes, or gets a pet, never both; which
// one depends on whose turn is first, since it is dropped apart from the group.
func TestCategoryIsDroppedAlone(t *testing.T) {
	t.Parallel()
	s := openTenant(t, 1)
	ctx := t.Context()
	c, err := s.CreateCategory(ctx, s.workspace, petstore.NewCategory{Name: "cats"}, nil)
	must(t, err)
	errs := grouped(t, s.DB, s.workspace, s.order, func() error {
		_, err := s.CreatePet(ctx, s.workspace, petstore.NewPet{Name: "Tom", CategoryID: c.ID}, nil)
		return err
	}, func() error {
		return s.DeleteCategory(ctx, s.workspace, c.ID, petstore.Condition{})
	})
	if errs[1] == nil {
		wantCodes(t, errs, "", "", petstore.CodeCategoryInUse)
	} else {
		wantCodes(t, errs, "", petstore.CodeValidationFailed, "")
	}
}

func TestPanicIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	s := openTenant(t, 10)
	explode := func() (err error) {
		defer func() {
			if v := recover(); v == nil || !strings.Contains(v.(string), "boom") {
				t.Errorf("recovered %v, want boom", v)
			}
		}()
		_, err = s.DB.Do(t.Context(), &petstore.Change{Workspace: s.workspace, Decide: func(petstore.Facts) (petstore.Effects, error) { panic("boom") }})
		t.Errorf("Do = %v, want a panic", err)
		return err
	}
	wantCodes(t, grouped(t, s.DB, s.workspace, s.order, explode, s.order), "", "", "")
	s.wantStock(8)
}

func TestAfterClose(t *testing.T) {
	t.Parallel()
	db := node(t, newDatabase(t), postgres.Options{})
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
	s := openTenant(t, 10)
	ctx := t.Context()
	second, err := s.CreatePet(ctx, s.workspace, petstore.NewPet{Name: "Tom", CategoryID: 1}, nil)
	must(t, err)
	rival, watch := direct(t, s.url), direct(t, s.url)
	var rivalry sync.WaitGroup
	lock := func(pet int64) {
		if _, err := rival.Exec(ctx, "SELECT 1 FROM petstore.pets WHERE id = $1 FOR UPDATE", pet); err != nil {
			t.Errorf("lock of pet %d: %v", pet, err)
		}
	}
	if _, err := rival.Exec(ctx, "BEGIN; SET LOCAL deadlock_timeout = '30s'"); err != nil {
		t.Fatal(err)
	}
	lock(second.ID)
	errs := grouped(t, s.DB, s.workspace, s.order, func() error {
		_, err := s.CreateOrder(ctx, s.workspace, petstore.NewOrder{PetID: second.ID, Quantity: 1}, nil)
		return err
	}, func() error {
		rivalry.Go(func() {
			eventually(t, "waiting for a lock", func() bool {
				var n int
				err := watch.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
				return err == nil && n > 0
			})
			lock(s.pet)
			if _, err := rival.Exec(ctx, "COMMIT"); err != nil {
				t.Errorf("COMMIT: %v", err)
			}
		})
		return s.order()
	})
	rivalry.Wait()
	wantCodes(t, errs, "", "", "")
	if got := s.Stats(); got.Retries == 0 || got.SplitGroups != 0 {
		t.Errorf("Stats = %+v, want a retry and no split", got)
	}
	s.wantStock(8)
}
