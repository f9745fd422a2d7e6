package sqlite

import (
	"testing"
)

// TestPanicInASnapshot: the connection is given back without a transaction.
func TestPanicInASnapshot(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was lost")
			}
		}()
		_ = db.read(t.Context(), snapshot(func(*conn) error { panic("of a sink") }))
	}()
	for range 2 {
		if err := db.read(t.Context(), snapshot(func(*conn) error { return nil })); err != nil {
			t.Errorf("the next read: %v", err)
		}
	}
}
