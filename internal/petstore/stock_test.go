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
	const unsaid = -1
	for _, test := range []struct {
		given    Status
		stock    int64
		want     Status
		quantity int64
		code     Code
	}{
		{"", unsaid, Available, 1, ""},
		{Available, unsaid, Available, 1, ""},
		{Pending, unsaid, Pending, 0, ""},
		{Sold, unsaid, Sold, 0, ""},
		{"", 7, Available, 7, ""},
		{"", 0, Sold, 0, ""},
		{Available, 7, Available, 7, ""},
		{Available, 0, "", 0, CodeOutOfStock},
		{Pending, 7, Pending, 7, ""},
		{Pending, 0, Pending, 0, ""},
		{Sold, 0, Sold, 0, ""},
		{Sold, 7, "", 0, CodeValidationFailed},
		{"", -2, "", 0, CodeValidationFailed},
		{"", MaxQuantity + 1, "", 0, CodeValidationFailed},
	} {
		s, n := newShop(t), NewPet{Name: "Kaa", CategoryID: categoryID, Status: test.given}
		if test.stock != unsaid {
			n.Stock = &test.stock
		}
		what := fmt.Sprintf("CreatePet(status %q, stock %d)", test.given, test.stock)
		_, err := s.CreatePet(context.Background(), home, n, nil)
		if wantCode(t, what, err, test.code); test.code == "" {
			s.wantPet(what, test.want, test.quantity, 0)
		}
	}
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
			s := newShop(t).stocked(test.status, test.quantity, test.open)
			_, err := s.CreateOrder(context.Background(), home, NewOrder{PetID: petID, Quantity: test.ask, Complete: test.complete}, nil)
			wantCode(t, "CreateOrder", err, test.want)
			s.wantPet("CreateOrder", test.after, test.left, test.openLeft)
		})
	}
}

func completes(s *shop) error {
	return errOf(s.UpdateOrder(context.Background(), home, orderID, OrderPatch{Complete: Some(true)}, Condition{}))
}

func cancels(units int64) func(*shop) error {
	return func(s *shop) error {
		s.has.Order.Quantity = units
		return s.CancelOrder(context.Background(), home, orderID, Condition{})
	}
}

func releases(s *shop) error {
	return errOf(s.UpdatePet(context.Background(), home, petID, PetPatch{Status: Null[Status]()}, Condition{}))
}

func sets(quantity int64) func(*shop) error {
	return func(s *shop) error {
		return errOf(s.UpdateInventory(context.Background(), home, petID, quantity, Condition{}))
	}
}

func adds(units int64) func(*shop) error {
	return func(s *shop) error { return errOf(s.AddStock(context.Background(), home, petID, units, nil)) }
}

// settled are the changes of a pet, and its status after each.
var settled = []struct {
	name           string
	status         Status
	quantity, open int64
	do             func(*shop) error
	after          Status
	left, openLeft int64
}{
	{"complete the last, none left", Pending, 0, 1, completes, Sold, 0, 0},
	{"complete one of two, none left", Pending, 0, 2, completes, Pending, 0, 1},
	{"complete the last, some left", Available, 3, 1, completes, Available, 3, 0},
	{"complete one of two, some left", Available, 3, 2, completes, Available, 3, 1},
	{"complete the last, held", Pending, 3, 1, completes, Pending, 3, 0},
	{"complete one of two, held", Pending, 3, 2, completes, Pending, 3, 1},

	{"cancel the last, none left", Pending, 0, 1, cancels(1), Available, 1, 0},
	{"cancel one of two, none left", Pending, 0, 2, cancels(1), Available, 1, 1},
	{"cancel the last, some left", Available, 3, 1, cancels(1), Available, 4, 0},
	{"cancel one of two, some left", Available, 3, 2, cancels(1), Available, 4, 1},
	{"cancel, held", Pending, 3, 1, cancels(1), Pending, 4, 0},
	{"cancel up to the most", Available, MaxQuantity - 5, 1, cancels(5), Available, MaxQuantity, 0},
	{"cancel beyond the most", Available, MaxQuantity - 4, 1, cancels(5), Available, MaxQuantity, 0},
	{"cancel with the most", Available, MaxQuantity, 1, cancels(MaxOrder), Available, MaxQuantity, 0},

	{"set 0 from some", Available, 3, 0, sets(0), Sold, 0, 0},
	{"set 0 from some with open orders", Available, 3, 1, sets(0), Pending, 0, 1},
	{"set 0 from held", Pending, 3, 0, sets(0), Sold, 0, 0},
	{"set 0 from held with open orders", Pending, 3, 1, sets(0), Pending, 0, 1},
	{"set 0 from sold", Sold, 0, 0, sets(0), Sold, 0, 0},
	{"set 0 from a hold on nothing", Pending, 0, 0, sets(0), Sold, 0, 0},
	{"set 0 from sold out with open orders", Pending, 0, 1, sets(0), Pending, 0, 1},
	{"set some from sold", Sold, 0, 0, sets(4), Available, 4, 0},
	{"set some from a hold on nothing", Pending, 0, 0, sets(4), Available, 4, 0},
	{"set some from sold out with open orders", Pending, 0, 1, sets(4), Available, 4, 1},
	{"set more", Available, 3, 0, sets(4), Available, 4, 0},
	{"set less", Available, 3, 1, sets(1), Available, 1, 1},
	{"set the same", Available, 3, 1, sets(3), Available, 3, 1},
	{"set more, held", Pending, 3, 0, sets(4), Pending, 4, 0},
	{"set less, held", Pending, 3, 1, sets(1), Pending, 1, 1},
	{"set the most", Available, 3, 0, sets(MaxQuantity), Available, MaxQuantity, 0},
	{"add to sold", Sold, 0, 0, adds(4), Available, 4, 0},
	{"add to the most", Available, 3, 0, adds(MaxQuantity - 3), Available, MaxQuantity, 0},
	{"take some away, held", Pending, 3, 1, adds(-1), Pending, 2, 1},
	{"take all away", Available, 3, 0, adds(-3), Sold, 0, 0},

	{"release a hold on some", Pending, 3, 0, releases, Available, 3, 0},
	{"release a hold with open orders", Pending, 3, 1, releases, Available, 3, 1},
	{"release a hold on nothing", Pending, 0, 0, releases, Sold, 0, 0},
	{"release with all in open orders", Pending, 0, 1, releases, Pending, 0, 1},
	{"release what is available", Available, 3, 0, releases, Available, 3, 0},
	{"release what is sold", Sold, 0, 0, releases, Sold, 0, 0},
}

