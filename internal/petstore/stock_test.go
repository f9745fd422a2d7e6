package petstore

import (
	"context"
	"fmt"
	"math"
	"testing"
)

// Rules 1 and 2.
func TestNewPetHasStock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		given, want Status
		quantity    int64
	}{
		{"", Available, 1},
		{Available, Available, 1},
		{Pending, Pending, 0},
		{Sold, Sold, 0},
	} {
		s := newShop(t)
		id := s.mustPet(test.given)
		s.wantPet(fmt.Sprintf("CreatePet(status %q)", test.given), id, test.want, test.quantity, 0)
		item, err := s.InventoryItem(context.Background(), home, id)
		if want := (InventoryItem{PetID: id, Quantity: test.quantity, Status: test.want}); err != nil || item != want {
			t.Errorf("InventoryItem(%d) = %+v, %v, want %+v", id, item, err, want)
		}
		s.wantLedger(id, Movement{Kind: MovedCreated, Delta: test.quantity, Quantity: test.quantity})
	}
}

func TestNewPetWithStock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		given Status
		stock int64
		want  Status
		code  Code
	}{
		{"", 7, Available, ""},
		{"", 0, Sold, ""},
		{Available, 7, Available, ""},
		{Available, 0, "", CodeOutOfStock},
		{Pending, 7, Pending, ""},
		{Pending, 0, Pending, ""},
		{Sold, 0, Sold, ""},
		{Sold, 7, "", CodeValidationFailed},
		{"", -1, "", CodeValidationFailed},
		{"", MaxQuantity + 1, "", CodeValidationFailed},
	} {
		s := newShop(t)
		what := fmt.Sprintf("CreatePet(status %q, stock %d)", test.given, test.stock)
		made, err := s.CreatePet(context.Background(), home, NewPet{Name: "Kaa", Category: &NewCategory{Name: "Snakes"}, Status: test.given, Stock: &test.stock}, nil)
		if wantCode(t, what, err, test.code); test.code != "" {
			continue
		}
		s.wantPet(what, made.ID, test.want, test.stock, 0)
		s.wantLedger(made.ID, Movement{Kind: MovedCreated, Delta: test.stock, Quantity: test.stock})
		pet, _ := s.Pet(context.Background(), home, made.ID)
		if c, err := s.Category(context.Background(), home, pet.CategoryID); err != nil || c.Name != "Snakes" {
			t.Errorf("%s: its category is %+v, %v, want Snakes", what, c, err)
		}
	}
	_, err := newShop(t).CreatePet(context.Background(), home, NewPet{Name: "Kaa", Category: &NewCategory{Name: " "}}, nil)
	wantField(t, "CreatePet with a nameless category", err, "/categoryId", InvalidFormat)
}

// Rules 3 and 7: what an order does to a pet in every state.
func TestCreateOrderTakesStock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		status         Status
		quantity, open int64
		ask            int64
		complete       bool
		want           Code
		after          Status
		left, openLeft int64
	}{
		{"some", Available, 5, 0, 2, false, "", Available, 3, 1},
		{"some with others open", Available, 5, 2, 2, false, "", Available, 3, 3},
		{"all", Available, 5, 0, 5, false, "", Pending, 0, 1},
		{"more", Available, 5, 0, 6, false, CodeInsufficientStock, Available, 5, 0},
		{"some at once", Available, 5, 0, 2, true, "", Available, 3, 0},
		{"all at once", Available, 5, 0, 5, true, "", Sold, 0, 0},
		{"all at once with others open", Available, 5, 1, 5, true, "", Pending, 0, 1},
		{"more at once", Available, 5, 0, 6, true, CodeInsufficientStock, Available, 5, 0},
		{"held", Pending, 5, 0, 1, false, CodePetNotAvailable, Pending, 5, 0},
		{"held and more", Pending, 5, 0, 6, false, CodePetNotAvailable, Pending, 5, 0},
		{"sold out", Pending, 0, 1, 1, false, CodePetNotAvailable, Pending, 0, 1},
		{"sold", Sold, 0, 0, 1, true, CodePetNotAvailable, Sold, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			pet, _ := s.seed(test.status, test.quantity, test.open)
			_, err := s.CreateOrder(context.Background(), home, NewOrder{PetID: pet, Quantity: test.ask, Complete: test.complete}, nil)
			wantCode(t, "CreateOrder", err, test.want)
			s.wantPet("CreateOrder", pet, test.after, test.left, test.openLeft)
		})
	}
}

