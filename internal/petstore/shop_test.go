package petstore

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"
)

// The ids of the rows that a shop has, and of new ones.
const (
	home       = 7
	categoryID = 3
	petID      = 4
	orderID    = 5
	none       = 404
	newID      = 99
)

var noon = At(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))

// A shop is a service whose store has the same rows before each change, and keeps only what the last change has written.
type shop struct {
	*Service
	Store

	t     *testing.T
	has   Facts
	wrote Effects
	asked int
}

// newShop returns a shop with a category.
func newShop(t *testing.T) *shop {
	s := &shop{t: t, has: Facts{Now: noon, Category: &Category{ID: categoryID, Name: "Dogs"}}}
	s.Service = NewService(s)
	return s
}

// stocked gives the shop a pet with open orders, of which one is there.
func (s *shop) stocked(status Status, quantity, open int64) *shop {
	s.has.Pet = &StockedPet{Pet: Pet{ID: petID, Name: "Laika", CategoryID: categoryID, Status: status}, Quantity: quantity, OpenOrders: open, Movements: 5}
	if open > 0 {
		s.has.Order = &Order{ID: orderID, PetID: petID, Quantity: 1}
	}
	return s
}

// load returns copies of the rows that are needed.
func (s *shop) load(n Needs) Facts {
	f := Facts{Now: s.has.Now, CategoryInUse: s.has.CategoryInUse && n.CategoryUse}
	if o := s.has.Order; o != nil && o.ID == n.OrderID {
		row := *o
		f.Order, n.PetID = &row, o.PetID
	}
	if p := s.has.Pet; p != nil && p.ID == n.PetID {
		row := *p
		f.Pet = &row
	}
	if c := s.has.Category; c != nil && c.ID == n.CategoryID {
		row := *c
		f.Category = &row
	}
	return f
}

// Do implements [Store]. It asks for each decision twice, as a store does whose first transaction was rolled back. A
// change that is refused must not have changed the rows, and one that moves stock must say so in the ledger.
func (s *shop) Do(_ context.Context, c *Change) (*Receipt, error) {
	s.asked++
	if e, err := c.Ask(s.load(c.Needs)); err == nil && e.SaveOrder != nil {
		e.SaveOrder.ID = 999_999
	}
	f := s.load(c.Needs)
	e, err := c.Ask(f)
	s.wrote = e
	if err != nil {
		if before := s.load(c.Needs); !reflect.DeepEqual(f, before) {
			s.t.Errorf("a change that was refused with %v made %+v of %+v", err, f, before)
		}
		return nil, err
	}
	if p := e.SavePet; p != nil && p.ID == 0 {
		p.ID = newID
	}
	if row := e.SaveCategory; row != nil && row.ID == 0 {
		row.ID = newID
	}
	if o := e.SaveOrder; o != nil && o.ID == 0 {
		o.ID = newID
	}
	e.Link()
	s.checkLedger(e, s.load(c.Needs).Pet)
	return nil, nil
}

// checkLedger compares the movement of a change with what it did to a pet.
func (s *shop) checkLedger(e Effects, before *StockedPet) {
	if before == nil {
		before = &StockedPet{}
	}
	after, m := e.SavePet, e.Movement
	switch {
	case m == nil && after != nil && (after.Quantity != before.Quantity || after.OpenOrders != before.OpenOrders):
		s.t.Errorf("%+v became %+v without a movement", before, after)
	case m != nil && after != nil && (m.PetID != after.ID || m.Number != before.Movements+1 || after.Movements != m.Number ||
		m.Quantity != after.Quantity || m.Delta != after.Quantity-before.Quantity || m.At != noon):
		s.t.Errorf("%+v became %+v by the movement %+v", before, after, m)
	}
}

// wantPet compares the pet after a change: what was written of it, or what it was.
func (s *shop) wantPet(what string, status Status, quantity, open int64) {
	s.t.Helper()
	p := s.wrote.SavePet
	if p == nil {
		p = s.has.Pet
	}
	if p.Status != status || p.Quantity != quantity || p.OpenOrders != open {
		s.t.Errorf("%s: the pet is %s with quantity %d and %d open orders, want %s, %d, %d", what, p.Status, p.Quantity, p.OpenOrders, status, quantity, open)
	}
}

// errOf returns the error of a write, of which only that is looked at.
func errOf[T any](_ T, err error) error { return err }

// wantCode compares the code of an error; "" wants none.
func wantCode(t *testing.T, what string, err error, want Code) {
	t.Helper()
	if got := CodeOf(err); got != want || (err == nil) != (want == "") {
		t.Errorf("%s: error %v, want code %q", what, err, want)
	}
}

// wantField compares the single field of a validation_failed error.
func wantField(t *testing.T, what string, err error, pointer string, code FieldCode) {
	t.Helper()
	wantCode(t, what, err, CodeValidationFailed)
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Fields) != 1 || e.Fields[0].Pointer != pointer || e.Fields[0].Code != code {
		t.Errorf("%s: error %+v, want one field %s %s", what, err, pointer, code)
	}
}
