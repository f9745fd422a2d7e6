package operator_test

import (
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/store/sqlite"
)

// TestBounds: an overlap and a ban end, also where no server bounds them.
func TestBounds(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "petstore.db"), sqlite.Options{})
	processtest.Must(t, err)
	t.Cleanup(func() { db.Close() })
	l := &operator.Local{Store: db, Counts: operator.Saved(db, time.Now), Now: time.Now, By: "test"}
	w, err := l.CreateWorkspace(t.Context(), operator.NewWorkspace{Name: "acme", Plan: operator.Plan{Plan: access.Free}})
	processtest.Must(t, err)
	k, err := l.CreateKey(t.Context(), w.ID, access.NewKey{Name: "till", Scopes: access.Read})
	processtest.Must(t, err)
	rotate := func(d time.Duration) error { _, err := l.RotateKey(t.Context(), k.ID, d); return err }
	ban := func(d time.Duration) error {
		_, err := l.BanKey(t.Context(), k.ID, operator.NewBan{For: d, Reason: "x"})
		return err
	}
	for _, test := range []struct {
		do   func(time.Duration) error
		d    time.Duration
		code petstore.Code
	}{
		{rotate, -1, petstore.CodeValidationFailed}, {rotate, operator.MaxOverlap + 1, petstore.CodeValidationFailed},
		{ban, 0, petstore.CodeValidationFailed}, {ban, operator.MaxBan + 1, petstore.CodeValidationFailed},
		{ban, operator.MaxBan, ""}, {rotate, operator.MaxOverlap, ""},
	} {
		if err := test.do(test.d); petstore.CodeOf(err) != test.code {
			t.Errorf("with %v: %v, want %q", test.d, err, test.code)
		}
	}
}
