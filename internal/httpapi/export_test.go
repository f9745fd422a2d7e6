package httpapi

import (
	"errors"
	"net/http"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/sandbox"
	"example.com/petstore/internal/webhook"
)

// StatusOf returns the status and the code that err is answered with.
func StatusOf(err error) (int, petstore.Code) {
	if e, ok := errors.AsType[*petstore.Error](err); ok {
		return statuses[e.Code], e.Code
	}
	return http.StatusInternalServerError, errInternal.Code
}

// Codes returns every code with its status.
func Codes() map[petstore.Code]int { return statuses }

type (
	noStore  struct{ petstore.Store }
	noEvents struct{ petstore.Feed }
)

// wholeSurface returns the interface with operations that cannot be carried out.
func wholeSurface() []path {
	return new(API).surface(&Options{Service: petstore.NewService(noStore{}), Events: noEvents{}, Webhooks: &webhook.Service{}, Sandboxes: new(sandbox.Service)})
}

// Surface returns "METHOD /path operationId" of every operation.
func Surface() []string {
	var all []string
	for _, p := range wholeSurface() {
		for _, r := range p.routes {
			if !r.public {
				all = append(all, r.method+" "+p.pattern+" "+r.id)
			}
		}
	}
	return all
}
