//go:build linux

package faults

import (
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

// audit holds the tables of a database, which nothing uses any more, against the
// ledger. It reads them itself: the program under test has no say in it.
func (l *ledger) audit(db tables) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	damage, err := db.damage()
	if err != nil {
		return err
	}
	for _, text := range damage {
		l.note("damaged: %s", text)
	}
	for _, check := range []func(tables) error{l.orders, l.stock, l.movements} {
		if err := check(db); err != nil {
			return err
		}
	}
	if len(l.faults) > 0 {
		return fmt.Errorf("%w: %s", errLedger, strings.Join(l.faults, "\n"))
	}
	return nil
}

// orders holds that what was acknowledged is there, as it was, and nothing else.
func (l *ledger) orders(db tables) error {
	found := map[int64]order{}
	err := db.each("SELECT id, pet, quantity FROM orders", func(row []int64) {
		o := order{row[0], row[1], row[2]}
		found[o.id] = o
		if _, ok := l.placed[o.id]; !ok {
			l.note("doubled: the order %+v was made and never acknowledged, or cancelled and came back", o)
		}
	})
	for id, want := range l.placed {
		if got, ok := found[id]; !ok {
			l.note("lost: the order %+v", want)
		} else if got != want {
			l.note("changed: the order %+v is %+v", want, got)
		}
	}
	return err
}

// stock holds that what is left and what is ordered make what there was.
func (l *ledger) stock(db tables) error {
	ordered := map[int64]int64{}
	for _, o := range l.placed {
		ordered[o.pet] += o.quantity
	}
	pets := 0
	err := db.each("SELECT id, quantity FROM pets", func(row []int64) {
		pets++
		id, left := row[0], row[1]
		if left < 0 || left+ordered[id] != l.initial[id] {
			l.note("oversold: of %d units of pet %d, %d are ordered and %d left", l.initial[id], id, ordered[id], left)
		}
	})
	if pets != len(l.initial) {
		l.note("%d pets are there, want %d", pets, len(l.initial))
	}
	return err
}

// movements holds that every quantity is explained, one movement after another.
func (l *ledger) movements(db tables) error {
	last, number := map[int64]int64{}, map[int64]int64{}
	placed := map[int64]int64{}
	err := db.each("SELECT pet, number, delta, quantity, coalesce(order_id, 0) FROM movements ORDER BY pet, number", func(row []int64) {
		pet, delta, quantity, id := row[0], row[2], row[3], row[4]
		number[pet]++
		if row[1] != number[pet] || last[pet]+delta != quantity {
			l.note("unexplained: movement %d of pet %d goes from %d by %d to %d", row[1], pet, last[pet], delta, quantity)
		}
		last[pet] = quantity
		placed[id] -= delta
	})
	if err != nil {
		return err
	}
	for id, o := range l.placed {
		if placed[id] != o.quantity {
			l.note("unexplained: the movements of the order %+v take %d", o, placed[id])
		}
	}
	return db.each("SELECT id, quantity, movements FROM pets", func(row []int64) {
		if id := row[0]; last[id] != row[1] || number[id] != row[2] {
			l.note("unexplained: pet %d has %d units after %d movements, its ledger says %d after %d", id, row[1], row[2], last[id], number[id])
		}
	})
}
