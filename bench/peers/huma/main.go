// Huma is a peer: a server made with huma on chi, as its tutorial makes one.
//
// Usage: huma ADDR
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"

	"example.com/petstore/bench/peers/pets"
)

type pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status" enum:"available,pending,sold"`
}

type petOutput struct{ Body pet }
type petsOutput struct{ Body []pet }

func listPets(_ context.Context, in *struct {
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"20"`
}) (*petsOutput, error) {
	out := &petsOutput{Body: []pet{}}
	for _, p := range pets.First(in.Limit) {
		out.Body = append(out.Body, toAPI(p))
	}
	return out, nil
}

func getPet(_ context.Context, in *struct {
	ID int64 `path:"petId" minimum:"1"`
}) (*petOutput, error) {
	p, ok := pets.Find(in.ID)
	if !ok {
		return nil, huma.Error404NotFound("There is no such pet.")
	}
	return &petOutput{toAPI(p)}, nil
}

func toAPI(p pets.Pet) pet { return pet{p.ID, p.Name, p.CategoryID, p.Status} }

func main() {
	router := chi.NewMux()
	api := humachi.New(router, huma.DefaultConfig("Pets", "1.0.0"))
	huma.Get(api, "/pets", listPets)
	huma.Get(api, "/pets/{petId}", getPet)
	log.Fatal(http.ListenAndServe(os.Args[1], router))
}
