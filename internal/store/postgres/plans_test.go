package postgres

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/storetest"
	"github.com/jackc/pgx/v5"
)

// A plan is a node of what EXPLAIN says.
type plan struct {
	Hit   int64  `json:"Shared Hit Blocks"`
	Read  int64  `json:"Shared Read Blocks"`
	Rows  int64  `json:"Actual Rows"`
	Loops int64  `json:"Actual Loops"` // 0 if it was not needed
	Type  string `json:"Node Type"`
	Plans []plan
}

func (p plan) uses(kind string) bool {
	return p.Loops > 0 && (p.Type == kind || slices.ContainsFunc(p.Plans, func(below plan) bool { return below.uses(kind) }))
}

// rows returns how many rows all nodes passed on.
func (p plan) rows() int64 {
	n := p.Rows * p.Loops
	for _, below := range p.Plans {
		n += below.rows()
	}
	return n
}

// String returns the kinds of the nodes, and what is below each in brackets.
func (p plan) String() string {
	if len(p.Plans) == 0 {
		return p.Type
	}
	return fmt.Sprint(p.Type, p.Plans)
}

// TestListsCostNoMoreDeeper: a page touches few blocks, wherever it begins, planned
// for all arguments or for these, in tables that are whole or divided.
func TestListsCostNoMoreDeeper(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(tb testing.TB, url string){"whole": nil, "divided": partition} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newDatabase(t)
			if prepare != nil {
				prepare(t, url)
			}
			wantCheapLists(t, url, fillLists(t, url))
		})
	}
}

// fillLists gives a workspace and the one after it some thousands of rows of each kind,
// and returns its id.
func fillLists(t *testing.T, url string) (workspace int64) {
	t.Helper()
	workspace, _ = newStocked(t, node(t, url, Options{}), 1)
	fill := `INSERT INTO petstore.categories (workspace, id, name, folded) SELECT w, n, 'Tiere', 'tiere' FROM generate_series($1::bigint, $1 + 1) w, generate_series(2, 3000) n;`
	execute(t, url, fill, workspace)
	execute(t, url, `INSERT INTO petstore.categories (workspace, id, name, folded) VALUES ($1 + 1, 1, 'e', 'e')`, workspace)
	execute(t, url, `INSERT INTO petstore.pets (workspace, id, name, category, status, quantity, open_orders, movements, folded)
		SELECT w, n, 'Rex', n % 3 + 1, (ARRAY['available', 'pending', 'sold'])[n % 3 + 1], n % 7, 0, 1, 'rex'
		FROM generate_series($1::bigint, $1 + 1) w, generate_series(2, 20000) n`, workspace)
	execute(t, url, `INSERT INTO petstore.orders (workspace, id, pet, quantity, complete, ship_date)
		SELECT w, n, n % 3 + 1, 1, n % 2 = 0, CASE WHEN n % 5 > 0 THEN n END FROM generate_series($1::bigint, $1 + 1) w, generate_series(2, 20000) n`, workspace)
	execute(t, url, "ANALYZE")
	return workspace
}

func wantCheapLists(t *testing.T, url string, workspace int64) {
	t.Helper()
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		c := readingConn(t, url+"&plan_cache_mode="+mode)
		for _, after := range []int64{0, 15000} {
			filled := "" // the list whose first rows are enough
			for _, asked := range storetest.ListStatements(dialect, workspace, after) {
				if asked.List == filled {
					continue
				}
				p := explain(t, c, asked)
				if p.Rows == storetest.PlannedLimit || p.Type == "Aggregate" && p.Plans[0].Rows < 2000 {
					filled = asked.List
				}
				most := int64(200)
				if p.Type == "Aggregate" {
					most = 600 // which sorts all of a status where they are so few, found by one more index or another
				}
				if p.uses("Seq Scan") && p.Hit+p.Read > 1 || p.Hit+p.Read > most { // a table of one block has no need of its index
					t.Errorf("%s after %d, %s: %d blocks: %s for %s", asked.List, after, mode, p.Hit+p.Read, p, asked.SQL)
				}
			}
		}
	}
}