// Rules 4 to 7 and 8's null: every way in which a status settles.
func TestStatusSettles(t *testing.T) {
	t.Parallel()
	complete := func(s *shop, _ int64, orders []int64) error {
		_, err := s.UpdateOrder(context.Background(), home, orders[0], OrderPatch{Complete: Some(true)}, Condition{})
		return err
	}
	cancel := func(s *shop, _ int64, orders []int64) error {
		return s.CancelOrder(context.Background(), home, orders[0], Condition{})
	}
	release := func(s *shop, pet int64, _ []int64) error {
		_, err := s.UpdatePet(context.Background(), home, pet, PetPatch{Status: Null[Status]()}, Condition{})
		return err
	}
	set := func(quantity int64) func(*shop, int64, []int64) error {
		return func(s *shop, pet int64, _ []int64) error {
			_, err := s.UpdateInventory(context.Background(), home, pet, quantity, Condition{})
			return err
		}
	}
	add := func(units int64) func(*shop, int64, []int64) error {
		return func(s *shop, pet int64, _ []int64) error {
			_, err := s.AddStock(context.Background(), home, pet, units, nil)
			return err
		}
	}
	for _, test := range []struct {
		name           string
		status         Status
		quantity, open int64
		do             func(*shop, int64, []int64) error
		after          Status
		left, openLeft int64
	}{
		{"complete the last, none left", Pending, 0, 1, complete, Sold, 0, 0},
		{"complete one of two, none left", Pending, 0, 2, complete, Pending, 0, 1},
		{"complete the last, some left", Available, 3, 1, complete, Available, 3, 0},
		{"complete one of two, some left", Available, 3, 2, complete, Available, 3, 1},
		{"complete the last, held", Pending, 3, 1, complete, Pending, 3, 0},
		{"complete one of two, held", Pending, 3, 2, complete, Pending, 3, 1},

		{"cancel the last, none left", Pending, 0, 1, cancel, Available, 1, 0},
		{"cancel one of two, none left", Pending, 0, 2, cancel, Available, 1, 1},
		{"cancel the last, some left", Available, 3, 1, cancel, Available, 4, 0},
		{"cancel one of two, some left", Available, 3, 2, cancel, Available, 4, 1},
		{"cancel, held", Pending, 3, 1, cancel, Pending, 4, 0},

		{"set 0 from some", Available, 3, 0, set(0), Sold, 0, 0},
		{"set 0 from some with open orders", Available, 3, 1, set(0), Pending, 0, 1},
		{"set 0 from held", Pending, 3, 0, set(0), Sold, 0, 0},
		{"set 0 from held with open orders", Pending, 3, 1, set(0), Pending, 0, 1},
		{"set 0 from sold", Sold, 0, 0, set(0), Sold, 0, 0},
		{"set 0 from a hold on nothing", Pending, 0, 0, set(0), Sold, 0, 0},
		{"set 0 from sold out with open orders", Pending, 0, 1, set(0), Pending, 0, 1},
		{"set some from sold", Sold, 0, 0, set(4), Available, 4, 0},
		{"set some from a hold on nothing", Pending, 0, 0, set(4), Available, 4, 0},
		{"set some from sold out with open orders", Pending, 0, 1, set(4), Available, 4, 1},
		{"set more", Available, 3, 0, set(4), Available, 4, 0},
		{"set less", Available, 3, 1, set(1), Available, 1, 1},
		{"set the same", Available, 3, 1, set(3), Available, 3, 1},
		{"set more, held", Pending, 3, 0, set(4), Pending, 4, 0},
		{"set less, held", Pending, 3, 1, set(1), Pending, 1, 1},
		{"set the most", Available, 3, 0, set(MaxQuantity), Available, MaxQuantity, 0},
		{"add to sold", Sold, 0, 0, add(4), Available, 4, 0},
		{"add to the most", Available, 3, 0, add(MaxQuantity - 3), Available, MaxQuantity, 0},
		{"take some away, held", Pending, 3, 1, add(-1), Pending, 2, 1},
		{"take all away", Available, 3, 0, add(-3), Sold, 0, 0},

		{"release a hold on some", Pending, 3, 0, release, Available, 3, 0},
		{"release a hold with open orders", Pending, 3, 1, release, Available, 3, 1},
		{"release a hold on nothing", Pending, 0, 0, release, Sold, 0, 0},
		{"release with all in open orders", Pending, 0, 1, release, Pending, 0, 1},
		{"release what is available", Available, 3, 0, release, Available, 3, 0},
		{"release what is sold", Sold, 0, 0, release, Sold, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			pet, orders := s.seed(test.status, test.quantity, test.open)
			wantCode(t, test.name, test.do(s, pet, orders), "")
			s.wantPet(test.name, pet, test.after, test.left, test.openLeft)
		})
	}
}

