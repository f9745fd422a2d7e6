package sqlite

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/storetest"
)

// openTest opens a new database until the test ends.
func openTest(t testing.TB, o Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "petstore.db"), o)
	must(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

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
	no      = regexp.MustCompile(`SCAN|TEMP`)
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

// TestLedgerPlan: each movement is found by its key.
func TestLedgerPlan(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	err := db.read(t.Context(), func(c *conn) error {
		ledger := fmt.Sprint(planOf(t, c, store.SelectLedger))
		if strings.Count(ledger, "SEARCH movements USING PRIMARY KEY (workspace=? AND id=?)") != 1 || !strings.Contains(ledger, "SEARCH m USING PRIMARY KEY (workspace=? AND id=?)") {
			t.Errorf("plan of %s = %s, want each movement found by its key", store.SelectLedger, ledger)
		}
		return nil
	})
	must(t, err)
}

// TestChangePlans: what changes and loads read and write is found by key, and a change of
// stock leaves the indexes alone but for that of low stock.
func TestChangePlans(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "w", Plan: access.Free, Quota: access.FreeQuota}, "cli")
	must(t, err)
	updates := map[string]bool{}
	e := explained{engine{db}, t, updates}
	s := store.New(e, store.Options{Dialect: dialect, Now: time.Now, Written: db.WakeReaders, Writer: db.writing})
	go s.CommitChanges()
	defer s.EndChanges()
	changeAll(t, petstore.NewService(changedBy{db, s}), w.ID)
	unit := petstore.Unit{PetID: 10, Pet: &petstore.StockedPet{Pet: petstore.Pet{ID: 10, Name: "Tom", CategoryID: 1, Status: petstore.Available}, Quantity: 5},
		Orders: []petstore.Order{{ID: 10, PetID: 10, Quantity: 1}}}
	if _, err := unit.Check(petstore.At(time.Now())); err != nil {
		t.Fatal(err)
	}
	if refused, err := s.Load(t.Context(), w.ID, &petstore.Batch{Units: []petstore.Unit{unit}}); err != nil || len(refused) > 0 {
		t.Errorf("Load = %v, %v, want it kept", refused, err)
	}
	wantIndexes(t, db, updates)
}

// A changedBy is a database whose changes are made by another store.
type changedBy struct {
	*DB
	store *store.Store
}

func (c changedBy) Do(ctx context.Context, change *petstore.Change) (*petstore.Receipt, error) {
	return c.store.Do(ctx, change)
}

