package console_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/api"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/portal/console"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/usage"
)

// operationsOf has the operation of the API that gives or does what a page of the console does.
var operationsOf = map[string]string{
	"GET /console": "getAccount", "GET /console/{$}": "getAccount", "GET /console/live": "getAccount",
	"GET /console/requests": "getAccount", "GET /console/requests/live": "getAccount", "GET /console/requests.csv": "getAccount", "GET /console/requests/{id}": "getAccount",
	"GET /console/signout/everywhere": "getAccount", "POST /console/signout/everywhere": "getAccount",

	"GET /console/keys": "listKeys", "GET /console/keys.csv": "listKeys", "GET /console/keys/new": "listKeys", "POST /console/keys/new": "createKey",
	"GET /console/keys/{id}": "getKey", "POST /console/keys/{id}": "updateKey", "GET /console/keys/{id}/rotate": "getKey", "POST /console/keys/{id}/rotate": "rotateKey",
	"GET /console/keys/{id}/revoke": "getKey", "POST /console/keys/{id}/revoke": "revokeKey",

	"GET /console/pets": "listPets", "GET /console/pets.csv": "listPets", "GET /console/pets/find": "listPets", "GET /console/pets/low": "listInventory", "POST /console/pets/low": "updateInventory",
	"GET /console/pets/new": "listCategories", "POST /console/pets/new": "createPet", "GET /console/pets/import": "listPets", "POST /console/pets/import": "createPet",
	"GET /console/pets/{id}": "getPet", "POST /console/pets/{id}": "updatePet", "GET /console/pets/{id}/delete": "getPet", "POST /console/pets/{id}/delete": "deletePet",

	"GET /console/categories": "listCategories", "GET /console/categories.csv": "listCategories", "GET /console/categories/find": "listCategories",
	"GET /console/categories/new": "listCategories", "POST /console/categories/new": "createCategory", "GET /console/categories/{id}": "getCategory", "POST /console/categories/{id}": "replaceCategory",
	"GET /console/categories/{id}/delete": "getCategory", "POST /console/categories/{id}/delete": "deleteCategory",

	"GET /console/stock": "listInventory", "GET /console/stock/{id}": "getInventoryItem", "POST /console/stock/{id}": "updateInventory",
	"GET /console/stock/{id}/add": "getInventoryItem", "POST /console/stock/{id}/add": "updateInventory",

	"GET /console/orders": "listOrders", "GET /console/orders.csv": "listOrders", "GET /console/orders/new": "listPets", "POST /console/orders/new": "createOrder",
	"GET /console/orders/{id}": "getOrder", "POST /console/orders/{id}": "updateOrder", "GET /console/orders/{id}/complete": "getOrder", "POST /console/orders/{id}/complete": "updateOrder",
	"GET /console/orders/{id}/cancel": "getOrder", "POST /console/orders/{id}/cancel": "cancelOrder",

	"GET /console/events": "listEvents", "GET /console/events/live": "listEvents", "GET /console/events/{id}": "getEvent",

	"GET /console/webhooks": "listWebhooks", "GET /console/webhooks/{id}": "getWebhook", "GET /console/webhooks/new": "listWebhooks", "POST /console/webhooks/new": "createWebhook",
	"GET /console/webhooks/{id}/edit": "getWebhook", "POST /console/webhooks/{id}/edit": "updateWebhook", "GET /console/webhooks/{id}/pause": "getWebhook", "POST /console/webhooks/{id}/pause": "updateWebhook",
	"GET /console/webhooks/{id}/resume": "getWebhook", "POST /console/webhooks/{id}/resume": "updateWebhook", "GET /console/webhooks/{id}/rotate": "getWebhook", "POST /console/webhooks/{id}/rotate": "rotateWebhook",
	"GET /console/webhooks/{id}/replay": "getWebhook", "POST /console/webhooks/{id}/replay": "replayWebhook", "GET /console/webhooks/{id}/delete": "getWebhook", "POST /console/webhooks/{id}/delete": "deleteWebhook",
	"GET /console/webhooks/live": "listWebhooks", "GET /console/webhooks/{id}/live": "getWebhook", "GET /console/webhooks/{id}/delivery": "listDeliveries", "GET /console/webhooks/{id}/delivery/live": "listDeliveries",
	"POST /console/webhooks/{id}/delivery": "retryDelivery", "GET /console/webhooks/{id}/test": "getWebhook", "POST /console/webhooks/{id}/test": "testWebhook",
}

