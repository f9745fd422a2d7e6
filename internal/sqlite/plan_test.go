package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/accesssql"
	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// openTest opens a new database until the test ends.
func openTest(t testing.TB, o Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "petstore.db"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// plans returns what SQLite would do for a list, a line for each lane.
func plans[T any](t *testing.T, c *conn, l *list[T]) (texts, details []string) {
	t.Helper()
	lanes := [][]filter{nil}
	if len(l.lanes) > 0 {
		lanes = lanes[:0]
		for i := range l.lanes {
			lanes = append(lanes, l.lanes[i:i+1])
		}
	}
	for _, lane := range lanes {
		var steps []string
		if err := c.each("EXPLAIN QUERY PLAN "+l.sql(lane), func(row *sqlite.Stmt) { steps = append(steps, row.ColumnText(3)) }); err != nil {
			t.Fatal(err)
		}
		texts, details = append(texts, l.sql(lane)), append(details, strings.Join(steps, "; "))
	}
	return texts, details
}

// wantPlan fails the test unless every lane is one search of one workspace's
// rows in an index, by all its equalities and the id, without sorting. With an index
// of values, the ids in the range are read there alone, and sorted.
func wantPlan[T any](t *testing.T, c *conn, l *list[T]) {
	t.Helper()
	if l.values != nil {
		texts, details := plans(t, c, l.values)
		for i, detail := range details {
			wantColumns := regexp.MustCompile(`^SEARCH \w+ USING COVERING INDEX ` + l.values.index + ` \(workspace=\? AND (status|complete)=\? AND (quantity|ship_date)[<>]\?( AND ship_date<\?)?\); USE TEMP B-TREE FOR ORDER BY$`)
			if !wantColumns.MatchString(detail) {
				t.Errorf("plan of %s = %q, want ids of a range of %s, sorted", texts[i], detail, l.values.index)
			}
		}
	}
	texts, details := plans(t, c, l)
	for i, detail := range details {
		want := []string{"SEARCH", "(workspace=? AND "}
		for _, equality := range []string{byStatus, byCategory, byComplete} {
			if strings.Contains(texts[i], equality) {
				want = append(want, strings.TrimPrefix(equality, " AND "))
			}
		}
		want = append(want, "AND id>?")
		for _, part := range want {
			if !strings.Contains(detail, part) {
				t.Errorf("plan of %s = %q, want %q in it", texts[i], detail, part)
			}
		}
		for _, part := range []string{"SCAN", "TEMP B-TREE", ";"} {
			if strings.Contains(detail, part) {
				t.Errorf("plan of %s = %q, want no %q in it", texts[i], detail, part)
			}
		}
	}
}

// TestPlans: a page costs the same wherever it begins, and never touches
// another workspace's rows.
func TestPlans(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	err := db.read(t.Context(), func(c *conn) error {
		for mask := range 16 {
			wantPlan(t, c, petList(1, petstore.PetQuery{Page: petstore.Page{Limit: 20},
				Statuses: petstore.Statuses()[:mask&3], CategoryID: int64(mask >> 2 & 1), Name: strings.Repeat("x", mask>>3)}))
			wantPlan(t, c, orderList(1, orderQuery(mask>>1)))
			most := int64(3)
			q := petstore.InventoryQuery{Page: petstore.Page{Limit: 20}, Statuses: petstore.Statuses()[:mask&3]}
			if mask&4 != 0 {
				q.MaxQuantity = &most
			}
			wantPlan(t, c, inventoryList(1, q))
			wantPlan(t, c, categoryList(1, petstore.CategoryQuery{Page: petstore.Page{Limit: 20}, Name: strings.Repeat("x", mask&1)}))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func orderQuery(mask int) petstore.OrderQuery {
	q := petstore.OrderQuery{Page: petstore.Page{Limit: 20}}
	if mask&1 != 0 {
		q.Complete = new(bool)
	}
	q.ShipDateFrom.Valid, q.ShipDateTo.Valid = mask&2 != 0, mask&4 != 0
	return q
}

// TestPointPlans: what a change reads is found by key.
func TestPointPlans(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	for _, query := range []string{
		selectPet, selectStored, selectRow, selectCategory, selectOrder, selectInUse,
		selectLastEntry, selectBefore, selectMovement, selectEntry, selectDeparted,
		selectRecent, finishEarlier, deleteEarlier, selectListed + " WHERE workspace=1 AND id=1", allPets,
		byID[petstore.CategoryRow], byID[petstore.PetRow], byID[petstore.OrderRow],
	} {
		var steps []string
		err := db.read(t.Context(), func(c *conn) error {
			return c.each("EXPLAIN QUERY PLAN "+query, func(row *sqlite.Stmt) { steps = append(steps, row.ColumnText(3)) })
		})
		if got := fmt.Sprint(steps); err != nil || strings.Contains(got, "SCAN") || strings.Contains(got, "TEMP") {
			t.Errorf("plan of %s = %s, %v, want searches alone", query, got, err)
		}
	}
}

// TestReceiptPlans: a receipt is found by key.
func TestReceiptPlans(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	err := db.read(t.Context(), func(c *conn) error {
		_, err := accesssql.Receipt(explainedTx{accessTx{c}, t}, 1, &petstore.Idempotency{Operation: "a", Key: "b"}, db.Lived())
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// An explained is a database for [accesssql.Store] whose queries must not scan.
type explained struct {
	accessDB
	t *testing.T
}

func (e explained) Read(ctx context.Context, f func(accesssql.Tx) error) error {
	return e.accessDB.Read(ctx, func(tx accesssql.Tx) error { return f(explainedTx{tx, e.t}) })
}

func (e explained) Step(ctx context.Context, f func(accesssql.Tx) error) error {
	return e.accessDB.Step(ctx, func(tx accesssql.Tx) error { return f(explainedTx{tx, e.t}) })
}

func (e explained) PetStep(ctx context.Context, f func(accesssql.Tx) error) error {
	return e.accessDB.PetStep(ctx, func(tx accesssql.Tx) error { return f(explainedTx{tx, e.t}) })
}

type explainedTx struct {
	accesssql.Tx
	t *testing.T
}

func (e explainedTx) Exec(query string, args ...any) (int64, error) {
	if !strings.HasPrefix(query, "DELETE FROM limit_windows ") { // once a day
		e.explain(query, args...)
	}
	return e.Tx.Exec(query, args...)
}

func (e explainedTx) Query(query string, row func(accesssql.Row) error, args ...any) error {
	e.explain(query, args...)
	return e.Tx.Query(query, row, args...)
}

func (e explainedTx) explain(query string, args ...any) {
	c := e.Tx.(accessTx).c //nolint:forcetypeassert // that of accessDB
	var steps []string
	err := c.each("EXPLAIN QUERY PLAN "+query, func(row *sqlite.Stmt) { steps = append(steps, row.ColumnText(3)) }, args...)
	if _, reset := c.Prepare("EXPLAIN QUERY PLAN " + query); err == nil { // SQLite takes an explained write for one under way until it is reset
		err = reset
	}
	got := strings.NewReplacer("SCAN access_state", "", "SCAN bans", "").Replace(fmt.Sprint(steps)) // tables of one row, and of those that are banned
	if err != nil || strings.Contains(got, "SCAN") || strings.Contains(got, "TEMP") {
		e.t.Errorf("plan of %s = %s, %v, want searches alone", query, got, err)
	}
}

// TestAccessPlans: keys are found by an index, and so is what has changed.
func TestAccessPlans(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "w", Plan: access.Free, Quota: access.FreeQuota}, "cli")
	if err != nil {
		t.Fatal(err)
	}
	s := accesssql.New(explained{accessDB{db}, t}, accesssql.Options{Tables: workspaceTables, Now: time.Now})
	if _, err := s.Keys(t.Context(), w.ID); err != nil {
		t.Error(err)
	}
	if _, err := s.Key(t.Context(), "key_x"); petstore.CodeOf(err) != access.CodeKeyNotFound {
		t.Error(err)
	}
	state := int64(0)
	if err := db.read(t.Context(), func(c *conn) error {
		return c.each("SELECT state FROM access_state WHERE only=1", func(row *sqlite.Stmt) { state = scanInt(row) })
	}); err != nil {
		t.Fatal(err)
	}
	if c, err := s.Changes(t.Context(), 0); err != nil || !c.All {
		t.Errorf("Changes = %+v, %v, want that all may have changed", c, err)
	}
	if _, _, err := s.LiveKeys(t.Context(), []string{"key_x"}, []access.Hash{{1}}); err != nil {
		t.Error(err)
	}
	if c, err := s.Changes(t.Context(), state-1); err != nil || c.All || len(c.Workspaces) != 1 {
		t.Errorf("Changes = %+v, %v, want the workspace", c, err)
	}
	if _, err := s.Forget(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestEarlierPlans: the orders of a pet before its latest are read in the order of
// pet_orders, each by its key.
func TestEarlierPlans(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	const want = "SEARCH pet_orders USING PRIMARY KEY (workspace=? AND pet=? AND complete=? AND id>?); SEARCH orders USING PRIMARY KEY (workspace=? AND id=?)"
	err := db.read(t.Context(), func(c *conn) error {
		for mask := range 8 {
			q := orderQuery(mask)
			q.PetID = 1
			texts, details := plans(t, c, orderList(1, q))
			for i, detail := range details {
				if detail != want {
					t.Errorf("plan of %s = %q, want %q", texts[i], detail, want)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestIndexesOfUpdates: a change of stock leaves the indexes alone but for that of low
// stock.
func TestIndexesOfUpdates(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	for query, want := range map[string]int{updateStock: 2, updatePet: 4} {
		inserts := 0
		err := db.read(t.Context(), func(c *conn) error {
			return c.each("EXPLAIN "+query, func(row *sqlite.Stmt) {
				if row.ColumnText(1) == "IdxInsert" {
					inserts++
				}
			})
		})
		if err != nil || inserts != want {
			t.Errorf("%s changes %d trees, %v, want %d: the table's, and those of indexes", query, inserts, err, want)
		}
	}
}

// TestWorkspaceTables: a workspace that is emptied leaves no row in any table that has
// rows of workspaces.
func TestWorkspaceTables(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	kept := []string{"api_keys", "counters", "feeds", "key_days", "limit_keys", "removals", "usage", "webhooks"} // they are of the workspace
	err := db.read(t.Context(), func(c *conn) error {
		return c.each(`SELECT t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type='table' AND c.name='workspace'`, func(row *sqlite.Stmt) {
			if name := row.ColumnText(0); !slices.Contains(kept, name) && !slices.ContainsFunc(workspaceTables, func(t accesssql.Table) bool { return t.Name == name }) {
				t.Errorf("the table %s has rows of workspaces, and is not emptied with them", name)
			}
		})
	})
	if err != nil {
		t.Error(err)
	}
}
