package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/store"
)

// byAnother carries out statements as another process would.
func byAnother(t *testing.T, db *DB, queries ...string) {
	t.Helper()
	c, err := openConn(db.path, false)
	must(t, err)
	defer c.Close()
	for _, query := range queries {
		must(t, c.exec(query))
	}
}

var migrateByNewer = []string{
	"BEGIN IMMEDIATE", "ALTER TABLE pets ADD COLUMN photo TEXT",
	"INSERT INTO migrations (version, name, at) VALUES (99, 'photos', 0)", "COMMIT",
}

// TestNextMigration: a migration that a later version brings along is applied once, to a
// file with data. One that fails leaves the file as it was. The version before refuses the file then.
func TestNextMigration(t *testing.T) {
	t.Parallel()
	next := known.Latest() + 1
	files := fstest.MapFS{fmt.Sprintf("migrations/%04d_photos.sql", next): {Data: []byte("ALTER TABLE pets ADD COLUMN photo TEXT NOT NULL DEFAULT 'none';")}}
	for _, m := range known.All() {
		files[fmt.Sprintf("migrations/%04d_%s.sql", m.Version, m.Name)] = &fstest.MapFile{} // which is applied already
	}
	later := store.LoadMigrations(files)
	files[fmt.Sprintf("migrations/%04d_broken.sql", next+1)] = &fstest.MapFile{Data: []byte("CREATE TABLE sizes (pet INTEGER); ALTER TABLE nothing ADD COLUMN size INTEGER;")}
	path := filepath.Join(t.TempDir(), "petstore.db")
	db, err := Open(t.Context(), path, Options{})
	must(t, err)
	createPet(t, db, newShop(t, db, "acme"), "Rex")
	must(t, db.Close())
	c, err := openConn(path, false)
	must(t, err)
	defer c.Close()
	at := time.UnixMilli(1_800_000_000_000).UTC()
	o := Options{Now: func() time.Time { return at }}
	c.known = store.LoadMigrations(files)
	if err := c.becomeCurrent(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("migration %d (broken): ", next+1)) || c.applied != nil {
		t.Errorf("becomeCurrent applied %+v, %v, want nothing and that the last one failed", c.applied, err)
	}
	if n, err := c.number("SELECT count(*) FROM sqlite_schema WHERE name = 'sizes' OR sql LIKE '%photo%'"); n != 0 || err != nil {
		t.Errorf("there are %d tables of the migrations that failed, %v, want none", n, err)
	}
	photos := store.Migration{Version: next, Name: "photos", Applied: true, At: at}
	c.known = later
	for _, want := range [][]store.Migration{{photos}, nil} {
		c.applied = nil
		if err := c.becomeCurrent(t.Context(), o); err != nil || !slices.Equal(c.applied, want) {
			t.Errorf("becomeCurrent applied %+v, %v, want %+v", c.applied, err, want)
		}
	}
	if all, err := later.Status(c); err != nil || len(all) != next || all[next-1] != photos {
		t.Errorf("Status = %+v, %v, want the last one to be %+v", all, err, photos)
	}
	photo := ""
	if err := c.first("SELECT photo FROM pets", &photo); photo != "none" || err != nil {
		t.Errorf("the photo of the pet is %q, %v, want none", photo, err)
	}
	if db, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("was made by a newer version of petstore (schema %d; this one knows 1 to %d)", next, next-1)) {
		t.Errorf("Open by the version before = %p, %v, want it refused", db, err)
	}
}

// TestANewerSchemaEndsAll: who does not know what the columns mean writes nothing, and reads nothing either when another process
// was seen to commit.
func TestANewerSchemaEndsAll(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*DB, int64) error{
		"a change": func(db *DB, workspace int64) error {
			_, err := petstore.NewService(db).CreateCategory(t.Context(), workspace, petstore.NewCategory{Name: "Dogs"}, nil)
			return err
		},
		"a row": func(db *DB, workspace int64) error { _, err := db.Pet(t.Context(), workspace, 1); return err },
		"a list": func(db *DB, workspace int64) error {
			_, err := db.Orders(t.Context(), workspace, petstore.OrderQuery{Page: petstore.Page{Limit: 1}})
			return err
		},
	} {
		db := openTest(t, Options{})
		workspace := newWorkspace(t, db, "acme")
		byAnother(t, db, migrateByNewer...)
		if err := call(db, workspace); name == "a change" && petstore.CodeOf(err) != petstore.CodeServiceUnavailable {
			t.Errorf("CreateCategory = %v, want %s", err, petstore.CodeServiceUnavailable)
		}
		processtest.Eventually(t, name+" is refused", func() bool { return petstore.CodeOf(call(db, workspace)) == petstore.CodeServiceUnavailable })
		wantNewer(t, db)
	}
}

func wantNewer(t *testing.T, db *DB) {
	t.Helper()
	select {
	case <-db.Failed():
	case <-time.After(10 * time.Second):
		t.Error("Failed is open, want closed")
	}
	want := fmt.Sprintf("was made by a newer version of petstore (schema 99; this one knows 1 to %d)", known.Latest())
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
	db := openTest(t, Options{})
	workspace := newWorkspace(t, db, "acme")
	for _, query := range []string{"CREATE INDEX mine ON pets (name)", "VACUUM"} {
		byAnother(t, db, query)
		if _, err := petstore.NewService(db).CreateCategory(t.Context(), workspace, petstore.NewCategory{Name: query}, nil); err != nil {
			t.Errorf("CreateCategory after %s: %v", query, err)
		}
	}
}

// TestANewerSchemaEndsTheWriteThatWaits for the process that migrated the file: what the
// writer finds out meanwhile holds for its transaction, too.
func TestANewerSchemaEndsTheWriteThatWaits(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{})
	other, err := openConn(db.path, false)
	must(t, err)
	defer other.Close()
	db.writing.Lock() // nobody else notices
	defer db.writing.Unlock()
	for _, query := range append(slices.Clone(migrateByNewer), "BEGIN IMMEDIATE") {
		must(t, other.exec(query))
	}
	ended := make(chan error, 1)
	go func() {
		<-db.Failed()
		ended <- other.exec("ROLLBACK")
	}()
	_, err = db.try(func(*conn) error {
		t.Error("the write is carried out")
		return nil
	})
	if !errors.Is(err, store.ErrNewer) {
		t.Fatalf("the write = %v, want %v", err, store.ErrNewer)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
