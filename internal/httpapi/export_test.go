package httpapi

import (
	"fmt"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/sandbox"
	"example.com/petstore/internal/webhook"
)

type (
	noStore  struct{ petstore.Store }
	noEvents struct{ petstore.Feed }
)

// wholeSurface returns the interface with operations that cannot be carried out.
func wholeSurface() []route {
	return (&API{o: Options{Service: petstore.NewService(noStore{}), Events: noEvents{}, Webhooks: &webhook.Service{}, Sandboxes: new(sandbox.Service)}}).surface()
}

// Surface returns "METHOD /path operationId [scopes]" of every operation.
func Surface() []string {
	var all []string
	for _, r := range wholeSurface() {
		if !r.public {
			all = append(all, fmt.Sprint(r.at, " ", r.id, " ", r.scope.List()))
		}
	}
	return all
}
