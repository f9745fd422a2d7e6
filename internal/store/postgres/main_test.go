package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/store/postgres/postgrestest"
	"example.com/petstore/internal/store/storetest"
	"github.com/jackc/pgx/v5"
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
	_, err := MigrateUp(ctx, s.URL(template), nil)
	// Each copy is an installation of its own.
	return errors.Join(err, s.Exec(ctx, template, "DELETE FROM petstore.meta"))
}

// newDatabase returns the URL of a migrated database of the test's own.
func newDatabase(tb testing.TB) string {
	tb.Helper()
	return copyOf(tb, template)
}

func emptyDatabase(t *testing.T) string {
	t.Helper()
	return shared.Server(t).Database(t, "")
}

// copyOf returns the URL of a copy of a migrated database.
func copyOf(tb testing.TB, database string) string {
	tb.Helper()
	url := shared.Server(tb).Database(tb, database)
	execute(tb, url, "INSERT INTO petstore.meta (name, value) SELECT 'secret', sha256(random()::text::bytea)")
	return url
}

// node opens the database as one node does.
func node(tb testing.TB, url string, o Options) *DB {
	tb.Helper()
	db, err := Open(context.Background(), url, o)
	must(tb, err)
	tb.Cleanup(func() { must(tb, db.Close()) })
	return db
}

// A pair is two nodes, which make changes in turn.
type pair struct {
	*DB
	other *DB
	turns atomic.Int64
}

func (p *pair) Do(ctx context.Context, c *petstore.Change) (*petstore.Receipt, error) {
	if p.turns.Add(1)%2 == 0 {
		return p.other.Do(ctx, c)
	}
	return p.DB.Do(ctx, c)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Stores {
		t.Helper()
		return node(t, newDatabase(t), Options{Now: now})
	}, func(t *testing.T, now func() time.Time) storetest.Stores {
		t.Helper()
		url := newDatabase(t)
		return &pair{DB: node(t, url, Options{Now: now}), other: node(t, url, Options{Now: now})}
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
		return node(t, url, Options{Now: now}), func(statements string) { execute(t, url, unconstrained+statements) }
	})
}

// newStocked makes a workspace with one pet of that stock, and returns their ids.
func newStocked(tb testing.TB, db *DB, stock int64) (workspace, pet int64) {
	tb.Helper()
	ctx := context.Background()
	w, err := db.CreateWorkspace(ctx, access.Workspace{Name: rand.Text(), Plan: access.Free, Quota: access.FreeQuota}, "cli")
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

// shopOf returns the shop that a workspace has now.
func shopOf(tb testing.TB, db *DB, workspace int64) int64 {
	tb.Helper()
	w, err := db.WorkspaceByID(context.Background(), workspace)
	if err != nil {
		tb.Error(err)
	}
	return w.Shop
}

// wantSound fails the test unless Check finds nothing.
func wantSound(tb testing.TB, db *DB) {
	tb.Helper()
	problems, err := db.Check(context.Background())
	if err != nil || len(problems) > 0 {
		tb.Errorf("Check = %q, %v, want no problems", problems, err)
	}
}

// must ends the test if err is not nil.
var must = processtest.Must

// direct returns a connection beside the store's own.
func direct(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	c, err := pgx.Connect(context.Background(), url)
	return closed(tb, c, err)
}

// readingConn returns a connection that is set up as the store's own for reading.
func readingConn(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	c, err := connect(context.Background(), url, reading)
	return closed(tb, c, err)
}

// closed returns a connection that ends with the test.
func closed(tb testing.TB, c *pgx.Conn, err error) *pgx.Conn {
	tb.Helper()
	must(tb, err)
	tb.Cleanup(func() { must(tb, c.Close(context.Background())) })
	return c
}

// execute carries out SQL beside the store.
func execute(tb testing.TB, url, sql string, args ...any) {
	tb.Helper()
	if _, err := direct(tb, url).Exec(context.Background(), sql, args...); err != nil {
		tb.Fatal(err)
	}
}
