package postgres_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/storetest"
)

// TestOrdersByShipDate: pages are whole and in order where some of their rows are
// tested one by one, and the others come by the index.
func TestOrdersByShipDate(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	db := node(t, url, postgres.Options{})
	workspace, pet := newStocked(t, db, 1)
	execute(t, url, `INSERT INTO petstore.orders (workspace, id, pet, quantity, complete, ship_date)
		SELECT w, n, $2, 1, n % 2 = 0, CASE WHEN n % 3 > 0 THEN n * 7919 % 1000 END
		FROM generate_series($1::bigint, $1 + 1) w, generate_series(1, 3000) n`, workspace, pet)
	all, err := db.Orders(t.Context(), workspace, petstore.OrderQuery{Page: petstore.Page{Limit: 5000}})
	if err != nil || len(all) != 3000 {
		t.Fatalf("Orders = %d, %v, want 3000", len(all), err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		from := random.Int64N(1000)
		q := petstore.OrderQuery{
			Page:         petstore.Page{After: random.Int64N(3000), Limit: 1 + random.IntN(60)},
			ShipDateFrom: petstore.At(time.UnixMilli(from)),
			ShipDateTo:   petstore.At(time.UnixMilli(from + random.Int64N(50))),
		}
		if n := random.IntN(4); n < 2 {
			complete := n == 0
			q.Complete = &complete
		} else if n == 2 {
			q.ShipDateTo = petstore.Time{}
		}
		want := storetest.Naive(all, func(o petstore.Order) int64 { return o.ID }, q.Page, func(o petstore.Order) bool {
			return o.ShipDate.Valid && o.ShipDate.Millis >= q.ShipDateFrom.Millis &&
				(!q.ShipDateTo.Valid || o.ShipDate.Millis <= q.ShipDateTo.Millis) && (q.Complete == nil || o.Complete == *q.Complete)
		})
		if got, err := db.Orders(t.Context(), workspace, q); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("Orders(%+v) = %v, %v, want %v", q, got, err, want)
		}
	}
}