// Rule 8.
func TestStatusByHand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status         Status
		quantity, open int64
		set            Status
		want           Code
		left           int64
	}{
		{Available, 3, 0, Pending, "", 3},
		{Available, 3, 1, Pending, "", 3},
		{Pending, 0, 0, Pending, "", 0},
		{Pending, 0, 1, Pending, "", 0},
		{Sold, 0, 0, Pending, "", 0},

		{Available, 3, 0, Available, "", 3},
		{Pending, 3, 0, Available, "", 3},
		{Pending, 3, 1, Available, "", 3},
		{Pending, 0, 0, Available, CodeOutOfStock, 0},
		{Pending, 0, 1, Available, CodeOutOfStock, 0},
		{Sold, 0, 0, Available, CodeOutOfStock, 0},

		{Available, 3, 0, Sold, "", 0},
		{Pending, 3, 0, Sold, "", 0},
		{Pending, 0, 0, Sold, "", 0},
		{Sold, 0, 0, Sold, "", 0},
		{Available, 3, 1, Sold, CodePetHasOpenOrders, 3},
		{Pending, 3, 1, Sold, CodePetHasOpenOrders, 3},
		{Pending, 0, 1, Sold, CodePetHasOpenOrders, 0},
	} {
		name := fmt.Sprintf("%s %d+%d to %s", test.status, test.quantity, test.open, test.set)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			pet, _ := s.seed(test.status, test.quantity, test.open)
			got, err := s.UpdatePet(context.Background(), home, pet, PetPatch{Name: Some("New"), Status: Some(test.set)}, Condition{})
			wantCode(t, "UpdatePet", err, test.want)
			if test.want != "" {
				s.wantPet("UpdatePet", pet, test.status, test.left, test.open)
				if got != (Pet{}) {
					t.Errorf("UpdatePet = %+v with an error, want no pet", got)
				}
				return
			}
			s.wantPet("UpdatePet", pet, test.set, test.left, test.open)
			if got.Status != test.set || got.Name != "New" {
				t.Errorf("UpdatePet = %+v, want status %s and name New", got, test.set)
			}
		})
	}
}

