package storetest

import (
	"context"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
)

// rowTests are about single rows: what is kept, what is found, and whose it is.
var rowTests = map[string]func(*testing.T, Open){
	"kept":      testKept,
	"missing":   testMissing,
	"isolation": testIsolation,
	"ids":       testIDs,
	"movements": testMovements,
	"withdrawn": testWithdrawn,
	"texts":     testTexts,
}

func testKept(t *testing.T, open Open) {
	s := newTenant(t, open)
	description := "Good boys & girls"
	c, err := s.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: "dogs", Description: &description}, nil)
	must(t, err)
	pet := s.petIn(c.ID, "Rex", petstore.Available)
	ship := petstore.At(start.Add(1500 * time.Millisecond))
	o, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: 1, ShipDate: ship}, nil)
	must(t, err)
	gotCategory, err := s.Stores.Category(s.ctx, s.workspace, c.ID)
	if want := (petstore.Category{ID: c.ID, Name: "dogs", Description: &description}); err != nil || !reflect.DeepEqual(gotCategory, want) {
		t.Errorf("Category = %+v, %v, want %+v", gotCategory, err, want)
	}
	gotPet, err := s.Stores.Pet(s.ctx, s.workspace, pet)
	if want := (petstore.Pet{ID: pet, Name: "Rex", CategoryID: c.ID, Status: petstore.Pending}); err != nil || gotPet != want {
		t.Errorf("Pet = %+v, %v, want %+v", gotPet, err, want)
	}
	gotOrder, err := s.Stores.Order(s.ctx, s.workspace, o.ID)
	if want := (petstore.Order{ID: o.ID, PetID: pet, Quantity: 1, ShipDate: ship}); err != nil || gotOrder != want {
		t.Errorf("Order = %+v, %v, want %+v", gotOrder, err, want)
	}
	s.wantItem(pet, 0, petstore.Pending)
	s.stock(pet, petstore.MaxQuantity)
	s.wantItem(pet, petstore.MaxQuantity, petstore.Available)
	fifty := int64(50)
	made, err := s.CreatePet(s.ctx, s.workspace, petstore.NewPet{Name: "Kaa", Category: &petstore.NewCategory{Name: "snakes"}, Stock: &fifty}, nil)
	must(t, err)
	s.wantItem(made.ID, 50, petstore.Available)
	gotPet, err = s.Stores.Pet(s.ctx, s.workspace, made.ID)
	if want := (petstore.Pet{ID: made.ID, Name: "Kaa", CategoryID: c.ID + 1, Status: petstore.Available}); err != nil || gotPet != want {
		t.Errorf("Pet = %+v, %v, want %+v", gotPet, err, want)
	}
	if sizes, err := s.CategorySizes(s.ctx, s.workspace, []int64{c.ID, c.ID + 1, 999}, 9); err != nil || !maps.Equal(sizes, map[int64]int64{c.ID: 1, c.ID + 1: 1}) {
		t.Errorf("CategorySizes = %v, %v, want one pet in each of two", sizes, err)
	}
}

func testMissing(t *testing.T, open Open) {
	s := newTenant(t, open)
	for _, id := range []int64{math.MinInt64, -1, 0, 1, 7, petstore.MaxID, math.MaxInt64} {
		s.wantNone(id)
	}
	_, err := s.CreatePet(s.ctx, s.workspace, petstore.NewPet{Name: "Rex", CategoryID: 7}, nil)
	wantCode(t, "CreatePet without its category", err, petstore.CodeValidationFailed)
	_, err = s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: 7, Quantity: 1}, nil)
	wantCode(t, "CreateOrder without its pet", err, petstore.CodeValidationFailed)
}

