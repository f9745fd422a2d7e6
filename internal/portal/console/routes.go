package console

import (
	"net/http"
	"strings"

	"example.com/petstore/internal/access"
)

// A Route is a page of a console, or what takes its form.
type Route struct {
	Method string
	Path   string        // as http.ServeMux knows it
	Needs  access.Scopes // of the key that is signed in; 0 for everybody. An operator may do everything
	takes  access.Scopes // what its form needs, of a page that is one
	handle func(*visit) error
	cost   cost
	alone  bool  // it finds room for itself: it lasts
	most   int64 // bytes of what is sent; 0 is maxForm
}

// ServeHTTP makes a route something that a ServeMux can find; Serve has it answer.
func (r Route) ServeHTTP(http.ResponseWriter, *http.Request) {}

// answer has the route answer. why says why nobody is signed in, if that is so.
func (r Route) answer(v *visit, why notice) error {
	if r.Needs != 0 && v.session == nil {
		return v.askToSignIn(why)
	}
	write := r.Needs != 0 && r.Method == http.MethodPost
	if r.Needs == access.Manage && !v.mayWrite() && !write {
		v.refuse(http.StatusForbidden, "This key may not see that", "Sign in with a key that has the scope manage.")
		return nil
	}
	if write && !v.mayWrite() {
		v.refuse(http.StatusForbidden, "This key cannot do that", "Sign in with a key that has the scope "+r.Needs.String()+" to change that.")
		return nil
	}
	if r.alone {
		return r.handle(v)
	}
	return v.gated(write, func() error { return r.handle(v) })
}

func muxOf(routes []Route) *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.Handle(r.Method+" "+r.Path, r)
	}
	return mux
}

// A table is the routes of a console.
type table []Route

// open adds a page for everybody.
func (t *table) open(method, path string, h func(*visit) error) {
	*t = append(*t, Route{Method: method, Path: path, handle: h, cost: costNone})
}

// look adds a page for those who may read.
func (t *table) look(path string, h func(*visit) error) {
	*t = append(*t, Route{Method: http.MethodGet, Path: path, Needs: access.Read, handle: h, cost: costPage})
}

// stream adds what a page is told while it is open.
func (t *table) stream(path string, h func(*visit) error) {
	*t = append(*t, Route{Method: http.MethodGet, Path: path, Needs: access.Read, handle: h, cost: costPage, alone: true})
}

// download adds a file of rows.
func (t *table) download(path string, h func(*visit) error) {
	*t = append(*t, Route{Method: http.MethodGet, Path: path, Needs: access.Read, handle: h, cost: costPlan, alone: true})
}

// change adds a form, which readers may see, and what takes it from those who may write.
func (t *table) change(path string, m maker) {
	t.form(access.Write, path, m)
}

// upload is change for a form that sends a file.
func (t *table) upload(path string, m maker) {
	t.change(path, m)
	last := &(*t)[len(*t)-1]
	last.alone, last.most = true, maxUpload+maxForm
}

// manage is change for those who may manage keys.
func (t *table) manage(path string, m maker) {
	t.form(access.Manage, path, m)
}

// survey adds a page for those who may manage.
func (t *table) survey(path string, h func(*visit) error) {
	*t = append(*t, Route{Method: http.MethodGet, Path: path, Needs: access.Manage, takes: access.Manage, handle: h, cost: costPage})
}

func (t *table) form(needs access.Scopes, path string, m maker) {
	*t = append(*t, Route{Method: http.MethodGet, Path: path, Needs: access.Read, takes: needs, handle: m.ask, cost: costPage},
		Route{Method: http.MethodPost, Path: path, Needs: needs, takes: needs, handle: m.take, cost: costPlan})
}

// Routes returns the whole workspace's console.
func Routes() []Route {
	t := withoutEvents()
	t.feed()
	return t
}

// feed adds what there is if events are kept.
func (t *table) feed() {
	t.follow("/console/events", listEvents)
	t.look("/console/events/{id}", showEvent)

	const one = "/console/webhooks/{id}"
	t.survey("/console/webhooks", showWebhooks)
	t.survey(one, showWebhook)
	t.manage("/console/webhooks/new", newWebhook)
	t.manage(one+"/edit", editWebhook)
	t.manage(one+"/pause", pauseWebhook)
	t.manage(one+"/resume", resumeWebhook)
	t.manage(one+"/rotate", rotateWebhook)
	t.manage(one+"/replay", replayWebhook)
	t.manage(one+"/delete", deleteWebhook)
	t.manage(one+"/retry", retryDelivery)
	t.manage(one+"/test", testWebhook)
	(*t)[len(*t)-1].alone = true // it waits for the receiver
	for i := range *t {          // an address may be a secret
		if r := &(*t)[i]; strings.HasPrefix(r.Path, one) {
			r.Needs = access.Manage
		}
	}
}

