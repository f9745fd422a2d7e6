//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/petstore/test/servertest"
)

// A deed is what a client did to one pet: it ordered units ('o'), cancelled an
// order of so many ('x') or completed it ('c'), set the stock ('s') or read it
// ('r').
type deed struct {
	what     byte
	pet      int64
	quantity int64
}

// An outcome is what the client was told.
type outcome struct {
	happened bool
	unknown  bool   // the server died before it answered
	code     string // of a refusal
	quantity int64  // that was read, with the status
	status   string
}

// A shelf is one pet: what can be ordered, and how many orders are open.
type shelf struct{ stock, open int64 }

func (s shelf) status() string {
	switch {
	case s.stock > 0:
		return "available"
	case s.open > 0:
		return "pending"
	}
	return "sold"
}

// after returns the shelf after a deed that happened.
func (s shelf) after(d deed) shelf {
	switch d.what {
	case 'o':
		return shelf{s.stock - d.quantity, s.open + 1}
	case 'x':
		return shelf{s.stock + d.quantity, s.open - 1}
	case 'c':
		return shelf{s.stock, s.open - 1}
	case 's':
		return shelf{d.quantity, s.open}
	}
	return s
}

// refusal returns the code of an order that the shelf does not allow, or "".
func (s shelf) refusal(d deed) string {
	switch {
	case d.what != 'o' || s.stock >= d.quantity:
		return ""
	case s.stock == 0:
		return "pet_not_available"
	}
	return "insufficient_stock"
}

const firstStock = 10

// shelfModel says what may be seen of the pets by clients that take turns. A
// death is not in it: nothing that was seen may depend on one.
func shelfModel() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
			byPet := map[int64][]porcupine.Operation{}
			for _, o := range history {
				pet := o.Input.(deed).pet
				byPet[pet] = append(byPet[pet], o)
			}
			for _, part := range byPet {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() []any { return []any{shelf{stock: firstStock}} },
		Step: func(state, input, output any) []any {
			s, d, o := state.(shelf), input.(deed), output.(outcome)
			switch {
			case o.unknown:
				return []any{s, s.after(d)}
			case d.what == 'r' && (o.quantity != s.stock || o.status != s.status()), s.refusal(d) != o.code:
				return nil
			case o.happened:
				return []any{s.after(d)}
			}
			return []any{s}
		},
	}
	return m.ToModel()
}

// A chronicle is the history of clients whose server is killed again and again.
type chronicle struct {
	*run
	began time.Time

	mu  sync.Mutex
	all []porcupine.Operation
}

// do makes a client do one deed and notes it. What changes nothing when it is
// repeated is repeated until it is answered; the stock is set once, since
// somebody may have changed it between two attempts.
func (h *chronicle) do(client int, d deed, method, path, once, body string) (reply, bool) {
	begun := time.Since(h.began)
	if d.what == 's' {
		r, err := h.buyers.send(method, path, once, body)
		r.unknown = err != nil || r.status == http.StatusServiceUnavailable
		h.note(client, d, begun, r)
		if r.unknown {
			h.buyers.ask("GET", path, "", "") // returns when there is a server again
		}
		return r, true
	}
	r, ok := h.buyers.ask(method, path, once, body)
	h.note(client, d, begun, r)
	return r, ok
}

func (h *chronicle) note(client int, d deed, begun time.Duration, r reply) {
	o := outcome{happened: r.status < 300, unknown: r.unknown, code: r.code, quantity: r.item.Quantity, status: r.item.Status}
	if ended := (d.what == 'x' && r.status == http.StatusNotFound || d.what == 'c' && r.code == "order_completed") && !r.first; ended {
		o = outcome{happened: true} // by the attempt before
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, porcupine.Operation{ClientId: client, Input: d, Output: o, Call: int64(begun), Return: int64(time.Since(h.began))})
}