// changeAll makes a change of each kind.
func changeAll(t *testing.T, s *petstore.Service, workspace int64) {
	t.Helper()
	ctx, always, once := t.Context(), petstore.Condition{}, &petstore.Idempotency{Operation: "a", Key: "b"}
	for i, step := range []func() error{
		func() error {
			_, err := s.CreateCategory(ctx, workspace, petstore.NewCategory{Name: "Dogs"}, nil)
			return err
		},
		func() error {
			_, err := s.CreateCategory(ctx, workspace, petstore.NewCategory{Name: "Cats"}, nil)
			return err
		},
		func() error {
			_, err := s.CreatePet(ctx, workspace, petstore.NewPet{Name: "Rex", CategoryID: 1}, nil)
			return err
		},
		func() error { _, err := s.UpdateInventory(ctx, workspace, 1, 500, always); return err },
		func() error {
			_, err := s.CreateOrder(ctx, workspace, petstore.NewOrder{PetID: 1, Quantity: 1}, once)
			return err
		},
		func() error {
			_, err := s.UpdateOrder(ctx, workspace, 1, petstore.OrderPatch{ShipDate: petstore.Some(petstore.Time{Millis: 1, Valid: true})}, always)
			return err
		},
		func() error { return s.CancelOrder(ctx, workspace, 1, always) },
		func() error {
			_, err := s.UpdatePet(ctx, workspace, 1, petstore.PetPatch{Name: petstore.Some("Tom")}, always)
			return err
		},
		func() error { return s.DeletePet(ctx, workspace, 1, always) },
		func() error { return s.DeleteCategory(ctx, workspace, 2, always) },
	} {
		if err := step(); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
}

// wantIndexes holds the updates of pets against the number of trees that each may change.
func wantIndexes(t *testing.T, db *DB, updates map[string]bool) {
	t.Helper()
	if len(updates) != 2 {
		t.Errorf("pets were updated by %v, want one statement for stock and one for all else", updates)
	}
	for query := range updates {
		inserts, want := 0, 2
		if strings.Contains(query, "name = ") {
			want = 4
		}
		err := db.read(t.Context(), func(c *conn) error {
			for row, err := range c.Query("EXPLAIN " + query) {
				var address int64
				var operation string
				if err == nil {
					err = row.Scan(&address, &operation)
				}
				if err != nil {
					return err
				}
				if operation == "IdxInsert" {
					inserts++
				}
			}
			return nil
		})
		if err != nil || inserts != want {
			t.Errorf("%s changes %d trees, %v, want %d: the table's, and those of indexes", query, inserts, err, want)
		}
	}
}

// An explained is a database for [store.Store] whose queries must not scan.
type explained struct {
	engine
	t       *testing.T
	updates map[string]bool // of pets
}

func (e explained) tx(tx store.Tx) explainedTx { return explainedTx{tx, e.t, e.updates} }

func (e explained) Group(_ context.Context, g *store.Group) error {
	return e.db.transact(func(c *conn) error { return g.Run(e.tx(c)) })
}

func (e explained) Load(ctx context.Context, l *store.Load) error {
	return e.db.change(ctx, func(c *conn) error { return l.Run(e.tx(c)) })
}

func (e explained) Read(ctx context.Context, f func(store.Tx) error) error {
	return e.engine.Read(ctx, func(tx store.Tx) error { return f(e.tx(tx)) })
}

func (e explained) Step(ctx context.Context, workspace int64, f func(store.Tx) error) error {
	return e.engine.Step(ctx, workspace, func(tx store.Tx) error { return f(e.tx(tx)) })
}

type explainedTx struct {
	store.Tx
	t       *testing.T
	updates map[string]bool
}

func (e explainedTx) Run(b *store.Batch) error {
	for _, s := range b.Statements {
		if strings.HasPrefix(s.Query, "UPDATE pets ") {
			e.updates[s.Query] = true
		}
		e.explain(s.Query, s.Args...)
	}
	return e.Tx.Run(b)
}

func (e explainedTx) Exec(query string, args ...any) (int64, error) {
	if !strings.HasPrefix(query, "DELETE FROM limit_windows ") { // once a day
		e.explain(query, args...)
	}
	return e.Tx.Exec(query, args...)
}

func (e explainedTx) Query(query string, args ...any) iter.Seq2[store.Row, error] {
	e.explain(query, args...)
	return e.Tx.Query(query, args...)
}

func (e explainedTx) explain(query string, args ...any) {
	c := e.Tx.(*conn)                                                                                                                                    //nolint:forcetypeassert // that of engine
	got := strings.NewReplacer("SCAN access_state", "", "SCAN json_each VIRTUAL TABLE INDEX 1:", "").Replace(fmt.Sprint(planOf(e.t, c, query, args...))) // a table of one row
	if strings.Contains(got, "SCAN") || strings.Contains(got, "TEMP") {
		e.t.Errorf("plan of %s = %s, want searches alone", query, got)
	}
}

// TestAccessPlans: rows and keys are found by an index.
func TestAccessPlans(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "w", Plan: access.Free, Quota: access.FreeQuota}, "cli")
	must(t, err)
	s := store.New(explained{engine{db}, t, nil}, store.Options{Dialect: dialect, Now: time.Now})
	if _, err := s.StockedPet(t.Context(), w.ID, 1); petstore.CodeOf(err) != petstore.CodePetNotFound {
		t.Error(err)
	}
	if _, err := s.Category(t.Context(), w.ID, 1); petstore.CodeOf(err) != petstore.CodeCategoryNotFound {
		t.Error(err)
	}
	if _, err := s.Order(t.Context(), w.ID, 1); petstore.CodeOf(err) != petstore.CodeOrderNotFound {
		t.Error(err)
	}
	if _, err := s.Keys(t.Context(), w.ID); err != nil {
		t.Error(err)
	}
	if _, err := s.Key(t.Context(), "key_x"); petstore.CodeOf(err) != access.CodeKeyNotFound {
		t.Error(err)
	}
	if _, err := s.AccessState(t.Context()); err != nil {
		t.Error(err)
	}
	if _, _, err := s.LiveKeys(t.Context(), []string{"key_x"}, []access.Hash{{1}}); err != nil {
		t.Error(err)
	}
	if _, err := s.Forget(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestWorkspaceTables: a workspace that is emptied leaves no row in any table that has
// rows of workspaces.
func TestWorkspaceTables(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	kept := []string{"api_keys", "counters", "feeds", "key_days", "removals", "usage", "webhooks"} // they are of the workspace
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

// must ends the test if err is not nil.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
