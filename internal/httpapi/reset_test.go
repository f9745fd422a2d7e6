package httpapi_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
)

// TestReset: while the rows of a workspace are removed its requests are told to
// come back, and then there is nothing left.
func TestReset(t *testing.T) {
	t.Parallel()
	s := openService(t)
	kind := &petstore.Category{Name: "Dogs"}
	batch := &petstore.Batch{Units: []petstore.Unit{{Category: kind}}}
	for range 20_000 {
		p := &petstore.StockedPet{Pet: petstore.Pet{Name: "Rex", Status: petstore.Available}}
		batch.Units = append(batch.Units, petstore.Unit{Pet: p, In: kind})
	}
	if _, err := s.db.Load(t.Context(), s.workspace.ID, batch); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.db.ResetWorkspace(ctx, s.workspace.ID, "test") }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		w, err := s.db.Workspace(t.Context(), s.workspace.Name)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("Workspace = %+v, %v, want that the reset begins", w, err)
		}
		if w.Resetting {
			break
		}
	}
	cancel()
	if err := <-ended; petstore.CodeOf(err) != petstore.CodeServiceUnavailable {
		t.Fatalf("ResetWorkspace that was broken off = %v", err)
	}
	if err := s.keys.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, a := range []answer{s.get("/pets"), s.get("/account"), s.post("/categories", `{"name":"Cats"}`)} {
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "1" {
			t.Errorf("%s = %d with Retry-After %q, %s, want 503 and 1", a.what, a.status, a.header.Get("Retry-After"), a.body)
		}
	}
	if err := s.db.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.keys.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := s.get("/pets"); a.status != http.StatusOK || string(a.body) != "[]" {
		t.Errorf("%s = %d, %s, want an empty list", a.what, a.status, a.body)
	}
}
