package console_test

import (
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// TestPick: a pet is found by its name where one is asked for, and one of several is chosen, without the script.
func TestPick(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	for _, name := range []string{"Juno", "Juno", "Junior"} { // 2, 3 and 4
		if _, err := h.shop.CreatePet(t.Context(), w.ID, petstore.NewPet{Name: name, CategoryID: 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	g := h.signedIn(w, access.Read|access.Write)
	g.get("/console/pets/find?name=JUN").want(200, `["Juno #2","Juno #3","Junior #4"]`)
	g.get("/console/pets/find?name=").want(200, `[]`)
	if a := g.get("/console/pets/find?name=x%3Ci%3E"); strings.Contains(a.body, "<i>") || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("what is found is %s of %q", a.header.Get("Content-Type"), a.body)
	}

	g.post("/console/orders/new", "petId", "junior", "quantity", "1").leadsTo("/console/orders/1")
	a := g.post("/console/orders/new", "petId", "juno", "quantity", "1").want(422, `<option value="Juno #3">`)
	a.faultAt("petId", "Is it Juno #2 or Juno #3[?] ")
	g.post("/console/orders/new", "petId", "rex", "quantity", "1").want(422, `<option value="=Rex #1">`).faultAt("petId", "Is it =Rex #1")
	g.post("/console/orders/new", "petId", "Juno #3", "quantity", "1").leadsTo("/console/orders/2")
	g.post("/console/orders/new", "petId", "Juno #2", "quantity", "1").leadsTo("/console/orders/3")

	g.get("/console/orders?petId=junior").want(200, `href="/console/orders/1"`)
	g.get("/console/orders?petId=juno").want(422, `<option value="Juno #3">`).faultAt("petId", "Is it ")
	g.get("/console/orders?petId=Juno+%233").want(200, `href="/console/orders/2"`)
}

// TestPickOneOfSeveral: a name that several have is answered with the first of them and their ids, in text that all browsers show.
func TestPickOneOfSeveral(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	for _, name := range []string{"Zed", "Zed", "Zed", "Zed", "Zed", "Zed", "Zed", "Straße", "STRASSE"} { // 2 to 10
		if _, err := h.shop.CreatePet(t.Context(), w.ID, petstore.NewPet{Name: name, CategoryID: 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	g := h.signedIn(w, access.Read|access.Write)
	for name, want := range map[string]string{
		"zed":     "Is it Zed #2, Zed #3, Zed #4, Zed #5, Zed #6, or another",
		"strasse": "Is it Straße #9 or STRASSE #10[?]",
	} {
		g.post("/console/orders/new", "petId", name, "quantity", "1").want(422, "").faultAt("petId", want)
		g.get("/console/orders?petId="+name).want(422, "").faultAt("petId", want)
	}
	g.post("/console/orders/new", "petId", "Straße #9", "quantity", "1").leadsTo("/console/orders/1")
	g.post("/console/orders/new", "petId", "10", "quantity", "1").leadsTo("/console/orders/2")
}

// faultAt holds that what is wrong stands beside a field.
func (a answer) faultAt(field, why string) {
	a.t.Helper()
	if !regexp.MustCompile(`aria-describedby="h-` + field + `"(.|\n)*class="error" id="h-` + field + `">[^<]*` + why).MatchString(a.body) {
		a.t.Errorf("%s: %q does not stand beside the field %s:\n%s", a.what, why, field, a.body)
	}
}

// TestFilterFaults: a filter that cannot be applied is a fault beside its field, of a page and of a file, and nothing is shown.
func TestFilterFaults(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.signedIn(h.workspace("shop"), access.Read|access.Write|access.Manage)
	g.post("/console/categories/new", "name", "Hot dogs").want(303, "")
	for _, test := range []struct{ path, query, field, why string }{
		{"pets", "status=lost", "status", "no choice"},
		{"pets", "max=abc", "max", "whole number"},
		{"pets", "max=-1", "max", "0 or more"},
		{"pets", "categoryId=Dgos", "categoryId", "no category with this name"},
		{"pets", "categoryId=dog", "categoryId", "Is it "},
		{"orders", "state=shut", "number", "no view"},
		{"orders", "number=x", "number", "number of an order"},
		{"orders", "petId=nobody", "petId", "no pet with this name"},
		{"orders", "from=soon", "from", "a day such as"},
		{"orders", "to=31.12.", "to", "a day such as"},
		{"events", "type=pet.lost", "type", "no choice"},
		{"events", "order=x", "order", "number of an order"},
		{"events", "order=1&petId=1", "petId", "not both"},
		{"requests", "outcome=6xx", "outcome", "no choice"},
		{"requests", "key=none", "key", "no choice"},
		{"requests", "to=soon", "to", "a day such as"},
		{"keys", "state=dead", "state", "no choice"},
	} {
		a := g.get("/console/"+test.path+"?"+test.query).want(422, "Nothing is shown, since a filter cannot be applied")
		a.faultAt(test.field, test.why)
		if strings.Contains(a.body, `data-label="Name"`) {
			t.Errorf("%s?%s shows rows:\n%s", test.path, test.query, a.body)
		}
		if test.path != "events" && test.path != "keys" {
			g.get("/console/"+test.path+".csv?"+test.query).want(422, test.why)
		}
	}
	for _, query := range []string{"categoryId=dogs", "categoryId=1", "categoryId=Dogs+%231", "status=available&max=1&name=rex"} {
		g.get("/console/pets?"+query).want(200, "1 pet. The newest first.")
	}
	g.get("/console/pets?categoryId=Hot+dogs").want(200, "Nothing matches")
	g.get("/console/categories/find?name=DOG").want(200, `["Dogs #1","Hot dogs #2"]`)
	g.get("/console/pets/new").want(200, `<option value="Hot dogs #2">`)
}

// TestNewPet: a pet comes with its quantity and a category that is new, which nobody makes by a slip.
func TestNewPet(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	g := h.signedIn(w, access.Read|access.Write)
	g.post("/console/pets/new", "name", "Kaa", "categoryId", "Snakes", "quantity", "50", "status", "", "add", "true").leadsTo("/console/pets/2")
	g.post("/console/pets/new", "name", "Nag", "categoryId", "snakes", "quantity", "3", "status", "pending", "add", "true").leadsTo("/console/pets/3")
	a := g.get("/console/pets").want(200, "3 pets. The newest first.").want(200, `<a href="/console/pets/2">50</a>`).want(200, `<a href="/console/pets/3">3</a> <small>low</small>`)
	if strings.Index(a.body, "Nag") > strings.Index(a.body, "Kaa") {
		t.Error("the pets do not begin with the newest")
	}
	g.post("/console/pets/low", "units", "2").leadsTo("/console/pets")
	if a := g.get("/console/pets").want(200, "Stock is low with 2 units or fewer."); strings.Contains(a.body, `<a href="/console/pets/3">3</a> <small>low`) {
		t.Errorf("the shop's number for low stock does not count:\n%s", a.body)
	}
	g.get("/console/categories").want(200, "2 categories. ").want(200, `<a href="/console/pets?categoryId=Snakes&#43;%232">2</a>`)
	g.get("/console/events?petId=kaa").want(200, "inventory.created")
	g.post("/console/pets/2", "name", "Kaa", "categoryId", "Dogs", "status", "").leadsTo("/console/pets/2")
	g.get("/console/pets?categoryId=snakes").want(200, "1 pet. ")
}

// TestFindOrder: an order is found by its number, and its page says when it was placed and completed.
func TestFindOrder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	h.count(w, 9)
	g := h.signedIn(w, access.Read|access.Write)
	g.post("/console/orders/new", "petId", "1", "quantity", "1").leadsTo("/console/orders/1")
	h.clock.Advance(90 * 60 * 1e9)
	g.post("/console/orders/1/complete").leadsTo("/console/orders/1")
	g.post("/console/orders/new", "petId", "1", "quantity", "1", "complete", "true").leadsTo("/console/orders/2")
	g.get("/console/orders?number=1").leadsTo("/console/orders/1")
	g.get("/console/orders?number=%232").leadsTo("/console/orders/2")
	g.get("/console/orders/3").want(404, "There is no order with the id 3")
	placed, at := `data-label="What">Placed</td>`, `data-label="When"><time datetime="2026-03-01T`
	g.get("/console/orders/1").want(200, placed+`<td role="cell" `+at+`12:00:00Z"`).want(200, `Completed</td><td role="cell" `+at+`13:30:00Z"`).want(200, `<bdi class="name">till</bdi>`).want(200, "9 → 8")
	for _, path := range []string{"/console/orders/1", "/console/pets/1"} { // a key that the API tells of no other
		h.signedIn(w, access.Read).get(path).want(200, `data-label="By">another key</td>`)
	}
	if a := g.get("/console/orders").want(200, "#1<"); strings.Index(a.body, "#2<") > strings.Index(a.body, "#1<") {
		t.Error("the orders do not begin with the newest")
	}
	for range 30 {
		g.post("/console/pets/1/add", "units", "1").leadsTo("/console/pets/1")
		g.post("/console/orders/new", "petId", "1", "quantity", "1").want(303, "")
	}
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(g.get("/console/orders").want(200, "#32<").body)[1]
	if a := g.get(next).want(200, "#1<"); strings.Contains(a.body, "#8<") || !strings.Contains(a.body, "#7<") {
		t.Errorf("the second page of orders begins elsewhere than with 7:\n%s", a.body)
	}
	g.get("/console/orders/2").want(200, "Placed and completed</td>").want(200, `<h1><bdi>Order 2</bdi> <span class="badge complete">complete</span></h1><p class="lead">1 unit of `)
	g.post("/console/orders/32", "shipDate", "2026-03-01T13:00").leadsTo("/console/orders/32")
	g.get("/console/orders?state=late").want(200, "1 order. ").want(200, `href="/console/orders?state=open">Open 30</a>`).want(200, `>Late 1</a>`).want(200, `>Done 2</a>`)
	act := regexp.MustCompile(`action="(/console/orders/32/cancel)">(?s:.*?)name="version" value="([^"]+)"/><input type="hidden" name="from" value="([^"]+)"`)
	m := act.FindStringSubmatch(g.get("/console/orders?state=late").body)
	g.post(m[1], "version", m[2], "from", m[3]).leadsTo("/console/orders?state=late")
	a := g.get("/console/orders/32").want(200, "was cancelled: its units went back").want(200, "Cancelled</td>").want(200, "Ship date changed").want(200, "7 → 8")
	if strings.Contains(a.body, "<form method=\"post\" action=\"/console/orders") {
		t.Errorf("a cancelled order can be changed:\n%s", a.body)
	}
	g.post("/console/orders/32", "shipDate", "").want(404, "There is no order")
	g.get("/console/events?order=32").want(200, "order.cancelled").want(200, "order.created")
}
