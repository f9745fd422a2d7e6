package sqlite_test

import (
	"path/filepath"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/sqlite"
)

func TestReopenKeepsEverything(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "petstore.db")
	open := func() *sqlite.DB {
		t.Helper()
		db, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	w, err := db.CreateWorkspace(ctx, access.Workspace{Name: "acme", Plan: access.Free, Quota: access.FreeQuota}, "cli")
	if err != nil {
		t.Fatal(err)
	}
	s := petstore.NewService(db)
	c, err := s.CreateCategory(ctx, w.ID, petstore.NewCategory{Name: "dogs"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.CreatePet(ctx, w.ID, petstore.NewPet{Name: "Rex", CategoryID: c.ID}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateOrder(ctx, w.ID, petstore.NewOrder{PetID: p.ID, Quantity: 1}, nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open()
	t.Cleanup(func() { db.Close() })
	want := petstore.Pet{ID: p.ID, Name: "Rex", CategoryID: c.ID, Status: petstore.Pending}
	if got, err := db.Pet(ctx, w.ID, p.ID); got != want || err != nil {
		t.Errorf("Pet = %+v, %v, want %+v", got, err, want)
	}
	if got, err := db.Check(ctx); len(got) > 0 || err != nil {
		t.Errorf("Check = %q, %v, want no problems", got, err)
	}
}
