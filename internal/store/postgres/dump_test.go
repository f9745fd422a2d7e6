package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
)

// A dumper is a store of either kind.
type dumper interface {
	Dump(ctx context.Context, workspace int64, to petstore.Sink) error
}

func dumped(t *testing.T, db dumper, workspace int64) string {
	t.Helper()
	var text bytes.Buffer
	w := interchange.NewWriter(&text, interchange.NDJSON, interchange.Head{Workspace: "acme", ExportedAt: petstore.At(time.UnixMilli(0))})
	if err := db.Dump(t.Context(), workspace, w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestDump: what PostgreSQL gives SQLite takes, and gives again, to the byte.
func TestDump(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	db := node(t, url, postgres.Options{})
	workspace, pet := newStocked(t, db, 5)
	s := petstore.NewService(db)
	for i := range 4 {
		n := petstore.NewOrder{PetID: pet, Quantity: 1, Complete: i%2 == 0}
		if _, err := s.CreateOrder(t.Context(), workspace, n, nil); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := s.CreatePet(t.Context(), workspace, petstore.NewPet{Name: "Tom", CategoryID: 1}, nil)
	if err == nil {
		err = s.DeletePet(t.Context(), workspace, gone.ID, petstore.Condition{})
	}
	if err != nil {
		t.Fatal(err)
	}
	// More than are fetched at once.
	execute(t, url, "INSERT INTO petstore.categories (workspace, id, name, folded) SELECT $1::bigint, n, 'k' || n, 'k' || n FROM generate_series(1000, 3500) n", workspace)
	execute(t, url, "UPDATE petstore.counters SET categories = 4000 WHERE workspace = $1", workspace)
	text := dumped(t, db, workspace)

	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "copy.db"), sqlite.Options{Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	w, err := file.CreateWorkspace(t.Context(), access.Workspace{Name: "acme", Plan: access.Free, Quota: access.FreeQuota}, "cli")
	if err != nil {
		t.Fatal(err)
	}
	from, err := interchange.NewReader(bytes.NewReader([]byte(text)), interchange.NDJSON, interchange.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&interchange.Import{From: from, To: file, Workspace: w.ID, Now: time.Now}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := dumped(t, file, w.ID); got != text {
		t.Errorf("SQLite gives %d bytes, want the %d of PostgreSQL", len(got), len(text))
	}
}

// A fullDisk refuses the first row.
type fullDisk struct{ petstore.Sink }

var errFull = errors.New("the disk is full")

func (fullDisk) Begin(petstore.LastIDs) error     { return nil }
func (fullDisk) Category(petstore.Category) error { return errFull }

func TestDumpStops(t *testing.T) {
	t.Parallel()
	db := node(t, newDatabase(t), postgres.Options{})
	workspace, _ := newStocked(t, db, 1)
	if err := db.Dump(t.Context(), workspace, fullDisk{}); err != errFull {
		t.Errorf("Dump into a full disk = %v, want %v", err, errFull)
	}
	if err := db.Dump(t.Context(), workspace+1, fullDisk{}); petstore.CodeOf(err) != access.CodeWorkspaceNotFound {
		t.Errorf("Dump of no workspace = %v, want %s", err, access.CodeWorkspaceNotFound)
	}
}