// scopesOfAPI returns the scopes that the description names, by operation.
func scopesOfAPI(t *testing.T) map[string]access.Scopes {
	t.Helper()
	var d struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(api.JSON(), &d); err != nil {
		t.Fatal(err)
	}
	scopes := map[string]access.Scopes{}
	for _, item := range d.Paths {
		for _, text := range item {
			var o struct {
				OperationID string
				Scopes      []string `json:"x-scopes"`
			}
			if json.Unmarshal(text, &o) != nil || len(o.Scopes) == 0 {
				continue // it is no operation, or public
			}
			all, err := access.ParseScopes(strings.Join(o.Scopes, ","))
			if err != nil {
				t.Fatal(err)
			}
			scopes[o.OperationID] = all
		}
	}
	return scopes
}

// TestScopesOfAPI: every page and download gives each key what the API gives it, and takes what the API takes; and none
// tells of keys and webhooks to a key that the API tells nothing of them.
func TestScopesOfAPI(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	other, _ := h.key(w, access.Read, time.Time{})
	hook, _ := h.signedIn(w, access.Read|access.Manage).addHook("https://hook.example/secret")
	h.usage.Record(w.ID, usage.Event{At: h.now(), Method: "GET", Path: "/pets/1", Operation: "getPet", Status: 404, Deprecated: true, KeyID: other.ID, RequestID: "one"})
	ids := map[string]string{"pets": "1", "categories": "1", "stock": "1", "events": "1", "keys": other.ID, "webhooks": strings.TrimPrefix(hook, "/console/webhooks/"), "requests": "one"}
	scopes, pages := scopesOfAPI(t), console.Routes()
	for _, of := range []access.Scopes{access.Read, access.Read | access.Write, access.Read | access.Manage, access.Read | access.Write | access.Manage} {
		g := h.signedIn(w, of)
		for i := range pages {
			r := &pages[i]
			if r.Needs == 0 {
				continue
			}
			name := r.Method + " " + r.Path
			needs, known := scopes[operationsOf[name]]
			if !known {
				t.Errorf("%s has no operation of the API to compare with", name)
				continue
			}
			path := strings.ReplaceAll(r.Path, "{$}", "")
			id := "999"
			for kind, known := range ids {
				if r.Method == http.MethodGet && strings.HasPrefix(path, "/console/"+kind) {
					id = known
				}
			}
			one := g
			if strings.HasPrefix(path, "/console/signout") { // which ends the session
				one = h.signedIn(w, of)
			}
			status, body := one.look(r, strings.ReplaceAll(path, "{id}", id))
			if refused := status == http.StatusForbidden; refused == of.Has(needs) {
				t.Errorf("%s with a key that has %s answers %d; the API needs %s", name, of, status, needs)
			}
			if !of.Has(access.Manage) && regexp.MustCompile(`/console/keys|hook\.example|`+other.ID).MatchString(body) {
				t.Errorf("%s tells a key that has %s of other keys, or of webhooks:\n%s", name, of, body)
			}
			takes, form := scopes[operationsOf["POST "+r.Path]]
			if offers := strings.Contains(body, `<p class="acts"><button class="button`); form && status == http.StatusOK && r.Method == http.MethodGet && offers != of.Has(takes) {
				t.Errorf("%s offers a key that has %s to send the form: %t", name, of, offers)
			}
		}
	}
}

// look asks for a page, or sends its form without a value, and returns what is answered; of a stream the status alone.
func (g *guest) look(r *page.Route, path string) (status int, body string) {
	g.t.Helper()
	switch {
	case r.Method == http.MethodPost: // of what is not there: nothing is to change
		a := g.post(path, "name", "")
		return a.status, a.body
	case strings.HasSuffix(path, "/live"):
		req, err := http.NewRequestWithContext(g.t.Context(), r.Method, g.url+path, nil)
		if err != nil {
			g.t.Fatal(err)
		}
		resp, err := g.client.Do(req)
		if err != nil {
			g.t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, ""
	}
	a := g.get(path)
	return a.status, a.body
}
