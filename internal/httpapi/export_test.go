package httpapi

import (
	"errors"
	"net/http"
	"net/url"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/sandbox"
	"example.com/petstore/internal/webhook"
)

// ReadBody reads a body in one of the ways there are, for fuzzing.
func ReadBody(which uint8, body []byte) error {
	readers := []func() error{
		func() error { _, err := readNewPet(&form{body: body}); return err },
		func() error { _, err := readPetPatch(&form{body: body, id: 1}); return err },
		func() error { _, err := readNewCategory(&form{body: body}); return err },
		func() error { _, err := readCategoryPatch(&form{body: body, id: 1}); return err },
		func() error { _, err := readNewOrder(&form{body: body}); return err },
		func() error { _, err := readOrderPatch(&form{body: body, id: 1}); return err },
		func() error { _, err := readInventoryUpdate(&form{body: body, id: 1}); return err },
		func() error { _, err := readNewWebhook(&form{body: body}); return err },
		func() error { _, err := readWebhookPatch(&form{body: body, id: 1}); return err },
	}
	return readers[int(which)%len(readers)]()
}

// ReadQuery reads a query as every list does, for fuzzing.
func ReadQuery(raw string) error {
	known := []string{"limit", "cursor", "sort", "id", "status", "categoryId", "name", "complete", "shipDateFrom", "maxQuantity"}
	x := &exchange{
		env:   &env{cursors: cursors{secret: make([]byte, 32)}},
		r:     &http.Request{URL: &url.URL{RawQuery: raw}},
		path:  &path{pattern: "/pets"},
		route: &route{query: known},
		entry: &access.Entry[*ratelimit.Caller]{Workspace: &access.Workspace{}},
	}
	l, err := newListing(x)
	if err != nil {
		return err
	}
	q := l.query
	q.ids("id")
	several(q, "status", petstore.Statuses())
	q.id("categoryId")
	q.part("name")
	q.boolean("complete")
	q.time("shipDateFrom")
	_, err = l.page()
	return err
}

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
