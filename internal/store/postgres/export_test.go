package postgres

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

// TrigramPattern is by what the index of names is asked for a text.
var TrigramPattern = trigramPattern

// A Query is the text of a list with its arguments.
type Query struct {
	Name string
	SQL  string
	Args []any
}

// Lists returns one query for every combination of filters that has a plan of
// its own, for the page after an id.
func Lists(workspace, after int64) []Query {
	page := petstore.Page{After: after, Limit: 20}
	yes := true
	most := int64(5)
	all := petstore.Statuses()
	var queries []Query
	add := func(name, sql string, args []any) { queries = append(queries, Query{name, sql, args}) }
	for name, q := range map[string]petstore.PetQuery{
		"pets":                            {},
		"pets by status":                  {Statuses: all[:1]},
		"pets by statuses":                {Statuses: all[:2]},
		"pets by category":                {CategoryID: 2},
		"pets by category and status":     {CategoryID: 2, Statuses: all[:1]},
		"pets by name":                    {Name: "e"},
		"pets by names of many":           {Name: "rex"},
		"pets by name of none":            {Name: "wolf", Statuses: all[:2], CategoryID: 2},
		"pets by id":                      {IDs: []int64{after + 5, after + 3, 1}},
		"pets by id, status and category": {IDs: []int64{after + 5, 3}, Statuses: all[:2], CategoryID: 2},
	} {
		q.Page = page
		sql, args := petList(workspace, q).sql()
		add(name, sql, args)
	}
	for name, q := range map[string]petstore.OrderQuery{
		"orders":                               {},
		"orders by completeness":               {Complete: &yes},
		"orders by pet":                        {PetID: 2},
		"orders by pet and complete":           {PetID: 2, Complete: &yes},
		"orders by ship date":                  {ShipDateFrom: petstore.At(time.UnixMilli(0))},
		"orders by ship dates of few":          {ShipDateFrom: petstore.At(time.UnixMilli(19_990)), ShipDateTo: petstore.At(time.UnixMilli(30_000))},
		"orders by ship date of none":          {ShipDateFrom: petstore.At(time.UnixMilli(30_000))},
		"complete orders by ship date of none": {ShipDateTo: petstore.At(time.UnixMilli(-1)), Complete: &yes},
		"orders by pet and ship date":          {PetID: 2, ShipDateFrom: petstore.At(time.UnixMilli(0))},
	} {
		q.Page = page
		sql, args := orderList(workspace, q).sql()
		add(name, sql, args)
	}
	for name, q := range map[string]petstore.InventoryQuery{
		"inventory":                 {},
		"inventory by statuses":     {Statuses: all},
		"inventory by max quantity": {MaxQuantity: &most},
	} {
		q.Page = page
		sql, args := inventoryList(workspace, q).sql()
		add(name, sql, args)
	}
	sql, args := categoryList(workspace, petstore.CategoryQuery{Page: page, Name: "e"}).sql()
	add("categories by name", sql, args)
	return queries
}

// Search returns the query of a search by name, by the index.
func Search(name string, workspace int64, q petstore.PetQuery) Query {
	sql, args := petList(workspace, q).sql()
	return Query{name, sql, args}
}

// ConnectReading returns a connection that is set up as those are which the store reads by.
func ConnectReading(ctx context.Context, url string) (*pgx.Conn, error) {
	return connect(ctx, url, reading)
}

// Scripts returns the texts of the migrations by their version.
func Scripts() map[int]string {
	scripts := map[int]string{}
	for version := 1; version <= known.Latest(); version++ {
		scripts[version] = known.Script(version)
	}
	return scripts
}

// MigrateFurther migrates the database as a later version would, which has one more
// migration.
func MigrateFurther(ctx context.Context, url, script string) (applied []store.Migration, err error) {
	files := fstest.MapFS{fmt.Sprintf("migrations/%04d_further.sql", known.Latest()+1): {Data: []byte(script)}}
	for version := 1; version <= known.Latest(); version++ {
		files[fmt.Sprintf("migrations/%04d_of_today.sql", version)] = &fstest.MapFile{Data: []byte(known.Script(version))}
	}
	err = administer(ctx, url, func(c *pgx.Conn) error {
		applied, err = migrate(ctx, c, store.MustLoadMigrations(files), time.Now)
		return err
	})
	return applied, err
}

// EmptiedTables returns the names of the tables that a reset empties.
func EmptiedTables() (names []string) {
	for _, t := range workspaceTables() {
		names = append(names, t.Name)
	}
	return names
}

// Committed reports whether a load whose commit got no answer finds that it was
// carried out.
func Committed(ctx context.Context, db *DB, xid string) bool {
	return db.committed(ctx, xid, petstore.Unavailable(nil))
}

// SettingsOf returns some settings of a session that writes.
func SettingsOf(t *testing.T, db *DB) string {
	t.Helper()
	var settings string
	err := db.writer.QueryRow(t.Context(), `SELECT concat_ws(' ', current_setting('transaction_isolation'), current_setting('transaction_read_only'),
		current_setting('search_path'), current_setting('statement_timeout'), current_setting('synchronous_commit'), current_setting('idle_session_timeout'))`).Scan(&settings)
	if err != nil {
		t.Fatal(err)
	}
	return settings
}
