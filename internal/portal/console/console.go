// Package console is the workspace's console: the pages on which the owner of a store looks at its requests and limits,
// changes its catalogue and orders, and manages its keys. Who has a key of the workspace can sign in, and may do there
// what the key may do.
//
// The pages work without JavaScript; a small script brings live figures. The package holds no rules of the shop.
package console

import (
	"cmp"
	"embed"
	"errors"
	"net/http"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/sandbox"
	"example.com/petstore/internal/webhook"
)

// Options are what a Console is made of. All but Events, Webhooks, Sandboxes, Imports and PagesPerMinute are needed.
type Options struct {
	Page     page.Options
	Service  *petstore.Service
	Bulk     petstore.Bulk // of the same store
	Events   petstore.Feed // nil, and Webhooks too, if no events are kept
	Webhooks *webhook.Service

	Sandboxes *sandbox.Service // nil if there are none

	Imports        int // files that are read into the store at once, each with some 6 MiB of memory; 0 is 4
	PagesPerMinute int // that the sessions of a workspace may read from one address; 0 is DefaultPages
}

// DefaultPages is how many pages and downloads the sessions of a workspace may read from one address in a minute.
const DefaultPages = 60

// How many files are imported at once, and how long one waits for its turn.
const (
	defaultImports    = 4
	importWait        = 30 * time.Second
	maxWaitingImports = 64
)

// A Console serves /console and everything below it. It may be used concurrently.
type Console struct {
	Options
	site      *page.Site
	allowance allowance
	imports   *fairshare.Pool
}

//go:embed templates
var templateFiles embed.FS

// New returns the console of o.
func New(o Options) (*Console, error) {
	if o.Service == nil || o.Bulk == nil {
		return nil, errors.New("console: an option is missing")
	}
	o.Imports, o.PagesPerMinute = cmp.Or(o.Imports, defaultImports), cmp.Or(o.PagesPerMinute, DefaultPages)
	site, err := page.New(o.Page, page.Kind{
		Cookie: "petstore_session", Link: page.WorkspaceLink, Templates: templateFiles, Routes: routesOf(o.Events != nil && o.Webhooks != nil),
	})
	return &Console{
		Options: o, site: site, allowance: allowance{most: int64(o.PagesPerMinute)},
		imports: fairshare.New(fairshare.Options{Capacity: int64(o.Imports), Each: 1, Queue: maxWaitingImports, Wait: importWait}),
	}, err
}

// Serve answers one request, which g counts and bounds.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request, g Gate) {
	c.site.Serve(w, r, func(v *page.Visit) page.Guest { return &visit{Visit: v, Console: c, gate: g} })
}

// SignInPath returns the path of a page on which one can sign in with the key of that id, on every node that has the
// secret: once, within ten minutes.
func (c *Console) SignInPath(keyID string) string {
	return c.site.LinkPath(c.site.Link, c.site.Now().Add(page.LinkLife), keyID)
}

// Routes returns the whole workspace's console.
func Routes() []page.Route { return routesOf(true) }

// routesOf returns the routes, with what there is if events are kept.
func routesOf(events bool) []page.Route {
	var t page.Table[*visit]
	t.Open("GET", "/console/signin", showSignIn)
	t.Open("POST", "/console/signin", signIn)
	t.Open("POST", "/console/signout", func(v *visit) error { return v.SignOut(false) })
	t.Form(access.Read, "/console/signout/everywhere", signOutEverywhere).Free = true
	t.Open("GET", "/console/link", func(v *visit) error { return v.ShowLink(v.linkEnded) })
	t.Open("POST", "/console/link", useLink)

	t.Add(page.Route{Method: "GET", Path: "/console/examples.json"}, examples)

	t.Look("/console", showOverview)
	t.Look("/console/{$}", func(v *visit) error { return v.Redirect("/console") })
	t.List("/console/requests", listRequests)
	t.Download("/console/requests.csv", requestsCSV)
	t.Look("/console/requests/{id}", showRequest)

	t.List("/console/keys", listKeys)
	t.Download("/console/keys.csv", keysCSV)
	t.Form(access.Manage, "/console/keys/new", newKey)
	t.Form(access.Manage, "/console/keys/{id}", showKey)
	t.Form(access.Manage, "/console/keys/{id}/rotate", rotateKey)
	t.Form(access.Manage, "/console/keys/{id}/revoke", revokeKey)
	addShop(&t)
	if events {
		addEvents(&t)
	}
	for i := range t { // all that tells of keys, and of webhooks, whose addresses may be secrets
		if r := &t[i]; page.Within("/console/keys", r.Path) || r.Path == "/console/keys.csv" || page.Within("/console/webhooks", r.Path) {
			r.Needs, r.Takes = access.Manage, access.Manage
		}
	}
	return t
}

func addShop(t *page.Table[*visit]) {
	t.List("/console/pets", listPets)
	t.Download("/console/pets.csv", petsCSV)
	t.Look(petPicker.path, petPicker.tell)
	t.Form(access.Write, "/console/pets/new", newPet)
	upload := t.Form(access.Write, "/console/pets/import", importPets)
	upload.Lasts, upload.MaxBody = true, maxUpload+page.MaxForm
	t.Form(access.Write, "/console/pets/low", setLowStock)
	t.Form(access.Write, "/console/pets/{id}", showPet(0))
	t.Form(access.Write, "/console/pets/{id}/add", showPet(1))
	t.Form(access.Write, "/console/pets/{id}/stock", showPet(2))
	t.Form(access.Write, "/console/pets/{id}/delete", deletePet)
	t.Look("/console/stock", func(v *visit) error { return v.Redirect("/console/pets") }) // its former address, which bookmarks have
	t.Look("/console/stock/{id}", func(v *visit) error {
		p, err := inPath(v, v.Service.Pet)
		if err != nil {
			return err
		}
		return v.Redirect(petPath(p.ID))
	})

	t.List("/console/categories", listCategories)
	t.Download("/console/categories.csv", categoriesCSV)
	t.Look(categoryPicker.path, categoryPicker.tell)
	t.Form(access.Write, "/console/categories/new", newCategory)
	t.Form(access.Write, "/console/categories/{id}", showCategory)
	t.Form(access.Write, "/console/categories/{id}/delete", deleteCategory)

	t.Look("/console/orders", findOrder)
	t.Download("/console/orders.csv", ordersCSV)
	t.Form(access.Write, "/console/orders/new", newOrder)
	t.Form(access.Write, "/console/orders/{id}", showOrder)
	t.Form(access.Write, "/console/orders/{id}/complete", askAboutOrder(0))
	t.Form(access.Write, "/console/orders/{id}/cancel", askAboutOrder(1))
}

func addEvents(t *page.Table[*visit]) {
	t.List("/console/events", listEvents)
	t.Look("/console/events/{id}", showEvent)

	const one = "/console/webhooks/{id}"
	t.List("/console/webhooks", listWebhooks)
	t.Look(one, showWebhook)
	t.Form(access.Manage, "/console/webhooks/new", newWebhook)
	t.Form(access.Manage, one+"/edit", editWebhook)
	t.Form(access.Manage, one+"/rotate", rotateWebhook)
	t.Form(access.Manage, one+"/replay", replayWebhook)
	t.Form(access.Manage, one+"/delete", deleteWebhook)
	t.Form(access.Manage, one+"/delivery", showDelivery)
	t.Form(access.Manage, one+"/test", testWebhook).Lasts = true // it waits for the receiver
}
