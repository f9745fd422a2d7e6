// Oapicodegen is a peer: the strict server that oapi-codegen generates for
// net/http.
//
// Usage: oapicodegen ADDR
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"example.com/petstore/bench/peers/oapicodegen/api"
	"example.com/petstore/bench/peers/pets"
)

//go:generate go tool oapi-codegen -config config.yaml ../openapi.yaml

type server struct{}

func toAPI(p pets.Pet) api.Pet {
	return api.Pet{Id: p.ID, Name: p.Name, CategoryId: p.CategoryID, Status: api.PetStatus(p.Status)}
}

func (server) ListPets(_ context.Context, r api.ListPetsRequestObject) (api.ListPetsResponseObject, error) {
	limit := int32(20)
	if r.Params.Limit != nil {
		limit = *r.Params.Limit
	}
	out := api.ListPets200JSONResponse{}
	for _, p := range pets.First(int(limit)) {
		out = append(out, toAPI(p))
	}
	return out, nil
}

func (server) GetPet(_ context.Context, r api.GetPetRequestObject) (api.GetPetResponseObject, error) {
	p, ok := pets.Find(r.PetId)
	if !ok {
		problem := api.ProblemJSONResponse{Code: "pet_not_found", Message: "There is no such pet."}
		return api.GetPetdefaultJSONResponse{Body: api.Problem(problem), StatusCode: http.StatusNotFound}, nil
	}
	return api.GetPet200JSONResponse(toAPI(p)), nil
}

func main() {
	handler := api.Handler(api.NewStrictHandler(server{}, nil))
	log.Fatal(http.ListenAndServe(os.Args[1], handler))
}
