package nodes

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

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
			r := servertest.Request{Method: "POST", URL: d.nodes[i%3].URL + "/store/orders", Key: key.Key, Body: `{"petId":1}`, Header: map[string]string{"Idempotency-Key": fmt.Sprint("buyer-", i)}}
			a, err := servertest.Send(t.Context(), c, r)
			for err == nil && a.Status == http.StatusServiceUnavailable { // a node has more to do than it can
				a, err = servertest.Send(t.Context(), c, r)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && a.Status == http.StatusCreated:
				sold++
			case err != nil || a.Code != "pet_not_available" && a.Code != "insufficient_stock":
				t.Errorf("buyer %d: %d %s, %v", i, a.Status, a.Body, err)
			}
		})
	}
	all.Wait()
	if left := unitsLeft(t, d.nodes[0].URL, key.Key); sold != units || left != 0 {
		t.Errorf("%d buyers were told that they have one, and %d units are left; want %d and 0", sold, left, units)
	}
	d.sound()
}

// sound has the program hold the ledger against stock and orders.
func (d *deployment) sound() {
	d.t.Helper()
	if out := d.run("doctor", "-o=json"); !strings.Contains(out, "ok") {
		d.t.Errorf("doctor = %s", out)
	}
}
