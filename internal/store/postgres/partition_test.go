package postgres

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/store/storetest"
	"github.com/jackc/pgx/v5"
)

// partition divides the tables of a database by hash of the workspace, as
// docs/growth.md has it, but in two: many more would take long to copy.
func partition(tb testing.TB, url string) {
	tb.Helper()
	script, err := os.ReadFile("../../../deploy/postgres/partition.sql")
	must(tb, err)
	halves := strings.Replace(string(script), "parts CONSTANT integer := 16;", "parts CONSTANT integer := 2;", 1)
	if halves == string(script) {
		tb.Fatal("the script does not say how many parts it makes")
	}
	c, err := pgx.Connect(context.Background(), url)
	must(tb, err)
	_, err = c.Exec(context.Background(), "BEGIN;"+halves+"COMMIT", pgx.QueryExecModeSimpleProtocol)
	must(tb, errors.Join(err, c.Close(context.Background())))
}

// TestPartitioned: the store keeps its promises where each of its tables is divided.
func TestPartitioned(t *testing.T) {
	t.Parallel()
	server := shared.Server(t)
	divided, err := server.Create(t.Context(), template)
	must(t, err)
	partition(t, server.URL(divided))
	open := func(t *testing.T, now func() time.Time) storetest.Stores {
		t.Helper()
		return node(t, copyOf(t, divided), Options{Now: now})
	}
	// Every statement on the rows of workspaces, once; those of lists are in TestListsCostNoMoreDeeper.
	storetest.Run(t, open, open, "rows", "receipts", "bulk/round trip", "bulk/new ids", "bulk/counters", "bulk/amendments", "events/each change",
		"events/pages", "events/not kept", "sandboxes/reset", "webhooks/deliveries", "webhooks/their end")
}
