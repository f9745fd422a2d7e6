// Huma is a peer: a server made with huma on chi, as its tutorial makes one.
//
// Usage: huma HOST PORT
package main

import (
	"context"
	"log"
	"net"
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

type newPet struct {
	Name       string `json:"name" minLength:"1" maxLength:"100"`
	CategoryID int64  `json:"categoryId" minimum:"1"`
	Status     string `json:"status,omitempty" enum:"available,pending,sold"`
}

type petOutput struct{ Body pet }
type petsOutput struct{ Body []pet }

type server struct{ store *pets.Store }

func (s *server) listPets(_ context.Context, in *struct {
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"20"`
}) (*petsOutput, error) {
	out := &petsOutput{Body: []pet{}}
	for _, p := range s.store.First(in.Limit) {
		out.Body = append(out.Body, toAPI(p))
	}
	return out, nil
}

func (s *server) createPet(_ context.Context, in *struct{ Body newPet }) (*petOutput, error) {
	p := s.store.Add(pets.Pet{Name: in.Body.Name, CategoryID: in.Body.CategoryID, Status: in.Body.Status})
	return &petOutput{toAPI(p)}, nil
}

func (s *server) getPet(_ context.Context, in *struct {
	ID int64 `path:"petId" minimum:"1"`
}) (*petOutput, error) {
	p, ok := s.store.Find(in.ID)
	if !ok {
		return nil, huma.Error404NotFound("There is no such pet.")
	}
	return &petOutput{toAPI(p)}, nil
}

func toAPI(p pets.Pet) pet { return pet{p.ID, p.Name, p.CategoryID, p.Status} }

func main() {
	s := &server{pets.New()}
	router := chi.NewMux()
	api := humachi.New(router, huma.DefaultConfig("Pets", "1.0.0"))
	huma.Get(api, "/pets", s.listPets)
	huma.Get(api, "/pets/{petId}", s.getPet)
	huma.Register(api, huma.Operation{
		OperationID: "createPet", Method: http.MethodPost, Path: "/pets", DefaultStatus: http.StatusCreated,
	}, s.createPet)
	log.Fatal(http.ListenAndServe(net.JoinHostPort(os.Args[1], os.Args[2]), router))
}
