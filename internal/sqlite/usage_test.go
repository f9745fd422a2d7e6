package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"example.com/petstore/internal/storetest"
	"example.com/petstore/internal/usage"
	"zombiezen.com/go/sqlite"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	storetest.RunUsage(t, func(t *testing.T) usage.Store { return openTest(t, Options{}) })
}

// TestUsagePlans: what is read and what is forgotten is found by key, and never sorted.
func TestUsagePlans(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	for _, query := range []string{selectUsage, deleteUsage} {
		var steps []string
		err := db.read(t.Context(), func(c *conn) error {
			return c.each("EXPLAIN QUERY PLAN "+query, func(row *sqlite.Stmt) { steps = append(steps, row.ColumnText(3)) })
		})
		if got := fmt.Sprint(steps); err != nil || strings.Contains(got, "SCAN usage") || strings.Contains(got, "TEMP") {
			t.Errorf("plan of %s = %s, %v, want searches alone", query, got, err)
		}
	}
}