func withoutEvents() table {
	var t table
	t.open("GET", "/console/signin", showSignIn)
	t.open("POST", "/console/signin", signIn)
	t.open("POST", "/console/signout", signOut)
	t.open("POST", "/console/signout/everywhere", signOutEverywhere)
	t.open("GET", "/console/link", showLink)
	t.open("POST", "/console/link", useLink)

	t = append(t, Route{Method: "GET", Path: "/console/examples.json", handle: examples, cost: costPage})

	t.look("/console", showOverview)
	t.look("/console/{$}", func(v *visit) error { return v.redirect("/console") })
	t.stream("/console/live", liveOverview)
	t.look("/console/requests", showRequests)
	t.stream("/console/requests/live", liveRequests)
	t.download("/console/requests.csv", requestsCSV)
	t.look("/console/requests/{id}", showRequest)

	t.look("/console/keys", showKeys)
	t[len(t)-1].takes = access.Manage // as its buttons do
	t.download("/console/keys.csv", keysCSV)
	t.manage("/console/keys/new", newKey)
	t.manage("/console/keys/{id}", showKey)
	t.manage("/console/keys/{id}/rotate", rotateKey)
	t.manage("/console/keys/{id}/revoke", revokeKey)
	t.shop()
	return t
}

// shop adds the catalogue, the stock and the orders.
func (t *table) shop() {
	t.look("/console/pets", showPets)
	t.download("/console/pets.csv", petsCSV)
	t.look("/console/pets/find", findPets)
	t.change("/console/pets/new", newPet)
	t.upload("/console/pets/import", importPets)
	t.change("/console/pets/{id}", showPet)
	t.change("/console/pets/{id}/delete", deletePet)

	t.look("/console/categories", showCategories)
	t.download("/console/categories.csv", categoriesCSV)
	t.change("/console/categories/new", newCategory)
	t.change("/console/categories/{id}", showCategory)
	t.change("/console/categories/{id}/delete", deleteCategory)

	t.look("/console/stock", showStock)
	t.download("/console/stock.csv", stockCSV)
	t.change("/console/stock/{id}", setStock)
	t.change("/console/stock/{id}/add", addStock)

	t.look("/console/orders", showOrders)
	t.download("/console/orders.csv", ordersCSV)
	t.change("/console/orders/new", newOrder)
	t.change("/console/orders/{id}", showOrder)
	t.change("/console/orders/{id}/complete", completeOrder)
	t.change("/console/orders/{id}/cancel", cancelOrder)
}

// OperatorRoutes returns the whole operator's console.
func OperatorRoutes() []Route {
	var t table
	t.open("GET", "/console/signin", askOperator)
	t.open("GET", "/console/link", showOperatorLink)
	t.open("POST", "/console/link", useOperatorLink)
	t.open("POST", "/console/signout", signOutOperator)
	t.open("POST", "/console/signout/everywhere", signOutOperators)
	t.look("/console", showInstallation)
	t.look("/console/{$}", func(v *visit) error { return v.redirect("/console") })
	t.stream("/console/live", liveInstallation)
	t.follow("/console/workspaces", listWorkspaces)
	t.follow("/console/busy", listBusy)
	t.follow("/console/bans", listBans)
	t.follow("/console/health", listHealth)
	t.look("/console/audit", showAudit)
	t.stream("/console/audit/live", func(v *visit) error { return v.live(changedRows(listAudit), nil) })
	t.look("/console/audit.csv", auditCSV)
	t.look("/console/audit.ndjson", auditNDJSON)
	t.change("/console/workspaces/new", newWorkspace)
	t.look("/console/workspaces/{id}", showWorkspace)
	t.change("/console/workspaces/{id}/plan", changePlan)
	t.change("/console/workspaces/{id}/name", renameWorkspace)
	t.change("/console/workspaces/{id}/reset", resetWorkspace)
	t.change("/console/workspaces/{id}/delete", deleteWorkspace)
	t.change("/console/workspaces/{id}/keys/new", newWorkspaceKey)
	t.change("/console/keys/{id}/rotate", operatorRotate)
	t.change("/console/keys/{id}/revoke", operatorRevoke)
	t.change("/console/keys/{id}/ban", banKey)
	t.change("/console/bans/{id}", liftBan)
	return t
}
