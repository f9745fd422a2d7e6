package sqlite

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/storetest"
)

// planOf returns what SQLite would do for a query.
func planOf(t *testing.T, c *conn, query string, args ...any) (steps []string) {
	t.Helper()
	for row, err := range c.Query("EXPLAIN QUERY PLAN "+query, args...) {
		var id, parent, unused int64
		var step string
		if err == nil {
			err = row.Scan(&id, &parent, &unused, &step)
		}
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		steps = append(steps, step)
	}
	return steps
}

// TestPlans: a page costs the same wherever it begins, and never touches another
// workspace's rows. Each part of a list is one search of an index, by all that it asks for
// and the id, and parts are merged without sorting. Of an index of values the ids in the
// range are read alone, and sorted. The index of names leads to the keys of rows.
func TestPlans(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	for _, asked := range storetest.ListStatements(dialect, 1, 0) {
		err := db.read(t.Context(), func(c *conn) error {
			wantPlan(t, asked, planOf(t, c, asked.SQL, asked.Args...))
			return nil
		})
		must(t, err)
	}
}

var (
	ofTable = regexp.MustCompile(`(FROM|JOIN) (pets|orders|categories|counters)\b`)
	equals  = regexp.MustCompile(`\b(category|status|pet|complete) =`)
	byKey   = regexp.MustCompile(`^SEARCH \w+ USING (INTEGER )?PRIMARY KEY \((workspace=\? AND id|rowid)=\?\)$`)
	inRange = regexp.MustCompile(`^SEARCH \w+ USING COVERING INDEX \w+ \(workspace=\? AND (status=\? AND quantity<\?|complete=\? AND ship_date>\? AND ship_date<\?)\)$`)
	whole   = regexp.MustCompile(`SEARCH (pets|orders|movements|categories|events) [^(]*\(workspace=\?\)`) // all rows of a workspace
	no      = regexp.MustCompile(`SCAN|TEMP|BLOOM`)
)

func wantPlan(t *testing.T, asked storetest.ListStatement, plan []string) {
	t.Helper()
	sorted, made, searches := strings.Contains(asked.SQL, "id + 0"), "", 0
	byID := []string{"(workspace=? AND ", "id>?"}
	if strings.Contains(asked.SQL, "id < ") {
		byID[1] = "id<?"
	}
	for _, equal := range equals.FindAllStringSubmatch(asked.SQL, -1) {
		byID = append(byID, equal[1]+"=?")
	}
	for _, step := range plan {
		if name, ok := strings.CutPrefix(step, "CO-ROUTINE "); ok {
			made = "SCAN " + name
		}
		good := !no.MatchString(step) || step == made || strings.HasPrefix(step, "SCAN pet_names VIRTUAL TABLE INDEX") || sorted && step == "USE TEMP B-TREE FOR ORDER BY"
		if strings.HasPrefix(step, "SEARCH") {
			searches++
			good = byKey.MatchString(step) || sorted && inRange.MatchString(step) ||
				!slices.ContainsFunc(byID, func(part string) bool { return !strings.Contains(step, part) })
		}
		if !good {
			t.Errorf("%s: the plan of %s has %q", asked.List, asked.SQL, step)
		}
	}
	if want := len(ofTable.FindAllString(asked.SQL, -1)); searches != want {
		t.Errorf("%s: the plan of %s has %d searches, want %d: %q", asked.List, asked.SQL, searches, want, plan)
	}
}

// TestStatementPlans: what changes, loads and reads ask of single rows, keys and counts is found by key or by an index.
func TestStatementPlans(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, now func() time.Time) storetest.Stores {
		t.Helper()
		db := openTest(t, Options{Readers: 1})
		s := store.New(explained{engine{db}, t}, dialect, Options{Now: now}, db.WakeReaders)
		s.CommitChanges(1)
		t.Cleanup(s.EndChanges)
		return struct {
			*store.Store
			written
		}{s, db}
	}
	storetest.Run(t, open, open, "rows/kept", "rows/movements", "rows/isolation", "receipts/replay", "bulk/counters", "bulk/amendments",
		"access/live keys", "access/key bounds", "access/state of access", "usage/of spans", "usage/of keys")
}

// Written is what a [store.Store] leaves to the engine.
type written interface {
	Written(workspace int64) <-chan struct{}
}

// An explained is a database for [store.Store] whose queries must not scan.
type explained struct {
	engine
	t *testing.T
}

func (e explained) tx(tx store.Tx) explainedTx { return explainedTx{tx, e.t} }

func (e explained) Group(_ context.Context, g *store.Group) error {
	return e.db.transact(func(c *conn) error { return g.Run(e.tx(c)) })
}

func (e explained) Read(ctx context.Context, f func(store.Tx) error) error {
	return e.engine.Read(ctx, func(tx store.Tx) error { return f(e.tx(tx)) })
}

func (e explained) WriteBulk(ctx context.Context, workspace int64, f func(store.Tx) error) error {
	return e.engine.WriteBulk(ctx, workspace, func(tx store.Tx) error { return f(e.tx(tx)) })
}

type explainedTx struct {
	store.Tx
	t *testing.T
}

func (e explainedTx) Run(b *store.Batch) error {
	for _, s := range b.Statements {
		e.explain(s.Query, s.Args...)
	}
	return e.Tx.Run(b)
}

func (e explainedTx) Exec(query string, args ...any) (int64, error) {
	e.explain(query, args...)
	return e.Tx.Exec(query, args...)
}

func (e explainedTx) Query(query string, args ...any) iter.Seq2[store.Row, error] {
	e.explain(query, args...)
	return e.Tx.Query(query, args...)
}

// allowed are the scans of tables of one row or few, of lists of arguments, and of what a part of a statement has found; and the
// rows of a step of a removal are any of the workspace.
var allowed = regexp.MustCompile(`SCAN (json_each VIRTUAL TABLE INDEX 1:|(access_state|ledger|l|counted|removals)\b)|LIST SUBQUERY [12] SEARCH \w+ USING [^(]*\(workspace=\?\)`)

func (e explainedTx) explain(query string, args ...any) {
	c := e.Tx.(*conn) //nolint:forcetypeassert // that of engine
	if got := allowed.ReplaceAllString(fmt.Sprint(planOf(e.t, c, query, args...)), ""); no.MatchString(got) || whole.MatchString(got) {
		e.t.Errorf("plan of %s = %s, want searches alone", query, got)
	}
}

// TestWorkspaceTables: a workspace that is emptied leaves no row in any table that has
// rows of workspaces.
func TestWorkspaceTables(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	kept := []string{"api_keys", "audit", "counters", "removals", "usage", "webhooks"} // they are of the workspace
	err := db.read(t.Context(), func(c *conn) error {
		for row, err := range c.Query(`SELECT t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type='table' AND c.name='workspace'`) {
			name := ""
			if err == nil {
				err = row.Scan(&name)
			}
			if err != nil {
				return err
			}
			if !slices.Contains(kept, name) && !slices.ContainsFunc(store.ShopTables, func(t struct{ Name, Key string }) bool { return t.Name == name }) {
				t.Errorf("the table %s has rows of workspaces, and is not emptied with them", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
