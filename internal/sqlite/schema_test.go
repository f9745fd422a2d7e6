package sqlite

import (
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// byAnother carries out statements as another process would.
func byAnother(t *testing.T, db *DB, queries ...string) {
	t.Helper()
	c, err := openConn(db.path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, query := range queries {
		if err := c.exec(query); err != nil {
			t.Fatal(err)
		}
	}
}

var migrateByNewer = []string{
	"BEGIN IMMEDIATE", "ALTER TABLE pets ADD COLUMN photo TEXT",
	"PRAGMA user_version=99", "INSERT INTO migrations (version, name, at) VALUES (99, 'photos', 0)", "COMMIT",
}

// TestMigrationsSetTheSchema: by which a program that has the file open sees them.
func TestMigrationsSetTheSchema(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	has := 0
	err := db.read(t.Context(), func(c *conn) error {
		_, err := c.one(selectSchema, func(row *sqlite.Stmt) { has = row.ColumnInt(0) })
		return err
	})
	if err != nil || has != known.Latest() || has == 0 {
		t.Errorf("the schema is %d, %v, want %d", has, err, known.Latest())
	}
}

// TestANewerSchemaEndsWrites: who does not know what the columns mean writes nothing.
func TestANewerSchemaEndsWrites(t *testing.T) {
	t.Parallel()
	for name, cached := range map[string]int{"with a cache": 64, "without": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openTest(t, Options{Cached: cached})
			workspace := newWorkspace(t, t.Context(), db, "acme")
			byAnother(t, db, migrateByNewer...)
			_, err := petstore.NewService(db).CreateCategory(t.Context(), workspace, petstore.NewCategory{Name: "Dogs"}, nil)
			if petstore.CodeOf(err) != petstore.CodeServiceUnavailable {
				t.Errorf("CreateCategory: %v, want %s", err, petstore.CodeServiceUnavailable)
			}
			wantNewer(t, db)
		})
	}
}

// TestANewerSchemaEndsReads, too, when another process was seen to commit.
func TestANewerSchemaEndsReads(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*DB, int64) error{
		"pets":   func(db *DB, workspace int64) error { _, err := db.Pet(t.Context(), workspace, 1); return err },
		"orders": func(db *DB, workspace int64) error { _, err := db.Order(t.Context(), workspace, 1); return err },
		"lists": func(db *DB, workspace int64) error {
			_, err := db.Orders(t.Context(), workspace, petstore.OrderQuery{Page: petstore.Page{Limit: 1}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openTest(t, Options{Cached: 64})
			workspace := newWorkspace(t, t.Context(), db, "acme")
			byAnother(t, db, migrateByNewer...)
			eventually(t, "reads are refused", func() bool { return petstore.CodeOf(read(db, workspace)) == petstore.CodeServiceUnavailable })
			wantNewer(t, db)
		})
	}
}

func wantNewer(t *testing.T, db *DB) {
	t.Helper()
	select {
	case <-db.Failed():
	case <-time.After(10 * time.Second):
		t.Error("Failed is open, want closed")
	}
	want := known.Newer(99).Error()
	if err := db.Err(); err == nil || err.Error() != want {
		t.Errorf("Err = %v, want %q", err, want)
	}
	if again, err := Open(t.Context(), db.path, Options{}); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("Open = %v, %v, want %q", again, err, want)
	}
}

// TestAnotherIndexIsNoNewerSchema: an operator may add one, or VACUUM.
func TestAnotherIndexIsNoNewerSchema(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Cached: 64})
	workspace := newWorkspace(t, t.Context(), db, "acme")
	for _, query := range []string{"CREATE INDEX mine ON pets (name)", "VACUUM"} {
		byAnother(t, db, query)
		if _, err := petstore.NewService(db).CreateCategory(t.Context(), workspace, petstore.NewCategory{Name: query}, nil); err != nil {
			t.Errorf("CreateCategory after %s: %v", query, err)
		}
	}
}
