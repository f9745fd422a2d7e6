// Command ogenshop is a short life of a shop by what ogen makes of the description: it creates, lists and orders, and is
// refused, for its stock and for its limit.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"

	"github.com/ogen-go/ogen/ogenerrors"

	"example.com/petstore/test/clients/goclient/ogen"
)

// A key is the only credential that is sent.
type key string

func (k key) BearerAuth(context.Context, ogen.OperationName) (ogen.BearerAuth, error) {
	return ogen.BearerAuth{Token: string(k)}, nil
}

func (key) ApiKeyHeader(context.Context, ogen.OperationName) (ogen.ApiKeyHeader, error) {
	return ogen.ApiKeyHeader{}, ogenerrors.ErrSkipClientSecurity
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: ogenshop URL KEY [later]")
	}
	api, err := ogen.NewClient(os.Args[1], key(os.Args[2]))
	if err != nil {
		log.Fatal(err)
	}
	code, event := "pet_not_available", ogen.EventType("pet.created")
	if len(os.Args) > 3 { // what a later server may answer with: see the test
		code, event = "pet_asleep", "pet.photographed"
	}
	live(context.Background(), api, code, event)
	fmt.Println("a shop's life is over")
}

// as returns what a call was answered with, which must be a T.
func as[T any](answer any, err error) T {
	t, ok := answer.(T)
	if err != nil || !ok {
		log.Fatalf("the answer is %T %+v (%v), want a %T", answer, answer, err, t)
	}
	return t
}

func live(ctx context.Context, api *ogen.Client, code string, event ogen.EventType) {
	category := as[*ogen.CategoryHeaders](api.CreateCategory(ctx, &ogen.NewCategory{Name: "Cats"}, ogen.CreateCategoryParams{}))
	tom := as[*ogen.PetHeaders](api.CreatePet(ctx, &ogen.NewPet{Name: "Tom", CategoryId: category.Response.ID}, ogen.CreatePetParams{})).Response
	one := ogen.ListPetsParams{ID: []int64{tom.ID, tom.ID + 1}, Status: []ogen.PetStatus{ogen.PetStatusAvailable, ogen.PetStatusPending}}
	if pets := as[*ogen.PetsHeaders](api.ListPets(ctx, one)).Response; len(pets) != 1 || pets[0] != tom {
		log.Fatalf("listPets = %+v, want the one pet", pets)
	}
	order := func() (ogen.CreateOrderRes, error) {
		return api.CreateOrder(ctx, &ogen.NewOrder{PetId: tom.ID}, ogen.CreateOrderParams{})
	}
	if placed := as[*ogen.OrderHeaders](order()).Response; placed.PetId.Value != tom.ID {
		log.Fatalf("createOrder = %+v, want one of the pet", placed)
	}
	if sold := as[*ogen.OrderConflictHeaders](order()).Response; sold.Code != code {
		log.Fatalf("createOrder = %+v, want %s", sold, code)
	}
	events := as[*ogen.EventsHeaders](api.ListEvents(ctx, ogen.ListEventsParams{})).Response
	created := slices.IndexFunc(events, func(e ogen.Event) bool { return e.Type == event })
	if created < 0 || string(events[created].Data["name"]) != `"Tom"` {
		log.Fatalf("listEvents = %+v, want one of %s, with the pet", events, event)
	}
	const most = 30
	for range most {
		answer, err := api.ListPets(ctx, one)
		if _, ok := answer.(*ogen.PetsHeaders); ok {
			continue
		}
		if over := as[*ogen.TooManyRequestsHeaders](answer, err); over.Response.Code != "rate_limit_exceeded" || over.RetryAfter < 1 {
			log.Fatalf("listPets = %+v, want rate_limit_exceeded", over)
		}
		return
	}
	log.Fatalf("%d requests were not refused", most)
}
