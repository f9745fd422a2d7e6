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
	a := g.post("/console/orders/new", "petId", "juno", "quantity", "1").want(422, "Choose the pet").want(422, `<option value="3">Juno #3, available`)
	asked := regexp.MustCompile(`name="asked" value="([^"]+)"`).FindStringSubmatch(a.body)[1]
	g.post("/console/orders/new", "petId", "rex", "pet", "3", "asked", asked, "quantity", "1").want(422, "Choose the pet").want(422, "=Rex #1") // asked anew
	g.post("/console/orders/new", "petId", "juno", "pet", "3", "asked", asked, "quantity", "1").leadsTo("/console/orders/2")
	g.post("/console/orders/new", "petId", "Juno #2", "quantity", "1").leadsTo("/console/orders/3")
	g.get("/console/orders/new?petId=4").want(200, `value="Junior #4"`)

	g.get("/console/orders?petId=junior").want(200, `href="/console/orders/1"`)
	g.get("/console/orders?petId=juno").want(200, `<a href="/console/orders?petId=Juno&#43;%233">`).want(200, "Nothing matches")
	g.get("/console/orders?petId=Juno+%233").want(200, `href="/console/orders/2"`)
	g.get("/console/orders?petId=nobody").want(200, "Nothing matches")
	g.get("/console/stock?petId=rex").leadsTo("/console/stock/1")
	g.get("/console/stock?petId=juno").want(200, `petId=Juno&#43;%232`)
}

// TestFindOrder: an order is found by its number, and its page says when it was placed and completed.
func TestFindOrder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	h.count(w, 9)
	g := h.signedIn(w, access.Read|access.Write)
	g.post("/console/orders/new", "petId", "1", "quantity", "1").leadsTo("/console/orders/1")
	h.advance(90 * 60 * 1e9)
	g.post("/console/orders/1/complete").leadsTo("/console/orders/1")
	g.post("/console/orders/new", "petId", "1", "quantity", "1", "complete", "true").leadsTo("/console/orders/2")
	g.get("/console/orders?number=1").leadsTo("/console/orders/1")
	g.get("/console/orders?number=%23" + "2").leadsTo("/console/orders/2")
	g.get("/console/orders?number=3").want(404, "There is no such order")
	g.get("/console/orders?number=x").want(404, "Enter the number of an order")
	g.get("/console/orders/1").want(200, "<dt>Placed</dt><dd> <time datetime=\"2026-03-01T12:00:00Z\"").want(200, "<dt>Completed</dt><dd> <time datetime=\"2026-03-01T13:30:00Z\"")
	if a := g.get("/console/orders").want(200, "#1<"); strings.Index(a.body, "#2<") > strings.Index(a.body, "#1<") {
		t.Error("the orders do not begin with the newest")
	}
	for range 30 {
		g.post("/console/stock/1/add", "units", "1").leadsTo("/console/stock/1")
		g.post("/console/orders/new", "petId", "1", "quantity", "1").want(303, "")
	}
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(g.get("/console/orders").want(200, "#32<").body)[1]
	if a := g.get(next).want(200, "#1<"); strings.Contains(a.body, "#8<") || !strings.Contains(a.body, "#7<") {
		t.Errorf("the second page of orders begins elsewhere than with 7:\n%s", a.body)
	}
	g.get("/console/orders/2").want(200, "<dt>Placed and completed</dt><dd> <time datetime=\"2026-03-01T13:30:00Z\"")
	g.post("/console/orders/32/cancel").leadsTo("/console/orders")
	g.get("/console/orders?number=32").want(404, "Order 32 was cancelled").want(404, `That was on <time datetime="2026-03-01T13:30:00Z"`)
}
