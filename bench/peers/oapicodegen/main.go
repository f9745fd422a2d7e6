// Oapicodegen is a peer: the strict server that oapi-codegen generates for
// net/http.
//
// Usage: oapicodegen HOST PORT
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"

	"example.com/petstore/bench/peers/oapicodegen/api"
	"example.com/petstore/bench/peers/pets"
)

//go:generate go tool oapi-codegen -config config.yaml ../openapi.yaml

type server struct{ store *pets.Store }

func toAPI(p pets.Pet) api.Pet {
	return api.Pet{Id: p.ID, Name: p.Name, CategoryId: p.CategoryID, Status: api.PetStatus(p.Status)}
}

func (s *server) ListPets(_ context.Context, r api.ListPetsRequestObject) (api.ListPetsResponseObject, error) {
	limit := int32(20)
	if r.Params.Limit != nil {
		limit = *r.Params.Limit
	}
	out := api.ListPets200JSONResponse{}
	for _, p := range s.store.First(int(limit)) {
		out = append(out, toAPI(p))
	}
	return out, nil
}

func (s *server) CreatePet(_ context.Context, r api.CreatePetRequestObject) (api.CreatePetResponseObject, error) {
	p := pets.Pet{Name: r.Body.Name, CategoryID: r.Body.CategoryId}
	if r.Body.Status != nil {
		p.Status = string(*r.Body.Status)
	}
	return api.CreatePet201JSONResponse(toAPI(s.store.Add(p))), nil
}

func (s *server) GetPet(_ context.Context, r api.GetPetRequestObject) (api.GetPetResponseObject, error) {
	p, ok := s.store.Find(r.PetId)
	if !ok {
		problem := api.ProblemJSONResponse{Code: "pet_not_found", Message: "There is no such pet."}
		return api.GetPetdefaultJSONResponse{Body: api.Problem(problem), StatusCode: http.StatusNotFound}, nil
	}
	return api.GetPet200JSONResponse(toAPI(p)), nil
}

func main() {
	handler := api.Handler(api.NewStrictHandler(&server{pets.New()}, nil))
	log.Fatal(http.ListenAndServe(net.JoinHostPort(os.Args[1], os.Args[2]), handler))
}
