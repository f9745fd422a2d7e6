package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres/postgrestest"
)

// A crowd buys without end, and remembers which orders were confirmed.
type crowd struct {
	t         *testing.T
	workspace int64
	mu        sync.Mutex
	confirmed map[int64]bool
	orders    atomic.Int64 // confirmed so far
	outages   atomic.Int64 // answers that the service is unavailable
	stop      chan struct{}
	wg        sync.WaitGroup
}

// buy starts the buyers; every database is a node.
func buy(t *testing.T, workspace, pet int64, buyers int, nodes ...*DB) *crowd {
	c := &crowd{t: t, workspace: workspace, confirmed: map[int64]bool{}, stop: make(chan struct{})}
	for i := range buyers {
		s := petstore.NewService(nodes[i%len(nodes)])
		c.wg.Go(func() {
			for {
				select {
				case <-c.stop:
					return
				default:
					c.one(s, pet)
				}
			}
		})
	}
	return c
}

func (c *crowd) one(s *petstore.Service, pet int64) {
	made, err := s.CreateOrder(context.Background(), c.workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
	switch {
	case petstore.CodeOf(err) == petstore.CodeServiceUnavailable:
		c.outages.Add(1)
		time.Sleep(10 * time.Millisecond) // a polite client
	case err != nil:
		c.t.Errorf("CreateOrder = %v, want success or %s", err, petstore.CodeServiceUnavailable)
	default:
		c.orders.Add(1)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.confirmed[made.ID] {
			c.t.Errorf("two orders were confirmed with the id %d", made.ID)
		}
		c.confirmed[made.ID] = true
	}
}

// more waits until n more orders were confirmed.
func (c *crowd) more(n int64) {
	c.t.Helper()
	before := c.orders.Load()
	eventually(c.t, "more orders", func() bool { return c.orders.Load() >= before+n })
}

// wantKept ends the buying; every confirmed order must be there.
func (c *crowd) wantKept(db *DB) {
	c.t.Helper()
	c.end()
	kept := ordersOf(c.t, db, c.workspace)
	if lost := missing(c.confirmed, kept); lost > 0 {
		c.t.Errorf("%d of %d confirmed orders are lost", lost, len(c.confirmed))
	}
	c.t.Logf("%d orders confirmed, %d kept, %d times unavailable", len(c.confirmed), len(kept), c.outages.Load())
	wantSound(c.t, db)
}

// TestRestart: a crash and a shutdown under load lose nothing and leave no gap in the ids, and
// the nodes recover by themselves. One that nobody writes through learns of it too.
func TestRestart(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Lax()...)
	url := server.URL("postgres")
	a, b, idle := node(t, url, Options{}), node(t, url, Options{}), node(t, url, Options{})
	p := newPast(t, a)
	workspace, pet := newStocked(t, a, petstore.MaxQuantity)
	follow(t, a)
	follow(t, idle)
	news := follow(t, b)
	<-news
	crowd := buy(t, workspace, pet, 16, a, b)
	crowd.more(200)
	for _, end := range []func() error{server.Crash, server.Stop} {
		must(t, end())
		eventually(t, "an error", func() bool { return a.Err() != nil && idle.Err() != nil })
		if _, err := a.Pet(t.Context(), workspace, pet); petstore.CodeOf(err) != petstore.CodeServiceUnavailable {
			t.Errorf("Pet without a server = %v, want %s", err, petstore.CodeServiceUnavailable)
		}
		must(t, server.Restart())
		crowd.more(200)
		eventually(t, "Err without an error", func() bool { return a.Err() == nil && idle.Err() == nil })
		if _, err := a.Pet(t.Context(), workspace, pet); err != nil {
			t.Errorf("Pet after recovery = %v", err)
		}
		<-news // the listener has come back
	}
	crowd.wantKept(b)
	p.wantNoGap(t, node(t, url, Options{}))
}

// TestSessionsAreEnded: an administrator ends all sessions; no caller notices
// but those whose commit was on its way.
func TestSessionsAreEnded(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	db := node(t, url, Options{})
	workspace, pet := newStocked(t, db, petstore.MaxQuantity)
	crowd := buy(t, workspace, pet, 8, db)
	for range 5 {
		crowd.more(50)
		execute(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		if _, err := db.Pet(t.Context(), workspace, pet); err != nil {
			t.Errorf("Pet = %v, want the connection replaced", err)
		}
	}
	crowd.more(50)
	crowd.wantKept(db)
}

// TestReadOnlyServer: what cannot be written is unavailable, not refused.
func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	workspace, pet := newStocked(t, node(t, url, Options{}), 5)
	db := node(t, url+"&default_transaction_read_only=on", Options{NoMigrate: true})
	_, err := petstore.NewService(db).CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
	if petstore.CodeOf(err) != petstore.CodeServiceUnavailable {
		t.Errorf("CreateOrder = %v, want %s", err, petstore.CodeServiceUnavailable)
	}
	if _, err := db.Pet(t.Context(), workspace, pet); err != nil {
		t.Errorf("Pet = %v", err)
	}
}

// TestUnconfirmedCommit: the wait for a synchronous standby that does not exist
// is ended by hand. The server calls that a success; it is not one.
func TestUnconfirmedCommit(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := postgrestest.Start(t, postgrestest.Lax()...)
	db := node(t, server.URL("postgres"), Options{})
	workspace, pet := newStocked(t, db, 5)
	must(t, server.Configure(ctx, "synchronous_standby_names", "nobody"))
	admin := direct(t, server.URL("postgres"))
	outcome := make(chan error, 1)
	go func() {
		_, err := petstore.NewService(db).CreateOrder(ctx, workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
		outcome <- err
	}()
	eventually(t, "waiting for the standby", func() bool {
		var n int
		err := admin.QueryRow(ctx, "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&n)
		return err == nil && n > 0
	})
	if err := <-outcome; petstore.CodeOf(err) != petstore.CodeServiceUnavailable {
		t.Errorf("CreateOrder = %v, want %s", err, petstore.CodeServiceUnavailable)
	}
}