// live is the life of a client, which owns the orders that it made.
func (h *chronicle) live(client int, r *rand.Rand, deeds int) {
	open := map[int64][]order{}
	for n := range deeds {
		d := deed{what: "ooorrsxxc"[r.IntN(9)], pet: 1 + r.Int64N(pets), quantity: r.Int64N(5)}
		own := open[d.pet]
		switch {
		case d.what == 's':
			h.do(client, d, "PATCH", fmt.Sprintf("/inventory/%d", d.pet), "", fmt.Sprintf(`{"quantity":%d}`, d.quantity))
		case d.what == 'o':
			d.quantity++
			made, ok := h.do(client, d, "POST", "/store/orders", fmt.Sprintf("%d-%d", client, n), orderBody(order{pet: d.pet, quantity: d.quantity}))
			if ok && made.status == http.StatusCreated {
				open[d.pet] = append(own, order{made.order.ID, d.pet, d.quantity})
			}
		case d.what == 'r' || len(own) == 0:
			d.what = 'r'
			h.do(client, d, "GET", fmt.Sprintf("/inventory/%d", d.pet), "", "")
		default:
			o := own[0]
			open[d.pet], d.quantity = own[1:], o.quantity
			method, body := "DELETE", ""
			if d.what == 'c' {
				method, body = "PATCH", `{"complete":true}`
			}
			h.do(client, d, method, fmt.Sprintf("/store/orders/%d", o.id), "", body)
		}
	}
}

// histories lets clients live through faults, and returns what they saw.
func histories(ctx context.Context, c campaign, clients, deeds int) (all []porcupine.Operation, err error) {
	h := &chronicle{run: &run{campaign: c, rand: rand.New(rand.NewPCG(c.seed, 0))}}
	_, key, err := h.prepare()
	if h.server != nil {
		defer func() { h.server.Kill() }()
	}
	for pet := 1; err == nil && pet <= pets; pet++ {
		err = h.post(key, "PATCH", fmt.Sprintf("/inventory/%d", pet), fmt.Sprintf(`{"quantity":%d}`, firstStock))
	}
	if err != nil {
		return nil, err
	}
	h.buyers = startBuyers(ctx, 0, c.seed, key, h.server.URL, newLedger(nil))
	h.began = time.Now()
	var lives sync.WaitGroup
	for i := range clients {
		lives.Go(func() { h.live(i, rand.New(rand.NewPCG(c.seed, uint64(i)+1)), deeds) })
	}
	for n := 1; err == nil && n <= c.cycles; n++ {
		if h.until(clients * deeds * n / (c.cycles + 1)); h.deeds() == clients*deeds {
			err = errors.New("the clients were through before the faults")
		} else {
			err = c.fault(h.run)
		}
	}
	lives.Wait()
	return h.all, errors.Join(err, h.buyers.finish(), h.server.Stop())
}

func (h *chronicle) deeds() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

// until waits until the clients have done so much.
func (h *chronicle) until(deeds int) {
	for deadline := time.Now().Add(servertest.Patience); h.deeds() < deeds && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // between two polls
	}
}

// wantTurns fails unless the history is one of clients that take turns.
func wantTurns(history []porcupine.Operation) error {
	unknown := 0
	for _, o := range history {
		if o.Output.(outcome).unknown {
			unknown++
		}
	}
	if got := porcupine.CheckOperationsTimeout(shelfModel(), history, time.Minute); got != porcupine.Ok {
		return fmt.Errorf("the history of %d deeds, %d of them without an answer, is %s, want %s", len(history), unknown, got, porcupine.Ok)
	}
	return nil
}

// TestHistories: whatever the kills, clients see the shop as if everything
// happened one after another, and nothing twice or never.
func TestHistories(t *testing.T) {
	for name, begin := range map[string]func(*testing.T) campaign{
		"SQLite":     func(t *testing.T) campaign { return campaign{disk: folder(t.TempDir())} },
		"PostgreSQL": crashes,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := begin(t)
			c.binary, c.seed, c.cycles, c.fault = petstore, *seed, 8, kill
			history, err := histories(t.Context(), c, 8, 150)
			if err == nil {
				err = wantTurns(history)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d deeds of 8 clients with %d kills among them, as if one after another", len(history), c.cycles)
		})
	}
}
