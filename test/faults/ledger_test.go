//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// An order is what a buyer was told of one.
type order struct{ id, pet, quantity int64 }

// A ledger is what all buyers were told, and what of that was wrong at once.
type ledger struct {
	initial map[int64]int64 // the stock of each pet at the beginning

	mu        sync.Mutex
	placed    map[int64]order // acknowledged and not cancelled, by id
	cancelled map[int64]order
	refused   int // for want of stock
	replayed  int
	faults    []string
}

func newLedger(initial map[int64]int64) *ledger {
	return &ledger{initial: initial, placed: map[int64]order{}, cancelled: map[int64]order{}}
}

// wrong notes something that must not be.
func (l *ledger) wrong(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(format, args...)
}

func (l *ledger) note(format string, args ...any) {
	if len(l.faults) < 20 {
		l.faults = append(l.faults, fmt.Sprintf(format, args...))
	}
}

// acknowledge notes an order that was answered 201.
func (l *ledger) acknowledge(o order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.placed[o.id]; ok {
		l.note("the order %d was acknowledged to two buyers: %+v and %+v", o.id, before, o)
	}
	if before, ok := l.cancelled[o.id]; ok {
		l.note("the id of the cancelled order %+v was used again: %+v", before, o)
	}
	l.placed[o.id] = o
}

// cancel notes an order whose end was answered 204.
func (l *ledger) cancel(o order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.placed, o.id)
	l.cancelled[o.id] = o
}

func (l *ledger) add(counter *int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*counter++
}

// differs reports whether anything was wrong so far.
func (l *ledger) differs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.faults) > 0
}

// acknowledged returns how many answers were given that must hold.
func (l *ledger) acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.placed) + 2*len(l.cancelled)
}

// A row is one of an export, of any type.
type row struct {
	Type                                        string
	ID, PetID, OrderID, Number, Delta, Quantity int64
}

// audit holds an export of the shop, which nobody uses any more, against the ledger.
func (l *ledger) audit(export string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	orders, left, moved, placed := map[int64]order{}, map[int64]int64{}, map[int64]row{}, map[int64]int64{}
	for line := range strings.Lines(export) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return err
		}
		switch r.Type {
		case "order":
			orders[r.ID] = order{r.ID, r.PetID, r.Quantity}
		case "pet":
			left[r.ID] = r.Quantity
		case "movement":
			if last := moved[r.PetID]; r.Number != last.Number+1 || last.Quantity+r.Delta != r.Quantity {
				l.note("unexplained: the movement %+v comes after %+v", r, last)
			}
			moved[r.PetID] = r
			placed[r.OrderID] -= r.Delta
		}
	}
	l.orders(orders, placed)
	l.stock(left, moved)
	if len(l.faults) > 0 {
		return fmt.Errorf("%w: %s", errLedger, strings.Join(l.faults, "\n"))
	}
	return nil
}

// orders holds that what was acknowledged is there, as it was and explained by movements,
// and nothing else.
func (l *ledger) orders(found map[int64]order, moved map[int64]int64) {
	for id, o := range found {
		if _, ok := l.placed[id]; !ok {
			l.note("doubled: the order %+v was made and never acknowledged, or cancelled and came back", o)
		}
	}
	for id, want := range l.placed {
		if got, ok := found[id]; !ok {
			l.note("lost: the order %+v", want)
		} else if got != want || moved[id] != want.quantity {
			l.note("changed: the order %+v is %+v, and its movements take %d", want, got, moved[id])
		}
	}
}

// stock holds that what is left and what is ordered make what there was, and that the
// movements of each pet end with what is left.
func (l *ledger) stock(left map[int64]int64, moved map[int64]row) {
	ordered := map[int64]int64{}
	for _, o := range l.placed {
		ordered[o.pet] += o.quantity
	}
	for id, was := range l.initial {
		if n, ok := left[id]; !ok || n < 0 || n+ordered[id] != was || moved[id].Quantity != n {
			l.note("oversold: of %d units of pet %d, %d are ordered and %d left, and the movements end with %+v", was, id, ordered[id], n, moved[id])
		}
	}
}