// Rules 4 to 7 and 8's null: every way in which a status settles.
func TestStatusSettles(t *testing.T) {
	t.Parallel()
	for _, test := range settled {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t).stocked(test.status, test.quantity, test.open)
			wantCode(t, test.name, test.do(s), "")
			s.wantPet(test.name, test.after, test.left, test.openLeft)
		})
	}
}

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
		what := fmt.Sprintf("%s %d+%d to %s", test.status, test.quantity, test.open, test.set)
		s := newShop(t).stocked(test.status, test.quantity, test.open)
		got, err := s.UpdatePet(context.Background(), home, petID, PetPatch{Name: Some("New"), Status: Some(test.set)}, Condition{})
		wantCode(t, what, err, test.want)
		if test.want != "" {
			test.set = test.status
		} else if got.Status != test.set || got.Name != "New" {
			t.Errorf("%s: UpdatePet = %+v, want the name New", what, got)
		}
		s.wantPet(what, test.set, test.left, test.open)
	}
}

// TestMovements: the ledger names what moved the stock, and the order.
func TestMovements(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, test := range []struct {
		do    func(s *shop) error
		kind  MovementKind
		order int64
		delta int64
	}{
		{func(s *shop) error {
			return errOf(s.CreatePet(ctx, home, NewPet{Name: "Kaa", CategoryID: categoryID}, nil))
		}, MovedCreated, 0, 1},
		{func(s *shop) error { return errOf(s.CreateOrder(ctx, home, NewOrder{PetID: petID, Quantity: 2}, nil)) }, MovedPlaced, newID, -2},
		{func(s *shop) error {
			return errOf(s.CreateOrder(ctx, home, NewOrder{PetID: petID, Quantity: 2, Complete: true}, nil))
		}, MovedSale, newID, -2},
		{func(s *shop) error {
			return errOf(s.UpdateOrder(ctx, home, orderID, OrderPatch{Complete: Some(true)}, Condition{}))
		}, MovedCompleted, orderID, 0},
		{func(s *shop) error { return s.CancelOrder(ctx, home, orderID, Condition{}) }, MovedCancelled, orderID, 1},
		{func(s *shop) error { return errOf(s.UpdateInventory(ctx, home, petID, 9, Condition{})) }, MovedSet, 0, 4},
		{func(s *shop) error {
			s.stocked(Available, 5, 0)
			_, err := s.UpdatePet(ctx, home, petID, PetPatch{Status: Some(Sold)}, Condition{})
			return err
		}, MovedSold, 0, -5},
		{func(s *shop) error {
			s.stocked(Available, 5, 0)
			return s.DeletePet(ctx, home, petID, Condition{})
		}, MovedDeleted, 0, -5},
	} {
		s := newShop(t).stocked(Available, 5, 1)
		err := test.do(s)
		if m := s.wrote.Movement; err != nil || m == nil || m.Kind != test.kind || m.OrderID != test.order || m.Delta != test.delta {
			t.Errorf("%s: %v, %+v, want %d units and the order %d", test.kind, err, m, test.delta, test.order)
		}
	}
}

// TestAddStock: units that leave no stock that can be are refused.
func TestAddStock(t *testing.T) {
	t.Parallel()
	s := newShop(t).stocked(Available, 3, 0)
	for _, units := range []int64{0, -4, MaxQuantity - 2, math.MaxInt64, math.MinInt64} {
		_, err := s.AddStock(context.Background(), home, petID, units, nil)
		wantField(t, fmt.Sprint("AddStock of ", units), err, "/units", OutOfRange)
	}
}
