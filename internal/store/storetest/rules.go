package storetest

import (
	"testing"

	"example.com/petstore/internal/petstore"
)

// ruleTests carry out the rules of stock and states on the engine. That the
// rules are right is the domain's own test; here they meet rows.
var ruleTests = map[string]func(*testing.T, Open){
	"new pet":        testNewPet,
	"placing":        testPlacing,
	"completing":     testCompleting,
	"cancelling":     testCancelling,
	"counting":       testCounting,
	"by hand":        testByHand,
	"deleting":       testDeleting,
	"category":       testCategory,
	"precondition":   testPrecondition,
	"failing change": testFailingChange,
}

func testNewPet(t *testing.T, open Open) {
	s := newTenant(t, open)
	category := s.category("dogs")
	for _, test := range []struct {
		status, want petstore.Status
		stock        int64
	}{
		{"", petstore.Available, 1},
		{petstore.Available, petstore.Available, 1},
		{petstore.Pending, petstore.Pending, 0},
		{petstore.Sold, petstore.Sold, 0},
	} {
		s.wantItem(s.petIn(category, "Rex", test.status), test.stock, test.want)
	}
}

func testPlacing(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(3)
	place := func(quantity int64) error {
		_, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: quantity}, nil)
		return err
	}
	wantCode(t, "more than there is", place(4), petstore.CodeInsufficientStock)
	s.wantItem(pet, 3, petstore.Available)
	wantCode(t, "all but one", place(2), "")
	s.wantItem(pet, 1, petstore.Available)
	wantCode(t, "the last one", place(1), "")
	s.wantItem(pet, 0, petstore.Pending)
	wantCode(t, "one more", place(1), petstore.CodePetNotAvailable)
}

func testCompleting(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(2)
	first, second := s.order(pet, 1), s.order(pet, 1)
	wantCode(t, "complete", s.complete(first), "")
	s.wantItem(pet, 0, petstore.Pending)
	wantCode(t, "complete", s.complete(second), "")
	s.wantItem(pet, 0, petstore.Sold)
	got, err := s.Stores.Order(s.ctx, s.workspace, first)
	if want := (petstore.Order{ID: first, PetID: pet, Quantity: 1, ShipDate: petstore.At(start), Complete: true}); got != want || err != nil {
		t.Errorf("Order = %+v, %v, want %+v", got, err, want)
	}
	wantCode(t, "complete again", s.complete(first), petstore.CodeOrderCompleted)
	wantCode(t, "cancel", s.cancel(first), petstore.CodeOrderCompleted)
}

func testCancelling(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(2)
	order := s.order(pet, 2)
	s.wantItem(pet, 0, petstore.Pending)
	wantCode(t, "cancel", s.cancel(order), "")
	s.wantItem(pet, 2, petstore.Available)
	wantCode(t, "cancel again", s.cancel(order), petstore.CodeOrderNotFound)
	_, err := s.Stores.Order(s.ctx, s.workspace, order)
	wantCode(t, "Order", err, petstore.CodeOrderNotFound)
}

func testCounting(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(2)
	order := s.order(pet, 1)
	s.stock(pet, 0)
	s.wantItem(pet, 0, petstore.Pending)
	wantCode(t, "complete", s.complete(order), "")
	s.wantItem(pet, 0, petstore.Sold)
	s.stock(pet, petstore.MaxQuantity)
	s.wantItem(pet, petstore.MaxQuantity, petstore.Available)
	_, err := s.UpdateInventory(s.ctx, s.workspace, pet, -1, petstore.Condition{})
	wantCode(t, "less than nothing", err, petstore.CodeValidationFailed)
}

func testByHand(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(2)
	order := s.order(pet, 1)
	wantCode(t, "sold with an open order", s.mark(pet, petstore.Sold), petstore.CodePetHasOpenOrders)
	wantCode(t, "pending", s.mark(pet, petstore.Pending), "")
	wantCode(t, "cancel", s.cancel(order), "")
	s.wantItem(pet, 2, petstore.Pending) // the hold stays
	wantCode(t, "sold", s.mark(pet, petstore.Sold), "")
	s.wantItem(pet, 0, petstore.Sold)
	wantCode(t, "available without stock", s.mark(pet, petstore.Available), petstore.CodeOutOfStock)
}

