// Ogen is a peer: the server that ogen generates.
//
// Usage: ogen ADDR
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"example.com/petstore/bench/peers/ogen/api"
	"example.com/petstore/bench/peers/pets"
)

//go:generate go tool ogen --target api --package api --clean ../openapi.yaml

type server struct{}

func toAPI(p pets.Pet) *api.Pet {
	return &api.Pet{ID: p.ID, Name: p.Name, CategoryId: p.CategoryID, Status: api.PetStatus(p.Status)}
}

func (server) ListPets(_ context.Context, r api.ListPetsParams) ([]api.Pet, error) {
	out := []api.Pet{}
	for _, p := range pets.First(int(r.Limit.Or(20))) {
		out = append(out, *toAPI(p))
	}
	return out, nil
}

func (server) GetPet(_ context.Context, r api.GetPetParams) (*api.Pet, error) {
	p, ok := pets.Find(r.PetId)
	if !ok {
		return nil, &api.ProblemStatusCode{
			StatusCode: http.StatusNotFound,
			Response:   api.Problem{Code: "pet_not_found", Message: "There is no such pet."},
		}
	}
	return toAPI(p), nil
}

func (server) NewError(_ context.Context, err error) *api.ProblemStatusCode {
	return &api.ProblemStatusCode{
		StatusCode: http.StatusInternalServerError,
		Response:   api.Problem{Code: "internal_error", Message: err.Error()},
	}
}

func main() {
	handler, err := api.NewServer(server{})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(os.Args[1], handler))
}
