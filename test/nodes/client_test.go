package nodes

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// A request is one of a client; once is its Idempotency-Key.
type request struct{ method, url, key, body, once string }

// An answer is what came back, and how long that took.
type answer struct {
	status int
	code   string // of an error
	header http.Header
	body   []byte
	took   time.Duration
}

func send(c *http.Client, r request) (a answer, err error) {
	req, err := http.NewRequest(r.method, r.url, strings.NewReader(r.body))
	if err != nil {
		return a, err
	}
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.once != "" {
		req.Header.Set("Idempotency-Key", r.once)
	}
	begun := time.Now()
	resp, err := c.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	a.body, err = io.ReadAll(resp.Body)
	a.status, a.header, a.took = resp.StatusCode, resp.Header, time.Since(begun)
	var failure struct{ Code string }
	if err == nil && a.status >= 400 && strings.Contains(a.header.Get("Content-Type"), "json") && json.Unmarshal(a.body, &failure) == nil {
		a.code = failure.Code
	}
	return a, err
}

// ask sends a request that must be answered.
func ask(t *testing.T, r request) answer {
	t.Helper()
	a, err := send(http.DefaultClient, r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func get(t *testing.T, url, key string) answer {
	t.Helper()
	return ask(t, request{method: "GET", url: url, key: key})
}

// remaining returns what the X-RateLimit headers say is left.
func (a answer) remaining() int {
	n, err := strconv.Atoi(a.header.Get("X-RateLimit-Remaining"))
	if err != nil {
		return -1
	}
	return n
}

// usedToday asks a node what the workspace has used.
func usedToday(t *testing.T, s *servertest.Server, key string) int {
	t.Helper()
	var account struct {
		Limits struct{ Day struct{ Used int } }
	}
	if err := json.Unmarshal(get(t, s.URL+"/account", key).body, &account); err != nil {
		t.Fatal(err)
	}
	return account.Limits.Day.Used
}

// Buyers order one unit after the other, each order again until it is
// acknowledged. They remember which were.
type buyers struct {
	key  string
	stop chan struct{}
	all  sync.WaitGroup

	mu       sync.Mutex
	orders   map[int64]string // the acknowledged, with their Idempotency-Keys
	problems []string
	longest  time.Duration // until any answer

	bought, unavailable atomic.Int64
}

// startBuyers starts n of them; they share out the addresses.
func startBuyers(key string, n int, urls ...string) *buyers {
	b := &buyers{key: key, stop: make(chan struct{}), orders: map[int64]string{}}
	for i := range n {
		c := &http.Client{Timeout: servertest.Patience, Transport: &http.Transport{}}
		b.all.Go(func() {
			defer c.CloseIdleConnections()
			for j := 0; !b.stopped(); j++ {
				b.buy(c, urls[i%len(urls)], fmt.Sprintf("buyer-%d-%d", i, j))
			}
		})
	}
	return b
}

func (b *buyers) stopped() bool {
	select {
	case <-b.stop:
		return true
	default:
		return false
	}
}

// buy repeats one order until it is acknowledged, even when the others have
// been told to stop.
func (b *buyers) buy(c *http.Client, url, once string) {
	for deadline := time.Now().Add(servertest.Patience); ; {
		a, err := send(c, request{method: "POST", url: url + "/store/orders", key: b.key, body: `{"petId":1}`, once: once})
		if err == nil && a.status == http.StatusCreated {
			b.acknowledge(a, once)
			return
		}
		if !b.mayRepeat(a, err) || time.Now().After(deadline) {
			b.problem("an order was answered %d %s after %v: %v", a.status, a.body, a.took, err)
			return
		}
		b.unavailable.Add(1)
		b.note(a)
		time.Sleep(20 * time.Millisecond) // between two tries
	}
}

func (b *buyers) mayRepeat(a answer, err error) bool {
	if err != nil {
		return false
	}
	if a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "" {
		b.problem("a 503 without Retry-After: %s", a.body)
	}
	return a.status == http.StatusServiceUnavailable || a.code == "idempotency_in_progress"
}

func (b *buyers) problem(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

func (b *buyers) note(a answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.longest = max(b.longest, a.took)
}

func (b *buyers) acknowledge(a answer, once string) {
	b.note(a)
	b.bought.Add(1)
	var order struct{ ID int64 }
	if err := json.Unmarshal(a.body, &order); err != nil {
		b.problem("an order was answered %q: %v", a.body, err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if other, twice := b.orders[order.ID]; twice {
		b.problems = append(b.problems, fmt.Sprintf("the order %d was acknowledged to %s and to %s", order.ID, other, once))
	}
	b.orders[order.ID] = once
}

// more waits until n more orders are acknowledged.
func (b *buyers) more(t *testing.T, n int64) {
	t.Helper()
	until := b.bought.Load() + n
	servertest.Eventually(t, "more orders", func() bool { return b.bought.Load() >= until })
}

// end returns when the last orders are acknowledged.
func (b *buyers) end(t *testing.T) {
	t.Helper()
	close(b.stop)
	b.all.Wait()
	for i, p := range b.problems {
		if i < 5 {
			t.Error(p)
		}
	}
	t.Logf("%d orders, %d times unavailable, the longest answer took %v", len(b.orders), b.unavailable.Load(), b.longest.Round(time.Millisecond))
}

// ordersAt returns the ids of all orders that a node has, and what is left of
// the pet.
func ordersAt(t *testing.T, url, key string) (ids map[int64]bool, left int) {
	t.Helper()
	ids = map[int64]bool{}
	for next := url + "/store/orders?limit=100"; next != ""; {
		a := get(t, next, key)
		var page []struct{ ID int64 }
		if err := json.Unmarshal(a.body, &page); err != nil || a.status != http.StatusOK {
			t.Fatalf("GET %s = %d %s", next, a.status, a.body)
		}
		for _, o := range page {
			ids[o.ID] = true
		}
		next = ""
		if link := a.header.Get("Link"); strings.Contains(link, `rel="next"`) {
			_, query, _ := strings.Cut(link, "?")
			query, _, _ = strings.Cut(query, ">")
			next = url + "/store/orders?" + query
		}
	}
	var item struct{ Quantity int }
	if a := get(t, url+"/inventory/1", key); json.Unmarshal(a.body, &item) != nil || a.status != http.StatusOK {
		t.Fatalf("GET /inventory/1 = %d %s", a.status, a.body)
	}
	return ids, item.Quantity
}

// wantKept checks that every acknowledged order is there, that no other is, and
// that the units add up.
func (b *buyers) wantKept(t *testing.T, url string, units int) {
	t.Helper()
	ids, left := ordersAt(t, url, b.key)
	for id, once := range b.orders {
		if !ids[id] {
			t.Errorf("lost: the order %d of %s was acknowledged and is not there", id, once)
		}
	}
	if len(ids) != len(b.orders) {
		t.Errorf("%d orders are there, want the %d acknowledged", len(ids), len(b.orders))
	}
	if left != units-len(ids) {
		t.Errorf("%d units are left after %d orders of %d units", left, len(ids), units)
	}
}
