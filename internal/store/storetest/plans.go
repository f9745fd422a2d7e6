package storetest

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// A ListStatement is what a list asks the engine.
type ListStatement struct {
	List string // in words
	SQL  string
	Args []any
}

// Asked returns what reads ask an engine that finds nothing among many rows.
func Asked(d store.Dialect, read func(*store.Store)) []ListStatement {
	r := &recorder{}
	read(store.New(r, d, store.OpenOptions{Now: time.Now}, nil))
	return r.asked
}

// PlannedLimit is how many rows the pages of ListStatements have.
const PlannedLimit = 20

// ListStatements returns the statements of lists with each combination of filters that has
// plans of its own, for the page after an id, and those for the newest first. Those of one
// list follow each other: the last is for a page that the first rows do not fill.
func ListStatements(d store.Dialect, workspace, after int64) (all []ListStatement) {
	ctx := context.Background()
	add := func(list string, read func(*store.Store, petstore.Page)) {
		for _, newest := range []bool{false, true} {
			for _, asked := range Asked(d, func(s *store.Store) { read(s, petstore.Page{After: after, Limit: PlannedLimit, Newest: newest}) }) {
				asked.List = fmt.Sprintf("%s, newest first %v", list, newest)
				all = append(all, asked)
			}
		}
	}
	for list, q := range petQueries(after) {
		add("pets "+list, func(s *store.Store, p petstore.Page) { q.Page = p; _, _ = s.Pets(ctx, workspace, q) })
	}
	for list, q := range orderQueries() {
		add("orders "+list, func(s *store.Store, p petstore.Page) { q.Page = p; _, _ = s.Orders(ctx, workspace, q) })
	}
	for _, name := range []string{"", "e"} {
		add(fmt.Sprintf("categories by name %s", name), func(s *store.Store, p petstore.Page) {
			_, _ = s.Categories(ctx, workspace, petstore.CategoryQuery{Page: p, Name: name})
		})
	}
	return all
}

func petQueries(after int64) map[string]petstore.PetQuery {
	queries := map[string]petstore.PetQuery{
		"by id":                      {IDs: []int64{after + 5, after + 3, 1}},
		"by id, status and category": {IDs: []int64{after + 5, 3}, Statuses: petstore.Statuses()[:2], CategoryID: 2},
	}
	for _, name := range []string{"", "e", "rex", "wolf"} {
		for statuses := range 3 {
			for category := range int64(2) {
				queries[fmt.Sprintf("of %d statuses, category %d, name %s", statuses, 2*category, name)] = petstore.PetQuery{
					Statuses: petstore.Statuses()[:statuses], CategoryID: 2 * category, Name: name}
			}
		}
	}
	for statuses := range 3 {
		for _, most := range []int64{5, 1000} {
			queries[fmt.Sprintf("of %d statuses, at most %d", statuses, most)] = petstore.PetQuery{Statuses: petstore.Statuses()[:statuses], MaxQuantity: &most}
		}
	}
	return queries
}

func orderQueries() map[string]petstore.OrderQuery {
	queries := map[string]petstore.OrderQuery{}
	at := func(millis int64) petstore.Time { return petstore.Time{Millis: millis, Valid: true} }
	dates := map[string][2]petstore.Time{"": {}, ", from": {at(0)}, ", of few": {at(19_990), at(30_000)}, ", of none": {at(30_000)}, ", until": {{}, at(-1)}}
	yes := true
	queries["of a pet"], queries["complete, of a pet"] = petstore.OrderQuery{PetID: 2}, petstore.OrderQuery{PetID: 2, Complete: &yes}
	queries["of a pet, from"] = petstore.OrderQuery{PetID: 2, ShipDateFrom: at(0)}
	for dated, d := range dates {
		queries["all"+dated] = petstore.OrderQuery{ShipDateFrom: d[0], ShipDateTo: d[1]}
		queries["complete"+dated] = petstore.OrderQuery{ShipDateFrom: d[0], ShipDateTo: d[1], Complete: &yes}
	}
	return queries
}

// A recorder is an engine that has no rows, but counts many. It keeps the statements that it
// is asked.
type recorder struct {
	store.DB

	asked []ListStatement
}

func (r *recorder) Read(_ context.Context, f func(store.Tx) error) error { return f(recorderTx{r: r}) }

type recorderTx struct {
	store.Tx

	r *recorder
}

func (t recorderTx) Query(query string, args ...any) iter.Seq2[store.Row, error] {
	t.r.asked = append(t.r.asked, ListStatement{SQL: query, Args: args})
	return func(yield func(store.Row, error) bool) {
		if strings.HasPrefix(query, "SELECT count(*) ") {
			yield(many{}, nil)
		}
	}
}

// many is a large number.
type many struct{}

func (many) Scan(columns ...any) error {
	*columns[0].(*int64) = 1 << 40 //nolint:forcetypeassert // of a count
	return nil
}
