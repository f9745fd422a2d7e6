package petstore

import (
	"context"
	"testing"
	"time"
)

func TestCreateOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	pet := s.mustStock(10)
	ship := At(time.Date(2030, 1, 2, 3, 4, 5, 6e6, time.UTC))
	for _, test := range []struct {
		give NewOrder
		want Order // without its id
	}{
		{NewOrder{PetID: pet, Quantity: 1}, Order{PetID: pet, Quantity: 1}},
		{NewOrder{PetID: pet, Quantity: 2, ShipDate: ship}, Order{PetID: pet, Quantity: 2, ShipDate: ship}},
		{NewOrder{PetID: pet, Quantity: 1, Complete: true}, Order{PetID: pet, Quantity: 1, ShipDate: s.now(), Complete: true}},
		{NewOrder{PetID: pet, Quantity: 1, Complete: true, ShipDate: ship}, Order{PetID: pet, Quantity: 1, ShipDate: ship, Complete: true}},
	} {
		made, err := s.CreateOrder(context.Background(), home, test.give, nil)
		if err != nil {
			t.Fatalf("CreateOrder(%+v): %v", test.give, err)
		}
		test.want.ID = made.ID
		if got := s.order(made.ID); got != test.want || string(made.Body) != string(test.want.AppendJSON(nil)) {
			t.Errorf("CreateOrder(%+v) = %+v, answered as %s, want %+v", test.give, got, made.Body, test.want)
		}
	}
}

func TestUpdateOrder(t *testing.T) {
	t.Parallel()
	early, late := At(time.Unix(1000, 0)), At(time.Unix(2000, 0))
	nullWithValue := Optional[bool]{Present: true, Null: true, Value: true}
	now := newShop(t).now()
	for _, test := range []struct {
		what  string
		patch OrderPatch
		want  Order
	}{
		{"nothing", OrderPatch{}, Order{ShipDate: early}},
		{"absent members with values", OrderPatch{ShipDate: Optional[Time]{Value: late}, Complete: Optional[bool]{Value: true}}, Order{ShipDate: early}},
		{"ship date", OrderPatch{ShipDate: Some(late)}, Order{ShipDate: late}},
		{"null ship date", OrderPatch{ShipDate: Null[Time]()}, Order{}},
		{"null ship date with a value", OrderPatch{ShipDate: Optional[Time]{Present: true, Null: true, Value: late}}, Order{}},
		{"not complete", OrderPatch{Complete: Some(false)}, Order{ShipDate: early}},
		{"null complete", OrderPatch{Complete: Null[bool]()}, Order{ShipDate: early}},
		{"null complete with a value", OrderPatch{Complete: nullWithValue}, Order{ShipDate: early}},
		{"complete", OrderPatch{Complete: Some(true)}, Order{ShipDate: early, Complete: true}},
		{"complete and ship date", OrderPatch{ShipDate: Some(late), Complete: Some(true)}, Order{ShipDate: late, Complete: true}},
		{"complete and null ship date", OrderPatch{ShipDate: Null[Time](), Complete: Some(true)}, Order{ShipDate: now, Complete: true}},
	} {
		s := newShop(t)
		pet := s.mustStock(5)
		id := s.mustOrder(NewOrder{PetID: pet, Quantity: 2, ShipDate: early})
		test.want.ID, test.want.PetID, test.want.Quantity = id, pet, 2
		got, err := s.UpdateOrder(context.Background(), home, id, test.patch, Condition{})
		if err != nil || got != test.want || s.order(id) != test.want {
			t.Errorf("UpdateOrder(%s) = %+v, %v, stored %+v, want %+v", test.what, got, err, s.order(id), test.want)
		}
		open := int64(1)
		if test.want.Complete {
			open = 0
		}
		s.wantPet(test.what, pet, Available, 3, open)
	}
}

// Rule 4: completing is final.
func TestCompletedOrderIsFinal(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	pet := s.mustStock(5)
	id := s.mustOrder(NewOrder{PetID: pet, Quantity: 2, Complete: true})
	before := s.order(id)
	for what, patch := range map[string]OrderPatch{
		"nothing":   {},
		"ship date": {ShipDate: Some(At(time.Unix(5, 0)))},
		"complete":  {Complete: Some(true)},
		"reopen":    {Complete: Some(false)},
		"null":      {Complete: Null[bool]()},
	} {
		got, err := s.UpdateOrder(context.Background(), home, id, patch, Condition{})
		wantCode(t, what, err, CodeOrderCompleted)
		if got != (Order{}) {
			t.Errorf("UpdateOrder(%s) = %+v with an error, want no order", what, got)
		}
	}
	wantCode(t, "CancelOrder", s.CancelOrder(context.Background(), home, id, Condition{}), CodeOrderCompleted)
	if got := s.order(id); got != before {
		t.Errorf("the completed order became %+v, want %+v", got, before)
	}
	s.wantPet("all refusals", pet, Available, 3, 0)
}

func TestOrderOfAnUnknownPet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, err := s.CreateOrder(context.Background(), home, NewOrder{PetID: 404, Quantity: 1}, nil)
	wantField(t, "CreateOrder", err, "/petId", NotFound)
}
