package petstore

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// wantLedger compares the ledger of a pet; the numbers, the pet's id
// and, unless given, the instants are filled in.
func (s *shop) wantLedger(pet int64, want ...Movement) {
	s.t.Helper()
	var got []Movement
	s.store.view(home, func(r *rows) { got = r.ledger[pet] })
	if len(got) != len(want) {
		s.t.Fatalf("the ledger of pet %d is %+v, want %+v", pet, got, want)
	}
	for i, w := range want {
		w.PetID, w.Number = pet, int64(i+1)
		if !w.At.Valid {
			w.At = got[i].At
		}
		if got[i] != w {
			s.t.Errorf("movement %d of pet %d is %+v, want %+v", i, pet, got[i], w)
		}
	}
}

func TestLedgerExplainsEveryChange(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx := context.Background()
	pet := s.mustPet("")
	made := s.now()
	s.clock.advance(time.Minute)
	s.mustSet(pet, 10)
	first := s.mustOrder(NewOrder{PetID: pet, Quantity: 3})
	second := s.mustOrder(NewOrder{PetID: pet, Quantity: 2})
	sale := s.mustOrder(NewOrder{PetID: pet, Quantity: 1, Complete: true})
	if _, err := s.UpdateOrder(ctx, home, first, OrderPatch{Complete: Some(true)}, Condition{}); err != nil {
		t.Fatal(err)
	}
	if err := s.CancelOrder(ctx, home, second, Condition{}); err != nil {
		t.Fatal(err)
	}
	for _, status := range []Status{Pending, Sold, Sold} { // only the first Sold moves stock
		if _, err := s.UpdatePet(ctx, home, pet, PetPatch{Status: Some(status)}, Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	s.mustSet(pet, 4)
	if err := s.DeletePet(ctx, home, pet, Condition{}); err != nil {
		t.Fatal(err)
	}
	s.wantLedger(pet,
		Movement{Kind: MovedCreated, Delta: 1, Quantity: 1, At: made},
		Movement{Kind: MovedSet, Delta: 9, Quantity: 10, At: s.now()},
		Movement{Kind: MovedPlaced, OrderID: first, Delta: -3, Quantity: 7},
		Movement{Kind: MovedPlaced, OrderID: second, Delta: -2, Quantity: 5},
		Movement{Kind: MovedSale, OrderID: sale, Delta: -1, Quantity: 4},
		Movement{Kind: MovedCompleted, OrderID: first, Delta: 0, Quantity: 4},
		Movement{Kind: MovedCancelled, OrderID: second, Delta: 2, Quantity: 6},
		Movement{Kind: MovedSold, Delta: -6, Quantity: 0},
		Movement{Kind: MovedSet, Delta: 4, Quantity: 4},
		Movement{Kind: MovedDeleted, Delta: -4, Quantity: 0},
	)
}

// broken returns an error that names the first rule that the rows of a
// workspace break, among those that hold after every change.
func (m *memory) broken(workspace int64) (err error) {
	m.view(workspace, func(r *rows) {
		for id, p := range r.pets {
			if err = r.brokenPet(p); err != nil {
				err = fmt.Errorf("pet %d (%+v): %w", id, p, err)
				return
			}
		}
		for id, o := range r.orders {
			if err = r.brokenOrder(o); err != nil {
				err = fmt.Errorf("order %d (%+v): %w", id, o, err)
				return
			}
		}
		for id, ledger := range r.ledger {
			if _, ok := r.pets[id]; !ok && ledger[len(ledger)-1].Kind != MovedDeleted {
				err = fmt.Errorf("the ledger of the deleted pet %d ends with %+v", id, ledger[len(ledger)-1])
			}
		}
	})
	return err
}

func (r *rows) brokenPet(p StockedPet) error {
	var placed int64
	for _, o := range r.orders {
		if o.PetID == p.ID && !o.Complete {
			placed++
		}
	}
	_, category := r.categories[p.CategoryID]
	switch {
	case !category:
		return fmt.Errorf("there is no category %d", p.CategoryID)
	case p.Quantity < 0 || p.Quantity > MaxQuantity:
		return fmt.Errorf("the quantity is out of range")
	case p.OpenOrders != placed:
		return fmt.Errorf("there are %d open orders", placed)
	case !p.Status.Valid():
		return fmt.Errorf("the status is none")
	case p.Status == Available && p.Quantity == 0:
		return fmt.Errorf("available without stock")
	case p.Status == Sold && (p.Quantity > 0 || p.OpenOrders > 0):
		return fmt.Errorf("sold with stock or open orders")
	}
	return brokenLedger(p, r.ledger[p.ID])
}

func brokenLedger(p StockedPet, ledger []Movement) error {
	var sum, open int64
	for i, m := range ledger {
		sum += m.Delta
		switch m.Kind {
		case MovedPlaced:
			open++
		case MovedCompleted, MovedCancelled:
			open--
		}
		if m.PetID != p.ID || m.Number != int64(i+1) || m.Quantity != sum || m.Quantity < 0 || open < 0 {
			return fmt.Errorf("entry %d of the ledger is %+v after a sum of %d", i+1, m, sum)
		}
	}
	if sum != p.Quantity || open != p.OpenOrders || int64(len(ledger)) != p.Movements {
		return fmt.Errorf("the ledger has %d entries, the sum %d and %d open orders", len(ledger), sum, open)
	}
	return nil
}

func (r *rows) brokenOrder(o Order) error {
	_, pet := r.pets[o.PetID]
	switch {
	case !o.Complete && !pet:
		return fmt.Errorf("open without its pet")
	case o.Complete && !o.ShipDate.Valid:
		return fmt.Errorf("complete without a ship date")
	case o.Quantity < 1 || o.Quantity > MaxOrder:
		return fmt.Errorf("the quantity is out of range")
	}
	return nil
}