func testIsolation(t *testing.T, open Open) {
	mine := newTenant(t, open)
	other := mine.beside("other")
	var pets, orders [2]int64
	for i, s := range []*tenant{mine, other} {
		pets[i] = s.pet(5)
		orders[i] = s.order(pets[i], int64(i+1))
	}
	if pets[0] != pets[1] || orders[0] != orders[1] {
		t.Fatalf("ids = %v and %v, want the same in both workspaces", pets, orders)
	}
	wantCode(t, "CancelOrder", mine.cancel(orders[0]), "")
	mine.wantItem(pets[0], 5, petstore.Available)
	other.wantItem(pets[1], 3, petstore.Available)
	wantCode(t, "DeletePet", mine.DeletePet(mine.ctx, mine.workspace, pets[0], petstore.Condition{}), "")
	other.wantItem(pets[1], 3, petstore.Available)
	if got, err := other.Stores.Orders(other.ctx, other.workspace, petstore.OrderQuery{Page: petstore.Page{Limit: 10}}); len(got) != 1 || err != nil {
		t.Errorf("Orders of the other = %v, %v, want one", got, err)
	}
	if got, _, err := other.Movements(other.ctx, other.workspace, pets[1], 0, 10); len(got) != 3 || err != nil {
		t.Errorf("Movements of the other = %v, %v, want three", got, err)
	}
	if got, want := len(other.events()), 6; got != want {
		t.Errorf("the other has %d events, want %d", got, want)
	}
	mine.order(mine.pet(3), 1)
	other.wantNone(2)
	for range 2 {
		other.order(other.pet(3), 1)
	}
	mine.wantNone(3)
}

// wantNone fails the test unless the workspace has nothing with the id.
func (s *tenant) wantNone(id int64) {
	s.Helper()
	_, err := s.Stores.Pet(s.ctx, s.workspace, id)
	wantCode(s.T, "Pet", err, petstore.CodePetNotFound)
	_, err = s.Stores.InventoryItem(s.ctx, s.workspace, id)
	wantCode(s.T, "InventoryItem", err, petstore.CodePetNotFound)
	_, err = s.Stores.Category(s.ctx, s.workspace, id)
	wantCode(s.T, "Category", err, petstore.CodeCategoryNotFound)
	_, err = s.Stores.Order(s.ctx, s.workspace, id)
	wantCode(s.T, "Order", err, petstore.CodeOrderNotFound)
	_, _, err = s.Movements(s.ctx, s.workspace, id, 0, 10)
	wantCode(s.T, "Movements", err, petstore.CodePetNotFound)
	wantCode(s.T, "DeletePet", s.DeletePet(s.ctx, s.workspace, id, petstore.Condition{}), petstore.CodePetNotFound)
	wantCode(s.T, "DeleteCategory", s.DeleteCategory(s.ctx, s.workspace, id, petstore.Condition{}), petstore.CodeCategoryNotFound)
	wantCode(s.T, "CancelOrder", s.cancel(id), petstore.CodeOrderNotFound)
}

// testIDs: ascending from 1, and none is issued again.
func testIDs(t *testing.T, open Open) {
	s := newTenant(t, open)
	category := s.category("dogs")
	for want := int64(1); want <= 3; want++ {
		if got := s.petIn(category, "Rex", petstore.Available); got != want {
			t.Errorf("id of pet %d = %d", want, got)
		}
	}
	wantCode(t, "DeletePet", s.DeletePet(s.ctx, s.workspace, 3, petstore.Condition{}), "")
	if got := s.petIn(category, "Rex", petstore.Available); got <= 3 {
		t.Errorf("id after a deletion = %d, want one that was never issued", got)
	}
	order := s.order(1, 1)
	wantCode(t, "CancelOrder", s.cancel(order), "")
	if got := s.order(1, 1); got <= order {
		t.Errorf("id of an order after a cancellation = %d, want more than %d", got, order)
	}
	must(t, s.ResetWorkspace(s.ctx, s.workspace, "cli"))
	again := s.category("dogs")
	if pet := s.petIn(again, "Rex", petstore.Available); again <= category || pet <= 4 || s.order(pet, 1) <= order+1 {
		t.Errorf("ids after a reset = %d, %d, want none of before", again, pet)
	}
}