func explain(t *testing.T, c *pgx.Conn, q storetest.ListStatement) plan {
	t.Helper()
	if _, err := c.Prepare(t.Context(), "asked", q.SQL); err != nil {
		t.Fatalf("%s: %v", q.SQL, err)
	}
	defer func() {
		if err := c.Deallocate(t.Context(), "asked"); err != nil {
			t.Error(err)
		}
	}()
	var (
		text  []byte
		plans []struct{ Plan plan }
	)
	var places []string
	for i := range q.Args {
		places = append(places, fmt.Sprintf("$%d", i+1))
	}
	execute := fmt.Sprintf("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE asked (%s)", strings.Join(places, ", "))
	err := c.QueryRow(t.Context(), execute, append([]any{pgx.QueryExecModeSimpleProtocol}, q.Args...)...).Scan(&text)
	if err == nil {
		err = json.Unmarshal(text, &plans)
	}
	if err != nil || len(plans) != 1 {
		t.Fatalf("EXPLAIN %s: %v", q.SQL, err)
	}
	return plans[0].Plan
}

// TestRemovalReadsWhatItRemoves: to remove some rows of a workspace costs as much whatever
// else it has, also if the statistics do not know yet that it has many.
func TestRemovalReadsWhatItRemoves(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	execute(t, url, "ALTER TABLE petstore.movements SET (autovacuum_enabled = off)")
	fill := `INSERT INTO petstore.movements (workspace, id, before, pet, number, delta, quantity, at, kind)
		SELECT $1::bigint, n, 0, n, 1, 1, 1, 1, 'imported' FROM generate_series(1, $2::bigint) n`
	execute(t, url, fill, 1, 2000)
	execute(t, url, "ANALYZE petstore.movements")
	execute(t, url, fill, 2, 30_000)
	remove := storetest.ListStatement{SQL: store.DeleteSome("movements", "workspace, id", "workspace = $1 LIMIT $2"), Args: []any{2, 100}}
	for range 3 {
		if p := explain(t, readingConn(t, url), remove); p.rows() > 1000 {
			t.Errorf("to remove 100 rows, %d were read: %s", p.rows(), p)
		}
	}
}

// TestResetUnderLoad: a reset leaves no row that hangs in the air, and nobody
// waits for it.
func TestResetUnderLoad(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	a, b := node(t, url, Options{}), node(t, url, Options{})
	workspace, pet := newStocked(t, a, petstore.MaxQuantity)
	var writers sync.WaitGroup
	for i := range 8 {
		s := petstore.NewService([]*DB{a, b}[i%2])
		writers.Go(func() {
			for range 40 {
				shop := shopOf(t, a, workspace)
				_, err := s.CreateOrder(t.Context(), shop, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
				wantRefused(t, err)
				made, err := s.CreateCategory(t.Context(), shop, petstore.NewCategory{Name: "cats"}, nil)
				if wantRefused(t, err); err == nil {
					_, err = s.CreatePet(t.Context(), shop, petstore.NewPet{Name: "Tom", CategoryID: made.ID}, nil)
					wantRefused(t, err)
				}
			}
		})
	}
	for range 5 {
		must(t, b.ResetWorkspace(t.Context(), workspace, "cli"))
		must(t, b.Resume(t.Context()))
	}
	writers.Wait()
	wantSound(t, a)
}

// wantRefused fails the test if a write beside a reset failed, unless the workspace was closed or empty.
func wantRefused(t *testing.T, err error) {
	t.Helper()
	if code := petstore.CodeOf(err); err != nil && code != petstore.CodeServiceUnavailable && code != petstore.CodeValidationFailed {
		t.Errorf("a write beside a reset = %v", err)
	}
}
