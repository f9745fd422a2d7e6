package postgres

import (
	"fmt"
	"slices"
	"testing"

	"example.com/petstore/internal/store"
)

// TestBatchOf: rows of one table that follow each other share statements, and nothing else
// does.
func TestBatchOf(t *testing.T) {
	t.Parallel()
	const insert, event = "INSERT INTO a (x, y) VALUES ($1, $2)", "INSERT INTO b (x, y)\n\tVALUES ($1, (SELECT z FROM c WHERE x = $1) - $2)"
	var b store.Batch
	b.Exec("BEGIN")
	for i := range 3 {
		b.Exec(insert, i, "a")
	}
	for i := range 2 {
		b.Exec("UPDATE a SET x = $1", i)
	}
	for i := range 2 {
		b.Exec(event, i, "b")
	}
	for range 2 {
		b.Exec(insert+" ON CONFLICT DO NOTHING", 7, "c")
		b.Query(func(store.Row) error { return nil }, insert, 8, "d")
	}
	var got []string
	for _, q := range batchOf(&b).QueuedQueries {
		got = append(got, fmt.Sprint(q.SQL, q.Arguments))
	}
	want := []string{
		"BEGIN[]",
		"INSERT INTO a (x, y) VALUES ($1, $2), ($3, $4)[0 a 1 a]",
		insert + "[2 a]",
		"UPDATE a SET x = $1[0]", "UPDATE a SET x = $1[1]",
		"INSERT INTO b (x, y)\n\tVALUES ($1, (SELECT z FROM c WHERE x = $1) - $2), ($3, (SELECT z FROM c WHERE x = $3) - $4)[0 b 1 b]",
		insert + " ON CONFLICT DO NOTHING[7 c]", insert + "[8 d]",
		insert + " ON CONFLICT DO NOTHING[7 c]", insert + "[8 d]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("batchOf = %q, want %q", got, want)
	}
}
