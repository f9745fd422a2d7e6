package storetest

import (
	"math"
	"reflect"
	"slices"
	"time"

	"example.com/petstore/internal/petstore"
)

// rowTests are about single rows: what is kept, what is found, and whose it is.
var rowTests = map[string]func(*tenant){
	"kept": testKept, "missing": testMissing, "isolation": testIsolation, "ids": testIDs, "movements": testMovements, "texts": testTexts,
}

func testKept(s *tenant) {
	description := "Good boys & girls"
	c, err := s.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: "dogs", Description: &description}, nil)
	must(s, err)
	pet := s.petIn(c.ID, "Rex", petstore.Available)
	ship := petstore.At(start.Add(1500 * time.Millisecond))
	o, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: 1, ShipDate: ship}, nil)
	must(s, err)
	same(s, "Category", petstore.Category{ID: c.ID, Name: "dogs", Description: &description})(s.Stores.Category(s.ctx, s.workspace, c.ID))
	kept := petstore.StockedPet{Pet: petstore.Pet{ID: pet, Name: "Rex", CategoryID: c.ID, Status: petstore.Pending}, OpenOrders: 1, Movements: 2}
	same(s, "Pet", kept)(s.Stores.Pet(s.ctx, s.workspace, pet))
	same(s, "Order", petstore.Order{ID: o.ID, PetID: pet, Quantity: 1, ShipDate: ship})(s.Stores.Order(s.ctx, s.workspace, o.ID))
	s.stock(pet, petstore.MaxQuantity)
	s.wantItem(pet, petstore.MaxQuantity, petstore.Available)
	made, err := s.CreatePet(s.ctx, s.workspace, petstore.NewPet{Name: "Kaa", Category: &petstore.NewCategory{Name: "snakes"}, Stock: new(int64(50))}, nil)
	must(s, err)
	kept = petstore.StockedPet{Pet: petstore.Pet{ID: made.ID, Name: "Kaa", CategoryID: c.ID + 1, Status: petstore.Available}, Quantity: 50, Movements: 1}
	same(s, "Pet", kept)(s.Stores.Pet(s.ctx, s.workspace, made.ID))
	same(s, "CategorySizes", map[int64]int64{c.ID: 1, c.ID + 1: 1})(s.CategorySizes(s.ctx, s.workspace, []int64{c.ID, c.ID + 1, 999}, 9))
}

func testMissing(s *tenant) {
	for _, id := range []int64{math.MinInt64, -1, 0, 1, 7, petstore.MaxID, math.MaxInt64} {
		s.wantNone(id)
	}
}

func testIsolation(s *tenant) {
	other := s.beside("other")
	var pets, orders [2]int64
	for i, one := range []*tenant{s, other} {
		pets[i] = one.pet(5)
		orders[i] = one.order(pets[i], int64(i+1))
	}
	if pets[0] != pets[1] || orders[0] != orders[1] {
		s.Fatalf("ids = %v and %v, want the same in both workspaces", pets, orders)
	}
	must(s, s.cancel(orders[0]))
	s.wantItem(pets[0], 5, petstore.Available)
	other.wantItem(pets[1], 3, petstore.Available)
	must(s, s.deletePet(pets[0]))
	other.wantItem(pets[1], 3, petstore.Available)
	same(s, "Orders of the other", []petstore.Order{{ID: orders[1], PetID: pets[1], Quantity: 2}})(
		other.Stores.Orders(s.ctx, other.workspace, petstore.OrderQuery{Page: petstore.Page{Limit: 10}}))
	if got, _, err := other.Movements(s.ctx, other.workspace, pets[1], 0, 10); len(got) != 3 || err != nil {
		s.Errorf("Movements of the other = %v, %v, want three", got, err)
	}
	if got, want := len(other.events()), 6; got != want {
		s.Errorf("the other has %d events, want %d", got, want)
	}
	s.order(s.pet(3), 1)
	other.wantNone(2)
	for range 2 {
		other.order(other.pet(3), 1)
	}
	s.wantNone(3)
}

