package postgres_test

import (
	"testing"

	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/storetest"
	"example.com/petstore/internal/usage"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	storetest.RunUsage(t, func(t *testing.T) usage.Store { return node(t, newDatabase(t), postgres.Options{}) })
}

// TestUsageOfTwoNodes: what the nodes counted adds up.
func TestUsageOfTwoNodes(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	a, b := node(t, url, postgres.Options{}), node(t, url, postgres.Options{})
	row := usage.Row{Workspace: 1, Step: usage.Minute, Start: 60}
	row.Requests[usage.Limited], row.Latency[usage.Buckets-1] = 2, 2
	for _, db := range []*postgres.DB{a, b} {
		if err := db.AddUsage(t.Context(), []usage.Row{row}); err != nil {
			t.Fatal(err)
		}
	}
	row.Add(&row.Counts)
	got, err := a.Usage(t.Context(), 1, usage.Minute, 0, 120)
	if err != nil || len(got) != 1 || got[0] != row {
		t.Errorf("Usage = %v, %v, want %v", got, err, row)
	}
}
