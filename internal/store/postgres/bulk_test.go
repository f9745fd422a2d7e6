package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/store/postgres"
)

// TestLostAnswer: a load whose commit got no answer asks the server what became
// of it.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	db := node(t, url, postgres.Options{})
	c, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { c.Close(t.Context()) })
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
		if got := postgres.Committed(t.Context(), db, xid); got != want {
			t.Errorf("after %s: committed = %v, want %v", end, got, want)
		}
	}
	if postgres.Committed(t.Context(), db, "4000000000") { // a server that crashed may never have heard of it
		t.Error("a transaction that there never was counts as committed")
	}
}
