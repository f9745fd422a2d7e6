package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres/postgrestest"
)

// Orders are compared on pets in plenty and on a single one.
var catalogues = []struct {
	name string
	pets int64
}{{"pets=1000", 1000}, {"pets=1", 1}}

// stocked makes a database of a workspace with that many pets on a server that waits
// for its disk, and returns the workspace's id.
func stocked(b *testing.B, server *postgrestest.Server, pets int64) (url string, db *DB, workspace int64) {
	b.Helper()
	url = server.Database(b, "")
	db = node(b, url, Options{})
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
