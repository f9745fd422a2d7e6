// Command shop is a shop's life by what oapi-codegen makes of the description.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"example.com/petstore/test/clients/goclient/petstore"
)

// A shop is the client, with what all steps need.
type shop struct {
	ctx context.Context
	api *petstore.ClientWithResponses
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: shop URL KEY")
	}
	api, err := petstore.NewClientWithResponses(os.Args[1], petstore.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Args[2])
		return nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	s := shop{context.Background(), api}
	category := s.fill()
	pet := s.pets(category)
	s.orders(pet)
	s.leave(category, pet)
	fmt.Println("a shop's life is over")
}

// want ends the program unless an answer has its status.
func want(what string, got, status int, body []byte, err error) {
	if err != nil || got != status {
		log.Fatalf("%s = %d %s (%v), want %d", what, got, body, err, status)
	}
}

func (s shop) fill() int64 {
	account, err := s.api.GetAccountWithResponse(s.ctx)
	want("getAccount", account.StatusCode(), 200, account.Body, err)
	made, err := s.api.CreateCategoryWithResponse(s.ctx, nil, petstore.NewCategory{Name: "Birds", Description: new("Early")})
	want("createCategory", made.StatusCode(), 201, made.Body, err)
	id := made.JSON201.Id
	replaced, err := s.api.ReplaceCategoryWithResponse(s.ctx, id, nil, petstore.CategoryReplacement{Name: "Parrots"})
	want("replaceCategory", replaced.StatusCode(), 200, replaced.Body, err)
	got, err := s.api.GetCategoryWithResponse(s.ctx, id, nil)
	want("getCategory", got.StatusCode(), 200, got.Body, err)
	if got.JSON200.Name != "Parrots" || got.JSON200.Description != nil {
		log.Fatalf("getCategory = %s, want Parrots without a description", got.Body)
	}
	listed, err := s.api.ListCategoriesWithResponse(s.ctx, &petstore.ListCategoriesParams{Name: new("parr")})
	want("listCategories", listed.StatusCode(), 200, listed.Body, err)
	return id
}

func (s shop) pets(category int64) int64 {
	made, err := s.api.CreatePetWithResponse(s.ctx, &petstore.CreatePetParams{IdempotencyKey: new(fmt.Sprint(time.Now().UnixNano()))},
		petstore.NewPet{Name: "Polly", CategoryId: category})
	want("createPet", made.StatusCode(), 201, made.Body, err)
	id := made.JSON201.Id
	listed, err := s.api.ListPetsWithResponse(s.ctx, &petstore.ListPetsParams{Id: &[]int64{id}, Status: &[]petstore.PetStatus{petstore.PetStatusAvailable, petstore.PetStatusSold}})
	want("listPets", listed.StatusCode(), 200, listed.Body, err)
	if pets := *listed.JSON200; len(pets) != 1 || pets[0].Id != id {
		log.Fatalf("listPets = %s, want the one pet", listed.Body)
	}
	stale, err := s.api.UpdatePetWithResponse(s.ctx, id, &petstore.UpdatePetParams{IfMatch: new(`"stale"`)}, petstore.PetPatch{Name: new("Max")})
	want("updatePet with a stale version", stale.StatusCode(), 412, stale.Body, err)
	if stale.JSON412.Code != "precondition_failed" {
		log.Fatalf("updatePet = %s, want precondition_failed", stale.Body)
	}
	read, err := s.api.GetPetWithResponse(s.ctx, id, nil)
	want("getPet", read.StatusCode(), 200, read.Body, err)
	patched, err := s.api.UpdatePetWithApplicationMergePatchPlusJSONBodyWithResponse(s.ctx, id, nil, petstore.PetPatch{Name: new("Max")})
	want("updatePet", patched.StatusCode(), 200, patched.Body, err)
	if patched.JSON200.Name != "Max" {
		log.Fatalf("updatePet = %s, want Max", patched.Body)
	}
	return id
}

func (s shop) orders(pet int64) {
	stock, err := s.api.UpdateInventoryWithResponse(s.ctx, pet, nil, petstore.InventoryUpdate{Quantity: 2})
	want("updateInventory", stock.StatusCode(), 200, stock.Body, err)
	ship := time.Date(2027, time.March, 1, 9, 30, 0, 0, time.UTC)
	placed, err := s.api.CreateOrderWithResponse(s.ctx, nil, petstore.NewOrder{PetId: pet, Quantity: new(2), ShipDate: &ship})
	want("createOrder", placed.StatusCode(), 201, placed.Body, err)
	id := *placed.JSON201.Id
	refused, err := s.api.CreateOrderWithResponse(s.ctx, nil, petstore.NewOrder{PetId: pet})
	want("createOrder without stock", refused.StatusCode(), 409, refused.Body, err)
	completed, err := s.api.UpdateOrderWithResponse(s.ctx, id, nil, petstore.OrderPatch{Complete: new(true)})
	want("updateOrder", completed.StatusCode(), 200, completed.Body, err)
	if !*completed.JSON200.Complete || !completed.JSON200.ShipDate.Equal(ship) {
		log.Fatalf("updateOrder = %s, want it completed on its date", completed.Body)
	}
	final, err := s.api.CancelOrderWithResponse(s.ctx, id, nil)
	want("cancelOrder of a completed one", final.StatusCode(), 409, final.Body, err)
	listed, err := s.api.ListOrdersWithResponse(s.ctx, &petstore.ListOrdersParams{PetId: &pet, Complete: new(true), ShipDateFrom: &ship, ShipDateTo: &ship})
	want("listOrders", listed.StatusCode(), 200, listed.Body, err)
	if len(*listed.JSON200) != 1 {
		log.Fatalf("listOrders = %s, want one", listed.Body)
	}
}

func (s shop) leave(category, pet int64) {
	item, err := s.api.GetInventoryItemWithResponse(s.ctx, pet, nil)
	want("getInventoryItem", item.StatusCode(), 200, item.Body, err)
	if item.JSON200.Quantity != 0 || item.JSON200.Status != petstore.PetStatusSold {
		log.Fatalf("getInventoryItem = %s, want it sold", item.Body)
	}
	events, err := s.api.ListEventsWithResponse(s.ctx, nil)
	want("listEvents", events.StatusCode(), 200, events.Body, err)
	gone, err := s.api.DeletePetWithResponse(s.ctx, pet, nil)
	want("deletePet", gone.StatusCode(), 204, gone.Body, err)
	missing, err := s.api.GetPetWithResponse(s.ctx, pet, nil)
	want("getPet of a deleted one", missing.StatusCode(), 404, missing.Body, err)
	removed, err := s.api.DeleteCategoryWithResponse(s.ctx, category, nil)
	want("deleteCategory", removed.StatusCode(), 204, removed.Body, err)
}
