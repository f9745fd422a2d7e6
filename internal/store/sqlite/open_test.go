package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// script runs SQL on the file behind the store's back.
func script(t *testing.T, path, sql string) {
	t.Helper()
	c, err := driver.OpenConn(path, driver.OpenReadWrite, driver.OpenCreate)
	must(t, err)
	defer c.Close()
	must(t, sqlitex.ExecuteScript(c, sql, nil))
}

// refused are files that are not opened, and what the error says.
var refused = []struct {
	name    string
	prepare func(t *testing.T, path string) string // returns the path to open
	o       Options
	want    string
}{
	{"no path", func(*testing.T, string) string { return "" }, Options{}, "no path is given"},
	{"no directory", func(_ *testing.T, path string) string { return filepath.Join(path, "x", "petstore.db") },
		Options{}, "does not exist"},
	{"a directory", func(_ *testing.T, path string) string { return filepath.Dir(path) }, Options{}, "is a directory"},
	{"below a file", func(t *testing.T, path string) string {
		writeFile(t, path, "x")
		return filepath.Join(path, "petstore.db")
	}, Options{}, "not a directory"},
	{"text", func(t *testing.T, path string) string {
		writeFile(t, path, strings.Repeat("not a database ", 100))
		return path
	}, Options{}, "is not an SQLite database"},
	{"another program's", func(t *testing.T, path string) string {
		script(t, path, "CREATE TABLE bookmarks (url TEXT)")
		return path
	}, Options{}, "is an SQLite database of another program"},
	{"another application id", func(t *testing.T, path string) string {
		script(t, path, "PRAGMA application_id=7")
		return path
	}, Options{}, "is an SQLite database of another program"},
	{"newer", func(t *testing.T, path string) string {
		openAndClose(t, path)
		script(t, path, "INSERT INTO migrations (version, name, at) VALUES (999, 'future', 0)")
		return path
	}, Options{}, "was made by a newer version of petstore (schema 999; this one knows 1 to "},
	{"missing", func(_ *testing.T, path string) string { return path }, Options{NoMigrate: true}, "the file does not exist"},
	{"missing, to read", func(_ *testing.T, path string) string { return path }, Options{ReadOnly: true}, "the file does not exist"},
	{"not migrated", func(t *testing.T, path string) string {
		writeFile(t, path, "")
		return path
	}, Options{NoMigrate: true}, " migrations; run petstore migrate up"},
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range refused {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := test.prepare(t, filepath.Join(t.TempDir(), "petstore.db"))
			before, _ := os.ReadFile(path) // none if there is no file
			db, err := Open(t.Context(), path, test.o)
			if err == nil {
				t.Fatalf("Open succeeded, want an error with %q", test.want)
			}
			if db != nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "database "+path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Open = %v, %q, want one line that names %s and says %q", db, err, path, test.want)
			}
			if _, err := MigrateStatus(t.Context(), path); !test.o.NoMigrate && !test.o.ReadOnly && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("MigrateStatus = %v, want it to say %q too", err, test.want)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file changed")
			}
		})
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func openAndClose(t *testing.T, path string) {
	t.Helper()
	db, err := Open(t.Context(), path, Options{})
	must(t, err)
	must(t, db.Close())
}

func TestFileMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	newShop(t, openAt(t, path, Options{}), "acme")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		must(t, err)
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("mode of %s = %o, want 600", filepath.Base(path+suffix), got)
		}
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "petstore.db")
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	want, err := MigrateStatus(ctx, path)
	if err != nil || len(want) == 0 || slices.ContainsFunc(want, func(m store.Migration) bool { return m.Applied }) {
		t.Fatalf("MigrateStatus of no file = %+v, %v, want migrations that are not applied", want, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("MigrateStatus created the file")
	}
	for i := range want {
		want[i].Applied, want[i].At = true, at
	}
	for i, n := range []int{len(want), 0} {
		got, err := MigrateUp(ctx, path, func() time.Time { return at })
		if err != nil || !slices.Equal(got, want[:n]) {
			t.Errorf("MigrateUp %d = %+v, %v, want %d migrations", i, got, err, n)
		}
	}
	if got, err := MigrateStatus(ctx, path); err != nil || !slices.Equal(got, want) {
		t.Errorf("MigrateStatus = %+v, %v, want %+v", got, err, want)
	}
}

