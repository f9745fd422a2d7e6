package console_test

import (
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/usage"
)

// TestKeyPage: what a key did by day and lately, its new name, and what it would break to revoke it.
func TestKeyPage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	k, _ := h.key(w, access.Read, time.Time{})
	g := h.signedIn(w, access.Read|access.Write|access.Manage)
	at := "/console/keys/" + k.ID
	g.get("/console/keys").want(200, `href="`+at+`"`)
	g.get(at).want(200, "No program used it in the last 14 days").want(200, "<dt>Last used</dt><dd>never")
	for i := range 6 {
		h.usage.Record(w.ID, usage.Event{At: h.clock.Now(), Method: "GET", Path: "/pets/1", Operation: "getPet", Status: 200, KeyID: k.ID, Deprecated: true})
		h.usage.Record(w.ID, usage.Event{At: h.clock.Now(), Method: "GET", Path: "/pets", Operation: "listPets", Status: []int{404, 429}[i%2], KeyID: k.ID})
	}
	must(t, h.usage.Save(t.Context()))
	h.clock.Advance(24 * time.Hour)
	g = h.signedIn(w, access.Read|access.Write|access.Manage)
	h.usage.Record(w.ID, usage.Event{At: h.clock.Now(), Method: "GET", Path: "/pets/1", Operation: "getPet", Status: 200, KeyID: k.ID, Deprecated: true})
	h.save()
	a := g.get(at).want(200, "13 requests in the last 14 days").want(200, `class="n">6</td><td role="cell" data-label="Errors" class="n">3</td><td role="cell" data-label="Refused" class="n">3</td>`)
	g.get(at).want(200, `<dt>Last used</dt><dd><time datetime="2026-03-02T12:00:00Z"`).want(200, "<dt>Today</dt><dd>1</dd>")
	g.get("/console/keys").want(200, `datetime="2026-03-02T12:00:00Z"`)
	if strings.Index(a.body, ">2 Mar<") > strings.Index(a.body, ">1 Mar<") {
		t.Error("the days do not begin with the latest")
	}
	g.get("/console").want(200, "Keys that still call getPet").want(200, `data-label="In 7 days" class="n">7</td><td role="cell" data-label="Last (UTC)">2 Mar</td>`)
	g.get(at+"/revoke").want(200, "<h2><bdi>till</bdi></h2>").want(200, "<dt>In the last 7 days</dt><dd>13 requests</dd>").want(200, "<dt>In the log of this server</dt><dd>getPet, listPets <small>since</small>")

	version := versionIn.FindStringSubmatch(a.body)[1]
	g.post(at, "name", " ", "version", version).want(422, "at least 1")
	g.post(at, "name", "web shop", "version", version).leadsTo(at)
	g.get(at).want(200, `<h1><bdi>web shop</bdi> <span class="badge active">active</span></h1>`)
	g.post(at, "name", "till 2", "version", version).want(422, "Now: <strong><bdi>web shop</bdi></strong>. You entered: <strong><bdi>till 2")
	looker := h.signedIn(w, access.Read|access.Write)
	looker.get(at).want(403, "This key may not see that")
	looker.post(at, "name", "mine").want(403, "This key cannot do that").want(403, "the scope manage")
}

// TestFirstSteps: an empty workspace is told what to do first, until it is done.
func TestFirstSteps(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	must(t, h.shop.DeletePet(t.Context(), w.ID, 1, petstore.Condition{}))
	g := h.signedIn(w, access.Read|access.Write)
	done := `<li class="done"><a href="/console/categories/new">Add a category</a>`
	g.get("/console").want(200, "First steps").want(200, done).want(200, `<li><a href="/console/pets/new">Add a pet`)
	g.post("/console/pets/new", "name", "Rex", "categoryId", "1", "status", "").leadsTo("/console/pets/2")
	g.get("/console").want(200, `<li class="done"><a href="/console/pets/new">Add a pet`)
	g.post("/console/orders/new", "petId", "2", "quantity", "1").leadsTo("/console/orders/1")
	g.get("/console").want(200, `<li><a href="/docs/guides/first-request">Make the first request`)
	h.usage.Record(w.ID, usage.Event{At: h.clock.Now(), Method: "GET", Path: "/pets", Operation: "listPets", Status: 200, KeyID: "key_x"})
	h.save()
	if a := g.get("/console").want(200, "Overview"); strings.Contains(a.body, "First steps") {
		t.Error("the first steps are still shown after the first request")
	}
}