func testMovements(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.petIn(s.category("dogs"), "Rex", petstore.Available)
	s.stock(pet, 10)
	first, second := s.order(pet, 3), s.order(pet, 2)
	wantCode(t, "cancel", s.CancelOrder(petstore.ByKey(s.ctx, "key_till"), s.workspace, first, petstore.Condition{}), "")
	wantCode(t, "complete", s.complete(second), "")
	if _, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: 1, Complete: true}, nil); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "mark", s.mark(pet, petstore.Sold), "")
	wantCode(t, "DeletePet", s.DeletePet(s.ctx, s.workspace, pet, petstore.Condition{}), "")
	at := petstore.At(start)
	want := []petstore.Movement{
		{PetID: pet, Number: 1, Kind: petstore.MovedCreated, Delta: 1, Quantity: 1, At: at},
		{PetID: pet, Number: 2, Kind: petstore.MovedSet, Delta: 9, Quantity: 10, At: at},
		{PetID: pet, Number: 3, Kind: petstore.MovedPlaced, OrderID: first, Delta: -3, Quantity: 7, At: at},
		{PetID: pet, Number: 4, Kind: petstore.MovedPlaced, OrderID: second, Delta: -2, Quantity: 5, At: at},
		{PetID: pet, Number: 5, Kind: petstore.MovedCancelled, OrderID: first, Delta: 3, Quantity: 8, At: at, By: "key_till"},
		{PetID: pet, Number: 6, Kind: petstore.MovedCompleted, OrderID: second, Quantity: 8, At: at},
		{PetID: pet, Number: 7, Kind: petstore.MovedSale, OrderID: second + 1, Delta: -1, Quantity: 7, At: at},
		{PetID: pet, Number: 8, Kind: petstore.MovedSold, Delta: -7, Quantity: 0, At: at},
		{PetID: pet, Number: 9, Kind: petstore.MovedDeleted, Quantity: 0, At: at},
	}
	slices.Reverse(want)
	for _, limit := range []int{1, 4, 9, 100} {
		var got []petstore.Movement
		for from := int64(0); ; {
			page, next, err := s.Movements(s.ctx, s.workspace, pet, from, limit)
			if err != nil || len(page) == 0 || len(page) > limit {
				t.Fatalf("Movements(%d, %d) = %+v, %v, want one to %d", from, limit, page, err, limit)
			}
			if got, from = append(got, page...), next; next == 0 {
				break
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("Movements by %d = %+v, want %+v", limit, got, want)
		}
	}
	got, err := s.OrderMovements(s.ctx, s.workspace, []int64{first, second + 1, 999})
	if want := []petstore.Movement{want[2], want[4]}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("OrderMovements = %+v, %v, want %+v", got, err, want)
	}
	if got, err := s.OrderMovements(s.ctx, s.beside("other").workspace, []int64{first}); err != nil || len(got) != 0 {
		t.Errorf("OrderMovements of another workspace = %+v, %v, want none", got, err)
	}
}

// testWithdrawn: a context that is over before the change begins.
func testWithdrawn(t *testing.T, open Open) {
	s := newTenant(t, open)
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := s.CreateCategory(ctx, s.workspace, petstore.NewCategory{Name: "dogs"}, nil); err == nil {
		t.Error("CreateCategory with a cancelled context succeeded")
	}
	if got, err := s.Stores.Categories(s.ctx, s.workspace, petstore.CategoryQuery{Page: petstore.Page{Limit: 10}}); len(got) != 0 || err != nil {
		t.Errorf("Categories = %v, %v, want none", got, err)
	}
	if _, err := s.Stores.Categories(ctx, s.workspace, petstore.CategoryQuery{Page: petstore.Page{Limit: 10}}); err == nil {
		t.Error("Categories with a cancelled context succeeded")
	}
}

// testTexts: what is kept is what was given, byte for byte.
func testTexts(t *testing.T, open Open) {
	s := newTenant(t, open)
	for _, name := range []string{"'; DROP TABLE pets; --", `"quoted" \ back`, "ünïcödé 🐶", "İstanbul ẞ", "%_like%", "a"} {
		id := s.category(name)
		got, err := s.Stores.Category(s.ctx, s.workspace, id)
		if err != nil || got.Name != name || got.Description != nil {
			t.Errorf("Category = %+v, %v, want the name %q and no description", got, err, name)
		}
	}
	empty := ""
	c, err := s.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: "x", Description: &empty}, nil)
	must(t, err)
	if got, err := s.Stores.Category(s.ctx, s.workspace, c.ID); err != nil || got.Description == nil || *got.Description != "" {
		t.Errorf("Category = %+v, %v, want an empty description, not none", got, err)
	}
}
