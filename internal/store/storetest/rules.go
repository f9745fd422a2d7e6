package storetest

import (
	"testing"

	"example.com/petstore/internal/petstore"
)

// ruleTests are of the rules that depend on other rows. That the rules are right is the
// domain's own test; here they meet rows.
var ruleTests = map[string]func(*testing.T, Open){
	"deleting":       testDeleting,
	"category":       testCategory,
	"precondition":   testPrecondition,
	"failing change": testFailingChange,
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
	must(t, err)
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
