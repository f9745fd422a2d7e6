package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/postgrestest"
)

// Orders are compared on pets in plenty and on a single one.
var catalogues = []struct {
	name string
	pets int64
}{{"pets=1000", 1000}, {"pets=1", 1}}

// stocked makes a database of a workspace with that many pets on a server that waits
// for its disk, and returns the workspace's id.
func stocked(b *testing.B, server *postgrestest.Server, pets int64) (url string, db *postgres.DB, workspace int64) {
	b.Helper()
	url = server.Database(b, "")
	db = node(b, url, postgres.Options{})
	workspace, first := newStocked(b, db, petstore.MaxQuantity)
	execute(b, url, `INSERT INTO petstore.pets (workspace, id, name, category, status, quantity, open_orders, movements, folded)
		SELECT workspace, id + n, name, category, status, quantity, open_orders, movements, folded
		FROM petstore.pets, generate_series(1, $1 - 1) n WHERE id = $2`, pets, first)
	return url, db, workspace
}

// BenchmarkOrders places orders through the store.
func BenchmarkOrders(b *testing.B) {
	server := postgrestest.Start(b)
	for _, c := range catalogues {
		for _, callers := range []int{1, 8, 64, 256} {
			b.Run(fmt.Sprintf("%s/callers=%d", c.name, callers), func(b *testing.B) {
				_, db, workspace := stocked(b, server, c.pets)
				s := petstore.NewService(db)
				atOnce(b, callers, func() error {
					_, err := s.CreateOrder(context.Background(), workspace, petstore.NewOrder{PetID: 1 + rand.N(c.pets), Quantity: 1}, nil)
					return err
				})
				stats := db.Stats()
				b.ReportMetric(float64(stats.Writes)/float64(max(stats.Groups, 1)), "orders/commit")
			})
		}
	}
}

// atOnce calls f b.N times, from that many goroutines.
func atOnce(b *testing.B, callers int, f func() error) {
	b.Helper()
	var (
		wg   sync.WaitGroup
		left atomic.Int64
	)
	left.Store(int64(b.N))
	b.ResetTimer()
	for range callers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := f(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "orders/s")
}

// BenchmarkOrdersByShipDate reads pages of a million orders, half of which ship.
func BenchmarkOrdersByShipDate(b *testing.B) {
	url, db, workspace := stocked(b, postgrestest.Start(b), 1)
	execute(b, url, `INSERT INTO petstore.orders (workspace, id, pet, quantity, complete, ship_date)
		SELECT $1, n, 1, 1, n % 3 = 0, CASE WHEN n % 2 = 0 THEN n END FROM generate_series(1, 1000000) n`, workspace)
	execute(b, url, "VACUUM ANALYZE petstore.orders")
	for _, c := range []struct {
		name     string
		from, to int64
	}{{"none", 2_000_000, 3_000_000}, {"last10", 999_981, 3_000_000}, {"last10000", 980_001, 3_000_000}, {"all", 0, 3_000_000}} {
		q := petstore.OrderQuery{
			Page:         petstore.Page{Limit: 20},
			ShipDateFrom: petstore.At(time.UnixMilli(c.from)), ShipDateTo: petstore.At(time.UnixMilli(c.to)),
		}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := db.Orders(context.Background(), workspace, q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