func testDeleting(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(2)
	done, open2 := s.order(pet, 1), s.order(pet, 1)
	drop := func() error { return s.DeletePet(s.ctx, s.workspace, pet, petstore.Condition{}) }
	wantCode(t, "complete", s.complete(done), "")
	wantCode(t, "with an open order", drop(), petstore.CodePetHasOpenOrders)
	wantCode(t, "cancel", s.cancel(open2), "")
	wantCode(t, "without", drop(), "")
	_, err := s.Stores.InventoryItem(s.ctx, s.workspace, pet)
	wantCode(t, "InventoryItem", err, petstore.CodePetNotFound)
	if got, err := s.Stores.Order(s.ctx, s.workspace, done); got.PetID != pet || err != nil {
		t.Errorf("Order = %+v, %v, want it to keep pet %d", got, err, pet)
	}
	wantCode(t, "cancel after deletion", s.cancel(done), petstore.CodeOrderCompleted)
}

func testCategory(t *testing.T, open Open) {
	s := newTenant(t, open)
	dogs, cats := s.category("dogs"), s.category("cats")
	pet := s.petIn(dogs, "Rex", petstore.Available)
	drop := func(id int64) error { return s.DeleteCategory(s.ctx, s.workspace, id, petstore.Condition{}) }
	wantCode(t, "in use", drop(dogs), petstore.CodeCategoryInUse)
	_, err := s.UpdatePet(s.ctx, s.workspace, pet, petstore.PetPatch{CategoryID: petstore.Some(cats), Name: petstore.Some("Tom")}, petstore.Condition{})
	wantCode(t, "UpdatePet", err, "")
	wantCode(t, "no longer in use", drop(dogs), "")
	wantCode(t, "now in use", drop(cats), petstore.CodeCategoryInUse)
	want := petstore.Pet{ID: pet, Name: "Tom", CategoryID: cats, Status: petstore.Available}
	if got, err := s.Stores.Pet(s.ctx, s.workspace, pet); got != want || err != nil {
		t.Errorf("Pet = %+v, %v, want %+v", got, err, want)
	}
	got, err := s.UpdateCategory(s.ctx, s.workspace, cats, petstore.CategoryPatch{Name: petstore.Some("big cats")}, petstore.Condition{})
	if err != nil || got.Name != "big cats" {
		t.Errorf("UpdateCategory = %+v, %v", got, err)
	}
	if kept, err := s.Stores.Category(s.ctx, s.workspace, cats); kept != got || err != nil {
		t.Errorf("Category = %+v, %v, want %+v", kept, err, got)
	}
}

func testPrecondition(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(2)
	now, err := s.Stores.InventoryItem(s.ctx, s.workspace, pet)
	if err != nil {
		t.Fatal(err)
	}
	set := func(quantity int64) error {
		match := petstore.Condition{IfMatch: &petstore.TagSet{Tags: []petstore.Tag{petstore.TagOf(now.AppendJSON(nil))}}}
		_, err := s.UpdateInventory(s.ctx, s.workspace, pet, quantity, match)
		return err
	}
	wantCode(t, "current version", set(7), "")
	wantCode(t, "stale version", set(9), petstore.CodePreconditionFailed)
	s.wantItem(pet, 7, petstore.Available)
}

// testFailingChange: an error of Decide undoes nothing but its change, and an
// engine refuses what no rule would ask of it.
func testFailingChange(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(2)
	_, err := s.Do(s.ctx, &petstore.Change{
		Workspace: s.workspace,
		Needs:     petstore.Needs{PetID: pet},
		Decide: func(f petstore.Facts) (petstore.Effects, error) {
			f.Pet.Quantity = -1
			return petstore.Effects{SavePet: f.Pet, SaveOrder: &petstore.Order{PetID: pet, Quantity: 3}}, nil
		},
	})
	if err == nil {
		t.Error("Do with a negative quantity succeeded")
	}
	s.wantItem(pet, 2, petstore.Available)
	if got, err := s.Stores.Orders(s.ctx, s.workspace, petstore.OrderQuery{Page: petstore.Page{Limit: 10}}); len(got) != 0 || err != nil {
		t.Errorf("Orders = %v, %v, want none", got, err)
	}
}
