package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Stores {
		t.Helper()
		return openAt(t, filepath.Join(t.TempDir(), "petstore.db"), sqlite.Options{Now: now, Readers: 4})
	})
}

func TestDamage(t *testing.T) {
	t.Parallel()
	storetest.RunDamage(t, func(t *testing.T, now func() time.Time) (storetest.Stores, storetest.Damage) {
		path := filepath.Join(t.TempDir(), "petstore.db")
		return openAt(t, path, sqlite.Options{Now: now, Readers: 1}), func(statements string) {
			script(t, path, "PRAGMA foreign_keys=OFF; PRAGMA ignore_check_constraints=ON; "+statements)
		}
	})
}

func TestRestarts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "petstore.db")
	storetest.RunRestarts(t, func(t *testing.T, now func() time.Time) storetest.Stores {
		t.Helper()
		return openAt(t, path, sqlite.Options{Now: now, Readers: 1})
	})
}

// must ends the test if err is not nil.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