// TestOpenTogether: many processes that find no file make one database.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	secrets := make(chan string, 6)
	for range cap(secrets) {
		go func() {
			db, err := Open(context.Background(), path, Options{Readers: 1})
			var secret []byte
			if err == nil {
				secret, err = db.Secret(context.Background())
				err = errors.Join(err, db.Close())
			}
			secrets <- fmt.Sprintf("%x %v", secret, err)
		}()
	}
	first := <-secrets
	for range cap(secrets) - 1 {
		if got := <-secrets; got != first || !strings.HasSuffix(got, " <nil>") {
			t.Errorf("secret = %q, want that of the others, %q", got, first)
		}
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	workspace := newShop(t, openAt(t, path, Options{}), "acme")
	db := openAt(t, path, Options{ReadOnly: true})
	if _, err := db.Category(t.Context(), workspace, 1); err != nil {
		t.Error(err)
	}
	_, err := petstore.NewService(db).CreateCategory(t.Context(), workspace, petstore.NewCategory{Name: "cats"}, nil)
	if got := petstore.CodeOf(err); got != petstore.CodeServiceUnavailable {
		t.Errorf("CreateCategory = %v, want %s", err, petstore.CodeServiceUnavailable)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := Open(ctx, filepath.Join(t.TempDir(), "petstore.db"), Options{})
	must(t, err)
	for range 2 {
		if err := db.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	_, err = db.Pet(ctx, 1, 1)
	if got := petstore.CodeOf(err); got != petstore.CodeServiceUnavailable {
		t.Errorf("Pet = %v, want %s", err, petstore.CodeServiceUnavailable)
	}
	if _, err := db.Forget(ctx); petstore.CodeOf(err) != petstore.CodeServiceUnavailable {
		t.Errorf("Forget = %v, want %s", err, petstore.CodeServiceUnavailable)
	}
	if err := db.Err(); err != nil {
		t.Errorf("Err = %v, want nil: it was closed, not failed", err)
	}
}

// TestAnyNameOfAFile: what is special in a URI is not in a name.
func TestAnyNameOfAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?vfs=c#d%41&é'.db")
	for range 2 {
		db, err := Open(t.Context(), path, Options{})
		must(t, err)
		must(t, db.Close())
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(files) != 1 || files[0] != path {
		t.Errorf("files = %q, %v, want %q alone", files, err, path)
	}
}

// A meddler is a context whose first question changes something.
type meddler struct {
	context.Context //nolint:containedctx // is one

	meddle func()
}

func (m *meddler) Err() error {
	if f := m.meddle; f != nil {
		m.meddle = nil
		f()
	}
	return m.Context.Err()
}

// TestOpenRefusesWhatIsMovedMeanwhile, after Open has looked for the first time.
func TestOpenRefusesWhatIsMovedMeanwhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	if _, err := MigrateUp(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	move := func(to string) {
		t.Helper()
		s, err := OpenSource(t.Context(), path)
		must(t, err)
		if to != "" {
			err = s.MarkMoved(to)
		}
		must(t, errors.Join(err, s.Close()))
	}
	move("") // leaves the write-ahead log, which would lock the file as soon as Open has looked
	ctx := &meddler{t.Context(), func() { move("elsewhere") }}
	db, err := Open(ctx, path, Options{Readers: 1})
	if !errors.Is(err, ErrMoved) {
		t.Errorf("Open = %v, want %v", err, ErrMoved)
	}
	if err == nil {
		db.Close()
	}
}
