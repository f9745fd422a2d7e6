package sqlite

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// A troubled is an engine with which a step fails once after it was carried out.
type troubled struct {
	engine

	steps int
}

var errLost = errors.New("the connection was lost")

func (e *troubled) WriteBulk(ctx context.Context, workspace int64, f func(store.Tx) error) error {
	if e.steps++; e.steps > 1 {
		return e.engine.WriteBulk(ctx, workspace, f)
	}
	err := e.engine.WriteBulk(ctx, workspace, func(tx store.Tx) error { return errors.Join(f(tx), errLost) })
	if !errors.Is(err, errLost) {
		return err
	}
	return e.WriteBulk(ctx, workspace, f)
}

// TestLoadAgain: a load that is tried again issues ids that nobody has.
func TestLoadAgain(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	workspace := newWorkspace(t, db, "w")
	e := &troubled{engine: engine{db}}
	s := store.New(e, dialect, Options{Now: time.Now}, db.WakeReaders)
	load := func(units ...petstore.Unit) {
		t.Helper()
		if refused, err := s.Load(t.Context(), workspace, &petstore.Batch{Units: units}); err != nil || len(refused) > 0 {
			t.Fatalf("Load = %v, %v, want it kept", refused, err)
		}
	}
	category := func(name string) petstore.Unit { return petstore.Unit{Category: &petstore.Category{Name: name}} }
	pet := func(name string) petstore.Unit {
		p := &petstore.StockedPet{Pet: petstore.Pet{Name: name, CategoryID: 1, Status: petstore.Available}}
		return petstore.Unit{Pet: p}
	}
	for _, units := range [][]petstore.Unit{{category("Dogs")}, {category("Cats"), category("Birds")}, {pet("Rex")}, {pet("Tom"), pet("Kim")}} {
		e.steps = 0
		load(units...)
	}
	categories, err1 := s.Categories(t.Context(), workspace, petstore.CategoryQuery{Page: petstore.Page{Limit: 9}})
	pets, err2 := s.Pets(t.Context(), workspace, petstore.PetQuery{Page: petstore.Page{Limit: 9}})
	must(t, errors.Join(err1, err2))
	var ids []int64
	for _, c := range categories {
		ids = append(ids, c.ID)
	}
	for _, p := range pets {
		ids = append(ids, p.ID)
	}
	if want := []int64{1, 2, 3, 1, 2, 3}; !slices.Equal(ids, want) {
		t.Errorf("ids of categories and pets = %v, want %v", ids, want)
	}
}