// A stock counted anew while orders are open leaves room for their return; a
// full one is never exceeded.
func TestCancelNeverExceedsTheGreatestStock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ counted, units, want int64 }{
		{MaxQuantity - 5, 5, MaxQuantity},
		{MaxQuantity - 4, 5, MaxQuantity},
		{MaxQuantity, MaxOrder, MaxQuantity},
	} {
		s := newShop(t)
		pet := s.mustStock(test.units)
		order := s.mustOrder(NewOrder{PetID: pet, Quantity: test.units})
		s.mustSet(pet, test.counted)
		if err := s.CancelOrder(context.Background(), home, order, Condition{}); err != nil {
			t.Fatalf("CancelOrder: %v", err)
		}
		s.wantPet("CancelOrder", pet, Available, test.want, 0)
		if err := s.store.broken(home); err != nil {
			t.Error(err)
		}
	}
}

// A decision that fails leaves the loaded rows alone, so that a store may keep them.
func TestFailureLeavesFactsAlone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	spy := &spyStore{Store: s.store}
	service := NewService(spy)
	ctx := context.Background()
	soldOut, orders := s.seed(Pending, 0, 1)
	done := s.mustOrder(NewOrder{PetID: s.mustStock(2), Quantity: 1, Complete: true})
	stale := Condition{IfMatch: &TagSet{}}

	for name, do := range map[string]func() error{
		"UpdatePet": func() error {
			_, err := service.UpdatePet(ctx, home, soldOut, PetPatch{Name: Some("X"), Status: Some(Available)}, Condition{})
			return err
		},
		"CreateOrder": func() error {
			_, err := service.CreateOrder(ctx, home, NewOrder{PetID: soldOut, Quantity: 1}, nil)
			return err
		},
		"DeletePet":      func() error { return service.DeletePet(ctx, home, soldOut, Condition{}) },
		"DeleteCategory": func() error { return service.DeleteCategory(ctx, home, s.category, Condition{}) },
		"CancelOrder":    func() error { return service.CancelOrder(ctx, home, orders[0], stale) },
		"UpdateOrder": func() error {
			_, err := service.UpdateOrder(ctx, home, done, OrderPatch{ShipDate: Null[Time]()}, Condition{})
			return err
		},
		"UpdateInventory": func() error {
			_, err := service.UpdateInventory(ctx, home, soldOut, 3, stale)
			return err
		},
	} {
		if err := do(); err == nil {
			t.Errorf("%s: no error, want one", name)
		}
		if spy.before != spy.after || spy.effects != (Effects{}) {
			t.Errorf("%s: facts %v became %v with effects %+v, want no change", name, spy.before, spy.after, spy.effects)
		}
	}
}

// spyStore shows what the last decision did to its facts.
type spyStore struct {
	Store
	before, after string
	effects       Effects
}

func (s *spyStore) Do(ctx context.Context, c *Change) (*Receipt, error) {
	decide := c.Decide
	c.Decide = func(f Facts) (Effects, error) {
		s.before = text(f)
		e, err := decide(f)
		s.after, s.effects = text(f), e
		return e, err
	}
	return s.Store.Do(ctx, c)
}

func text(f Facts) string {
	return fmt.Sprintf("%+v %+v %+v", f.Pet, f.Category, f.Order)
}

// TestAddStock: units that leave no stock that can be are refused.
func TestAddStock(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	pet, _ := s.seed(Available, 3, 0)
	for _, units := range []int64{0, -4, MaxQuantity - 2, math.MaxInt64, math.MinInt64} {
		_, err := s.AddStock(context.Background(), home, pet, units, nil)
		wantField(t, fmt.Sprint("AddStock of ", units), err, "/units", OutOfRange)
	}
	full := func(context.Context, RowKind) (func(), error) {
		return func() {}, Errorf("full", "There can be no more rows.")
	}
	made, err := s.AddStock(WithRowLimit(context.Background(), full), home, pet, 2, nil) // it makes none
	if want := fmt.Sprintf(`{"petId":%d,"quantity":5,"status":"available"}`, pet); err != nil || made.ID != pet || string(made.Body) != want {
		t.Errorf("AddStock = %d, %s, %v, want %d, %s", made.ID, made.Body, err, pet, want)
	}
}
