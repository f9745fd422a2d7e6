package postgres

import (
	"testing"

	"example.com/petstore/internal/petstore"
)

// TestLostAnswer: a load whose commit got no answer asks the server what became
// of it.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	db := node(t, url, Options{})
	c := direct(t, url)
	for end, want := range map[string]bool{"COMMIT": true, "ROLLBACK": false} {
		var xid string
		tx, err := c.Begin(t.Context())
		if err == nil {
			err = tx.QueryRow(t.Context(), "SELECT pg_current_xact_id()::text").Scan(&xid)
		}
		if err == nil {
			_, err = c.Exec(t.Context(), end)
		}
		must(t, err)
		if got := db.committed(t.Context(), xid, petstore.Unavailable(nil)); got != want {
			t.Errorf("after %s: committed = %v, want %v", end, got, want)
		}
	}
	if db.committed(t.Context(), "4000000000", petstore.Unavailable(nil)) { // a server that crashed may never have heard of it
		t.Error("a transaction that there never was counts as committed")
	}
}
