package console

import (
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

// A Subject is something that both the reference and the console have a page about.
type Subject struct {
	Tag    string // of the reference, whose page is /docs and this
	Page   string // of the console
	Create string // the operation that makes one, as does /new below the page; "" if there is none
}

// Subjects returns what both have pages about.
func Subjects() []Subject {
	return []Subject{
		{"animals", "/console/pets", "createPet"}, {"categories", "/console/categories", "createCategory"},
		{"orders", "/console/orders", "createOrder"}, {"inventory", "/console/pets", ""}, {"keys", "/console/keys", "createKey"},
		{"events", "/console/events", ""}, {"webhooks", "/console/webhooks", "createWebhook"}, {"deliveries", "/console/webhooks", ""},
		{"account", overviewPage, ""},
	}
}

// overviewPage is where the console begins.
const overviewPage = "/console"

// docsOf returns the page of the reference about what a page of the console does.
func docsOf(path string) string {
	if page.Within("/console/requests", path) {
		return "/docs/guides/errors"
	}
	for _, s := range Subjects() {
		switch {
		case s.Page == overviewPage || !page.Within(s.Page, path):
		case s.Create != "" && path == s.Page+"/new":
			return "/docs/" + s.Tag + "#" + s.Create
		default:
			return "/docs/" + s.Tag
		}
	}
	return "/docs"
}

// examples answers the reference, which asks for ids of the reader's own workspace.
// Nobody is told anything who is not signed in.
func examples(v *visit) error {
	found := map[string]any{}
	if v.who != nil {
		if err := addExamples(v, found); err != nil {
			return err
		}
	}
	return v.RenderJSON(found)
}

// addExamples adds the first of each kind, by the names of the parameters: a pet that
// is available and an order that is open, if there are any.
func addExamples(v *visit, found map[string]any) error {
	ctx, w, one := v.R.Context(), v.who.Workspace, petstore.Page{Limit: 1}
	found["workspace"] = access.Printable(w.Name)
	pets, err := v.Service.Pets(ctx, w.Shop, petstore.PetQuery{Page: one, Statuses: []petstore.Status{petstore.Available}})
	if err == nil && len(pets) == 0 {
		pets, err = v.Service.Pets(ctx, w.Shop, petstore.PetQuery{Page: one})
	}
	if err != nil {
		return err
	}
	for _, p := range pets {
		found["petId"] = p.ID
	}
	categories, err := v.Service.Categories(ctx, w.Shop, petstore.CategoryQuery{Page: one})
	if err != nil {
		return err
	}
	for _, c := range categories {
		found["categoryId"] = c.ID
	}
	orders, err := v.Service.Orders(ctx, w.Shop, petstore.OrderQuery{Page: one, Complete: new(bool)})
	if err == nil && len(orders) == 0 {
		orders, err = v.Service.Orders(ctx, w.Shop, petstore.OrderQuery{Page: one})
	}
	for _, o := range orders {
		found["orderId"] = o.ID
	}
	found["keyId"] = v.who.Key.ID
	return err
}
