package postgres_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/postgrestest"
	"example.com/petstore/internal/store/storetest"
	"example.com/petstore/internal/usage"
)

// shared is the server of this run, with a migrated database to copy. Tests that end a
// server start one of their own.
var shared = postgrestest.Shared{Settings: postgrestest.Lax(), Prepare: makeTemplate}

const template = "petstore_template"

func TestMain(m *testing.M) {
	// The rules that rapid looks for faults in are the same on SQLite, where a check takes a tenth of the time.
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
	os.Exit(shared.Main(m.Run))
}

func makeTemplate(s *postgrestest.Server) error {
	ctx := context.Background()
	if err := s.Exec(ctx, "postgres", "CREATE DATABASE "+template); err != nil {
		return err
	}
	_, err := postgres.MigrateUp(ctx, s.URL(template), nil)
	// Each copy is an installation of its own.
	return errors.Join(err, s.Exec(ctx, template, "DELETE FROM petstore.meta"))
}

// newDatabase returns the URL of a migrated database of the test's own.
func newDatabase(tb testing.TB) string {
	tb.Helper()
	return copyOf(tb, template)
}

// copyOf returns the URL of a copy of a migrated database.
func copyOf(tb testing.TB, database string) string {
	tb.Helper()
	url := shared.Server(tb).Database(tb, database)
	execute(tb, url, "INSERT INTO petstore.meta (name, value) SELECT 'secret', sha256(random()::text::bytea)")
	return url
}

// node opens the database as one node does.
func node(tb testing.TB, url string, o postgres.Options) *postgres.DB {
	tb.Helper()
	db, err := postgres.Open(context.Background(), url, o)
	must(tb, err)
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Stores {
		return node(t, newDatabase(t), postgres.Options{Now: now})
	})
}

// unconstrained has a session ignore references, and the database forget its checks.
const unconstrained = `SET search_path = petstore; SET session_replication_role = replica; DO $$ DECLARE c record; BEGIN
	FOR c IN SELECT conrelid::regclass AS r, conname FROM pg_constraint WHERE contype = 'c' AND connamespace = 'petstore'::regnamespace LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.r, c.conname);
	END LOOP; END $$;`

func TestDamage(t *testing.T) {
	t.Parallel()
	storetest.RunDamage(t, func(t *testing.T, now func() time.Time) (storetest.Stores, storetest.Damage) {
		url := newDatabase(t)
		return node(t, url, postgres.Options{Now: now}), func(statements string) { execute(t, url, unconstrained+statements) }
	})
}

func TestRestarts(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	storetest.RunRestarts(t, func(t *testing.T, now func() time.Time) storetest.Stores {
		return node(t, url, postgres.Options{Now: now})
	})
}

func TestUsage(t *testing.T) {
	t.Parallel()
	storetest.RunUsage(t, func(t *testing.T) usage.Store { return node(t, newDatabase(t), postgres.Options{}) })
}

// newStocked makes a workspace with one pet of that stock, and returns their ids.
func newStocked(tb testing.TB, db *postgres.DB, stock int64) (workspace, pet int64) {
	tb.Helper()
	return newStockedIn(tb, db, "acme", stock)
}

// newStockedIn is newStocked with the name of the workspace.
func newStockedIn(tb testing.TB, db *postgres.DB, name string, stock int64) (workspace, pet int64) {
	tb.Helper()
	ctx := context.Background()
	w, err := db.CreateWorkspace(ctx, access.Workspace{Name: name, Plan: access.Free, Quota: access.FreeQuota}, "cli")
	must(tb, err)
	s := petstore.NewService(db)
	c, err := s.CreateCategory(ctx, w.ID, petstore.NewCategory{Name: "dogs"}, nil)
	must(tb, err)
	p, err := s.CreatePet(ctx, w.ID, petstore.NewPet{Name: "Rex", CategoryID: c.ID}, nil)
	must(tb, err)
	if _, err := s.UpdateInventory(ctx, w.ID, p.ID, stock, petstore.Condition{}); err != nil {
		tb.Fatal(err)
	}
	return w.ID, p.ID
}

// wantSound fails the test unless Check finds nothing.
func wantSound(tb testing.TB, db *postgres.DB) {
	tb.Helper()
	problems, err := db.Check(context.Background())
	if err != nil || len(problems) > 0 {
		tb.Errorf("Check = %q, %v, want no problems", problems, err)
	}
}

// must ends the test if err is not nil.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
