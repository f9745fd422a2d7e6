//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/test/servertest"
)

// Buyers order until they are told to stop, each request again until it is
// answered.
type buyers struct {
	ledger *ledger
	key    string
	url    atomic.Pointer[string] // of the server that runs now
	client *http.Client
	tries  atomic.Int64 // requests without an answer, or answered 503
	giveUp context.Context
	stop   chan struct{}
	all    sync.WaitGroup
}

func startBuyers(giveUp context.Context, n int, seed uint64, key, url string, l *ledger) *buyers {
	b := &buyers{
		ledger: l, key: key, giveUp: giveUp, stop: make(chan struct{}),
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: n}},
	}
	b.url.Store(&url)
	for i := range n {
		b.all.Go(func() { b.buy(uint64(i), rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	return b
}

// finish returns when every request under way has its answer.
func (b *buyers) finish() error {
	close(b.stop)
	b.all.Wait()
	b.client.CloseIdleConnections()
	return b.giveUp.Err()
}

func (b *buyers) stopped() bool {
	select {
	case <-b.stop:
		return true
	case <-b.giveUp.Done():
		return true
	default:
		return false
	}
}

// buy is one buyer.
func (b *buyers) buy(me uint64, r *rand.Rand) {
	pets := int64(len(b.ledger.initial))
	for n := 0; !b.stopped(); n++ {
		o := order{pet: 1 + r.Int64N(pets), quantity: 1 + r.Int64N(3)}
		once := fmt.Sprintf("buyer-%d-order-%d", me, n)
		b.order(&o, once)
		if o.id == 0 {
			continue
		}
		switch r.IntN(10) {
		case 0, 1:
			b.look(o)
		case 2, 3:
			b.again(o, once)
		case 4, 5:
			b.cancel(o)
		}
	}
}

// A reply is the answer to a request.
type reply struct {
	status   int
	code     string
	replayed bool
	first    bool // no attempt went before it
	order    struct{ ID, PetID, Quantity int64 }
}

// ask sends a request until it is answered with something else than that the
// service cannot answer now. It returns false if the campaign is over.
func (b *buyers) ask(method, path, once, body string) (reply, bool) {
	for first := true; b.giveUp.Err() == nil; first = false {
		if r, err := b.send(method, path, once, body); err == nil && r.status != http.StatusServiceUnavailable && r.code != "idempotency_in_progress" {
			r.first = first
			return r, true
		}
		b.tries.Add(1)
		select {
		case <-b.giveUp.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
	return reply{}, false
}

func (b *buyers) send(method, path, once, body string) (r reply, err error) {
	a, err := servertest.Send(b.giveUp, b.client, servertest.Request{Method: method, URL: *b.url.Load() + path, Key: b.key, Body: body, Once: once})
	if err != nil {
		return r, err
	}
	r.status, r.code, r.replayed = a.Status, a.Code, a.Header.Get("Idempotency-Replayed") == "true"
	switch {
	case a.Status >= 400 && a.Code == "", a.Body == "" && a.Status != http.StatusNoContent:
		err = fmt.Errorf("%s %s was answered %d %q", method, path, a.Status, a.Body)
	case a.Status < 400 && a.Body != "":
		err = json.Unmarshal([]byte(a.Body), &r.order)
	}
	return r, err
}

func orderBody(o order) string { return fmt.Sprintf(`{"petId":%d,"quantity":%d}`, o.pet, o.quantity) }

// order places o, and gives it its id if there was stock.
func (b *buyers) order(o *order, once string) {
	r, ok := b.ask("POST", "/store/orders", once, orderBody(*o))
	switch {
	case !ok:
	case r.status == http.StatusCreated:
		o.id = r.order.ID
		if r.order.PetID != o.pet || r.order.Quantity != o.quantity {
			b.ledger.wrong("the order of %d of pet %d was answered with %+v", o.quantity, o.pet, r.order)
		}
		if r.replayed {
			b.ledger.add(&b.ledger.replayed)
		}
		b.ledger.acknowledge(*o)
	case r.code == "insufficient_stock" || r.code == "pet_not_available":
		b.ledger.add(&b.ledger.refused)
	default:
		b.ledger.wrong("an order was answered %d %s", r.status, r.code)
	}
}

// look reads an order that was acknowledged: it must be there.
func (b *buyers) look(o order) {
	r, ok := b.ask("GET", fmt.Sprintf("/store/orders/%d", o.id), "", "")
	if ok && (r.status != http.StatusOK || r.order.ID != o.id || r.order.PetID != o.pet || r.order.Quantity != o.quantity) {
		b.ledger.wrong("lost: the order %+v was acknowledged, and reading it answered %d %+v", o, r.status, r.order)
	}
}

// again repeats an order that was acknowledged: it must not happen twice.
func (b *buyers) again(o order, once string) {
	r, ok := b.ask("POST", "/store/orders", once, orderBody(o))
	if !ok {
		return
	}
	if r.status != http.StatusCreated || r.order.ID != o.id || !r.replayed {
		b.ledger.wrong("doubled: the order %+v was repeated with its key, and answered %d %+v, replayed %v", o, r.status, r.order, r.replayed)
	}
}

// cancel ends an order. A repeated attempt may find that the first one, whose
// answer was lost, has done it.
func (b *buyers) cancel(o order) {
	r, ok := b.ask("DELETE", fmt.Sprintf("/store/orders/%d", o.id), "", "")
	switch {
	case !ok:
	case r.status == http.StatusNoContent || r.status == http.StatusNotFound && !r.first:
		b.ledger.cancel(o)
	default:
		b.ledger.wrong("the cancelling of %+v was answered %d %s", o, r.status, r.code)
	}
}