// wantNone fails the test unless the workspace has nothing with the id.
func (s *tenant) wantNone(id int64) {
	s.Helper()
	_, _, err := s.Movements(s.ctx, s.workspace, id, 0, 10)
	s.wantCode("Movements", err, petstore.CodePetNotFound)
	s.wantCode("Pet", errOf(s.Stores.Pet(s.ctx, s.workspace, id)), petstore.CodePetNotFound)
	s.wantCode("Category", errOf(s.Stores.Category(s.ctx, s.workspace, id)), petstore.CodeCategoryNotFound)
	s.wantCode("Order", errOf(s.Stores.Order(s.ctx, s.workspace, id)), petstore.CodeOrderNotFound)
	s.wantCode("DeletePet", s.deletePet(id), petstore.CodePetNotFound)
	s.wantCode("DeleteCategory", s.DeleteCategory(s.ctx, s.workspace, id, petstore.Condition{}), petstore.CodeCategoryNotFound)
	s.wantCode("CancelOrder", s.cancel(id), petstore.CodeOrderNotFound)
}

// testIDs: ascending from 1, and none is issued again.
func testIDs(s *tenant) {
	category := s.category("dogs")
	for want := int64(1); want <= 3; want++ {
		if got := s.petIn(category, "Rex", petstore.Available); got != want {
			s.Errorf("id of pet %d = %d", want, got)
		}
	}
	must(s, s.deletePet(3))
	if got := s.petIn(category, "Rex", petstore.Available); got <= 3 {
		s.Errorf("id after a deletion = %d, want one that was never issued", got)
	}
	order := s.order(1, 1)
	must(s, s.cancel(order))
	if got := s.order(1, 1); got <= order {
		s.Errorf("id of an order after a cancellation = %d, want more than %d", got, order)
	}
	must(s, s.ResetWorkspace(s.ctx, s.workspace, "cli"))
	again := s.category("dogs")
	if pet := s.petIn(again, "Rex", petstore.Available); again <= category || pet <= 4 || s.order(pet, 1) <= order+1 {
		s.Errorf("ids after a reset = %d, %d, want none of before", again, pet)
	}
}

func testMovements(s *tenant) {
	pet := s.petIn(s.category("dogs"), "Rex", petstore.Available)
	s.stock(pet, 10)
	first, second := s.order(pet, 3), s.order(pet, 2)
	must(s, s.CancelOrder(petstore.ByKey(s.ctx, "key_till"), s.workspace, first, petstore.Condition{}))
	must(s, s.complete(second))
	s.must(s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: 1, Complete: true}, nil))
	must(s, s.mark(pet, petstore.Sold))
	must(s, s.deletePet(pet))
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
				s.Fatalf("Movements(%d, %d) = %+v, %v, want one to %d", from, limit, page, err, limit)
			}
			if got, from = append(got, page...), next; next == 0 {
				break
			}
		}
		if !reflect.DeepEqual(got, want) {
			s.Errorf("Movements by %d = %+v, want %+v", limit, got, want)
		}
	}
	same(s, "OrderMovements", []petstore.Movement{want[2], want[4]})(s.OrderMovements(s.ctx, s.workspace, []int64{first, second + 1, 999}))
	same(s, "OrderMovements of another workspace", []petstore.Movement{})(s.OrderMovements(s.ctx, s.beside("other").workspace, []int64{first}))
}

// testTexts: what is kept is what was given, byte for byte, and an empty description is not none.
func testTexts(s *tenant) {
	for _, name := range []string{"'; DROP TABLE pets; --", `"quoted" \ back`, "ünïcödé 🐶", "İstanbul ẞ", "%_like%", "a"} {
		for _, description := range []*string{nil, new("")} {
			c, err := s.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: name, Description: description}, nil)
			must(s, err)
			same(s, "Category", petstore.Category{ID: c.ID, Name: name, Description: description})(s.Stores.Category(s.ctx, s.workspace, c.ID))
		}
	}
}
