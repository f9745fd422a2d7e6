package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/postgres"
	"example.com/petstore/internal/postgres/postgrestest"
)

// TestWatch: a node that nobody writes through learns that the database is away,
// and that it is back.
func TestWatch(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	name, err := server.Create(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	db := node(t, server.URL(name), postgres.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); db.Watch(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an error", func() bool { return db.Err() != nil })
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no error", func() bool { return db.Err() == nil })
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	db := node(t, url, postgres.Options{Now: func() time.Time { return time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC) }})
	newShop(t, db, 1)
	d, err := postgres.Diagnose(t.Context(), url)
	if err != nil || d.Newest.Year() != 2031 || time.Since(d.Now).Abs() > time.Minute {
		t.Errorf("Diagnose = %+v, %v, want the newest of 2031 and the present", d, err)
	}
	if text := strings.Join(d.Problems, "; "); !strings.Contains(text, "fsync is off") || len(d.Problems) != 1 {
		t.Errorf("problems = %q, want that fsync is off alone", text)
	}
}
