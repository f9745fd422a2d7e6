package petstore

import (
	"context"
	"errors"
	"sync"
	"time"
)

// home is the workspace of the tests.
const home = 7

// clock is a clock that only moves when it is told to.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// shop is a service over a memory store, with one category.
type shop struct {
	*Service
	t        fataler
	store    *memory
	clock    *clock
	category int64
}

// fataler is what testing.TB and *rapid.T have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func newShop(t fataler) *shop {
	t.Helper()
	c := &clock{t: time.Date(2026, 3, 4, 5, 6, 7, 891e6, time.UTC)}
	store := newMemory(c.now)
	s := &shop{Service: NewService(store), t: t, store: store, clock: c}
	s.category = s.mustCategory(NewCategory{Name: "Dogs"})
	return s
}

func (s *shop) now() Time { return At(s.clock.now()) }

func (s *shop) mustCategory(n NewCategory) int64 {
	s.t.Helper()
	made, err := s.CreateCategory(context.Background(), home, n, nil)
	if err != nil {
		s.t.Fatalf("CreateCategory(%+v): %v", n, err)
	}
	return made.ID
}

func (s *shop) mustPet(status Status) int64 {
	s.t.Helper()
	made, err := s.CreatePet(context.Background(), home, NewPet{Name: "Laika", CategoryID: s.category, Status: status}, nil)
	if err != nil {
		s.t.Fatalf("CreatePet(status %q): %v", status, err)
	}
	return made.ID
}

// mustStock makes a pet with so much stock.
func (s *shop) mustStock(quantity int64) int64 {
	s.t.Helper()
	id := s.mustPet("")
	s.mustSet(id, quantity)
	return id
}

func (s *shop) mustSet(pet, quantity int64) {
	s.t.Helper()
	if _, err := s.UpdateInventory(context.Background(), home, pet, quantity, Condition{}); err != nil {
		s.t.Fatalf("UpdateInventory(%d, %d): %v", pet, quantity, err)
	}
}

func (s *shop) mustOrder(n NewOrder) int64 {
	s.t.Helper()
	made, err := s.CreateOrder(context.Background(), home, n, nil)
	if err != nil {
		s.t.Fatalf("CreateOrder(%+v): %v", n, err)
	}
	return made.ID
}

func (s *shop) order(id int64) Order {
	s.t.Helper()
	o, err := s.Order(context.Background(), home, id)
	if err != nil {
		s.t.Fatalf("Order(%d): %v", id, err)
	}
	return o
}

// seed puts a pet into the store as it stands, with a ledger that explains it.
func (s *shop) seed(status Status, quantity, open int64) (pet int64, orders []int64) {
	s.t.Helper()
	pet = s.mustStock(quantity + open)
	if quantity+open > 0 {
		for range open {
			orders = append(orders, s.mustOrder(NewOrder{PetID: pet, Quantity: 1}))
		}
	}
	s.store.view(home, func(r *rows) {
		p := r.pets[pet]
		p.Status = status
		r.pets[pet] = p
	})
	s.wantPet("seed", pet, status, quantity, open)
	return pet, orders
}

// wantPet compares what the store holds of the pet.
func (s *shop) wantPet(after string, pet int64, status Status, quantity, open int64) {
	s.t.Helper()
	s.store.view(home, func(r *rows) {
		p := r.pets[pet]
		if p.Status != status || p.Quantity != quantity || p.OpenOrders != open {
			s.t.Errorf("after %s: pet %d is %s with quantity %d and %d open orders, want %s, %d, %d",
				after, pet, p.Status, p.Quantity, p.OpenOrders, status, quantity, open)
		}
	})
}

// wantCode compares the code of an error; "" wants none.
func wantCode(t fataler, what string, err error, want Code) {
	t.Helper()
	if got := CodeOf(err); got != want || (err == nil) != (want == "") {
		t.Errorf("%s: error %v, want code %q", what, err, want)
	}
}

// wantField compares the single field of a validation_failed error.
func wantField(t fataler, what string, err error, pointer string, code FieldCode) {
	t.Helper()
	wantCode(t, what, err, CodeValidationFailed)
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Fields) != 1 || e.Fields[0].Pointer != pointer || e.Fields[0].Code != code {
		t.Errorf("%s: error %+v, want one field %s %s", what, err, pointer, code)
	}
}
