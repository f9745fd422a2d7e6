package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, now func() time.Time) storetest.Stores {
		t.Helper()
		return openTest(t, Options{Now: now, Readers: 4})
	}
	storetest.Run(t, open, open)
}

func TestDamage(t *testing.T) {
	t.Parallel()
	storetest.RunDamage(t, func(t *testing.T, now func() time.Time) (storetest.Stores, storetest.Damage) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "petstore.db")
		return openAt(t, path, Options{Now: now, Readers: 1}), func(statements string) {
			script(t, path, "PRAGMA ignore_check_constraints=ON; "+statements)
		}
	})
}
