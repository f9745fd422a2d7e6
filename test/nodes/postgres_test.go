package nodes

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/internal/store/postgres/postgrestest"
	"example.com/petstore/test/servertest"
)

// TestThousandBuyers: a thousand buyers at three nodes want one each of a
// hundred units.
func TestThousandBuyers(t *testing.T) {
	t.Parallel()
	d := deploy(t, newDatabase(t), 3)
	const crowd, units = 1000, 100
	key := d.shop("shop", units)
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		sold int
	)
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: crowd}}
	defer c.CloseIdleConnections()
	for i := range crowd {
		all.Go(func() {
			r := request{method: "POST", url: d.nodes[i%3].URL + "/store/orders", key: key.Key, body: `{"petId":1}`, once: fmt.Sprint("buyer-", i)}
			a, err := send(c, r)
			for err == nil && a.status == http.StatusServiceUnavailable { // a node has more to do than it can
				a, err = send(c, r)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && a.status == http.StatusCreated:
				sold++
			case err != nil || a.code != "pet_not_available" && a.code != "insufficient_stock":
				t.Errorf("buyer %d: %d %s, %v", i, a.status, a.body, err)
			}
		})
	}
	all.Wait()
	ids, left := ordersAt(t, d.nodes[0].URL, key.Key)
	if sold != units || len(ids) != units || left != 0 {
		t.Errorf("%d buyers were told that they have one, %d orders are there and %d units are left; want %d, %d, 0", sold, len(ids), left, units, units)
	}
	d.sound()
}

// sound has the program check the ledger.
func (d *deployment) sound() {
	d.t.Helper()
	if out := d.run("doctor", "-o=json"); !strings.Contains(out, "ok") {
		d.t.Errorf("doctor = %s", out)
	}
}

const plenty = 100_000_000

// TestPostgresIsKilled: the server dies under load and is started again. The
// nodes answer 503 meanwhile, and recover by themselves.
func TestPostgresIsKilled(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	d := deploy(t, server.URL("postgres"), 2)
	key := d.shop("shop", plenty)
	b := startBuyers(key.Key, 16, d.nodes[0].URL, d.nodes[1].URL)
	for range 2 {
		b.more(t, 100)
		if err := server.Crash(); err != nil {
			t.Fatal(err)
		}
		before := b.unavailable.Load()
		servertest.Eventually(t, "each buyer is told that the service is unavailable", func() bool { return b.unavailable.Load() >= before+32 })
		for _, n := range d.nodes {
			servertest.Eventually(t, "the node says that it is not ready", func() bool { return get(t, n.Ops+"/readyz", "").status == http.StatusServiceUnavailable })
		}
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
		b.more(t, 100)
		for _, n := range d.nodes {
			servertest.Eventually(t, "the node is ready again", func() bool { return get(t, n.Ops+"/readyz", "").status == http.StatusOK })
		}
	}
	b.end(t)
	if b.longest > servertest.Patience/2 {
		t.Errorf("an answer took %v, want a node that tells soon that it cannot serve", b.longest)
	}
	b.wantKept(t, d.nodes[1].URL, plenty)
	d.sound()
}

// TestPromotion: the primary dies under load, its synchronous standby is
// promoted, and the nodes, which know both, follow.
func TestPromotion(t *testing.T) {
	t.Parallel()
	primary := postgrestest.Start(t)
	standby := primary.Standby(t)
	if err := primary.Configure(t.Context(), "synchronous_standby_names", "standby"); err != nil {
		t.Fatal(err)
	}
	both := postgrestest.URL("postgres", primary, standby) + "&target_session_attrs=read-write"
	d := deploy(t, both, 2)
	key := d.shop("shop", plenty)
	servertest.Eventually(t, "a synchronous standby", func() bool {
		return primary.Exec(t.Context(), "postgres",
			"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync') THEN RAISE 'none'; END IF; END $$") == nil
	})
	b := startBuyers(key.Key, 16, d.nodes[0].URL, d.nodes[1].URL)
	b.more(t, 200)
	if err := primary.Crash(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.more(t, 200)
	b.end(t)
	b.wantKept(t, d.nodes[0].URL, plenty)
	d.sound()
}
