package console_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// upload sends a file to the form for imports.
func (g *guest) upload(do, file string, also ...string) answer {
	g.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "pets.csv")
	must(g.t, err)
	_, _ = part.Write([]byte(file)) // a buffer takes everything
	_ = form.WriteField("do", do)
	for _, name := range also {
		_ = form.WriteField(name, "true")
	}
	_ = form.Close()
	r, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.url+"/console/pets/import", &body)
	must(g.t, err)
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return g.send(r)
}

// TestImport: a file is tried first, its faults are named by line, and all of it is kept or nothing.
func TestImport(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	must(t, errOf(h.shop.CreateOrder(t.Context(), w.ID, petstore.NewOrder{PetID: 1, Quantity: 1}, nil)))
	g := h.signedIn(w, access.Read|access.Write)
	g.get("/console/pets").want(200, `href="/console/pets/import"`)
	bad := "id,name,category,status,stock\n,Mia,Cats,,5\n1,Rex,Cats,sold,0\n9,Nobody,,,\n,Max,Dogs,lost,\n,,Dogs,,\n"
	for _, do := range []string{"try", "import"} {
		a := g.upload(do, bad).want(422, "4 rows are wrong")
		a.want(422, "Line 3: The pet 1 has 1 open order").want(422, "Line 4: There is no pet").want(422, "Line 5: status").want(422, "Line 6: name")
	}
	good := "id,name,category,status,stock\n,Mia,Cats,,5\n1,Rex,Cats,,7\n,Max,Dogs,,\n"
	g.upload("try", good).want(200, "2 pets and 1 category to add, 1 pet to change, 0 to leave as they are").
		want(200, "pet 1, =Rex: stock 0, then 7").want(200, "new category Cats").want(200, "It would set the stock of 1 pet")
	if pets, err := h.shop.Pets(t.Context(), w.ID, petstore.PetQuery{Page: petstore.Page{Limit: 10}}); err != nil || len(pets) != 1 || pets[0].Name != "=Rex" {
		t.Errorf("a file that was tried left %v, %v", pets, err)
	}
	g.upload("import", good).want(422, "It would set the stock of 1 pet, whatever was sold since the file was made").want(422, `name="again"`)
	g.upload("import", good, "again").leadsTo("/console/pets")
	g.get("/console/pets").want(200, "2 pets and 1 category added, 1 pet changed, 0 left").want(200, "Mia").want(200, "<bdi>Rex")
	g.get("/console/pets/1").want(200, "Why is the stock 7?")
	g.upload("try", good).want(200, "This file was imported before")
	g.upload("import", good).want(422, "This file was imported before. Importing it again adds 2 pets a second time. It would add 2 pets, though pets with all their names are there already. Nothing was imported.").want(422, `name="again"`)
	if pets, err := h.shop.Pets(t.Context(), w.ID, petstore.PetQuery{Page: petstore.Page{Limit: 10}}); err != nil || len(pets) != 3 {
		t.Errorf("a file that is sent again leaves %v, %v, want 3 pets", pets, err)
	}
	g.upload("import", good, "again").leadsTo("/console/pets")
	g.get("/console/pets").want(200, "2 pets added")
	edits := "id,name,stock\n1,Rex,8\n"
	for _, sure := range []string{"again", "x"} { // the second one changes nothing
		g.upload("import", edits, sure).leadsTo("/console/pets")
	}
	g.upload("try", "naem\nx\n").want(422, "there is no column").want(422, "Line 1")
	g.upload("try", "").want(422, "empty")
	g.upload("import", "name,category\n"+strings.Repeat("x", 1<<20)+",Dogs\n").want(422, "longer than 1 MiB")
	g.post("/console/pets/import", "do", "import").want(422, "Choose a file")
	h.signedIn(w, access.Read).upload("import", good).want(403, "")
}

// TestImportCounts: each hundred rows are a request, and a file that the plan has no room for costs none of them.
func TestImportCounts(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.planned("shop", access.Enterprise, access.Quota{PerMinute: 10, PerDay: 1000})
	g := h.signedIn(w, access.Read|access.Write)
	rows := func(n int) string {
		file := "name,category\n"
		for i := range n {
			file += fmt.Sprintf("Pet %d,Dogs\n", i)
		}
		return file
	}
	left := func(a answer, want string) {
		t.Helper()
		if got := a.header.Get("X-RateLimit-Remaining"); got != want {
			t.Errorf("%s leaves %s requests, want %s", a.what, got, want)
		}
	}
	left(g.upload("try", rows(100)).want(200, "100 pets"), "9")
	left(g.upload("try", rows(250)).want(200, "250 pets"), "6")
	left(g.upload("import", rows(2000)).want(422, "counts as 19 requests more, and the plan has 5 left"), "5")
	left(g.upload("import", rows(500)).leadsTo("/console/pets"), "0")
}

// TestRoundTrip: the pets are downloaded in the form in which the console and the command read them. What is sold before the file
// comes back stays sold, and a file that was not edited changes nothing.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	g := h.signedIn(w, access.Read|access.Write)
	must(t, errOf(h.shop.UpdateInventory(t.Context(), w.ID, 1, 5, petstore.Condition{})))
	file := g.get("/console/pets.csv").want(200, "\ufeffid,name,category,status,stock,version\n1,'=Rex,Dogs,available,5,M").body
	must(t, errOf(h.shop.CreateOrder(t.Context(), w.ID, petstore.NewOrder{PetID: 1, Quantity: 5}, nil)))
	g.upload("import", file).leadsTo("/console/pets")
	g.get("/console/pets").want(200, "0 pets added, 0 pets changed, 1 left as they were")
	g.upload("import", strings.Replace(file, "'=Rex", "Max", 1)).leadsTo("/console/pets")
	if pets, err := h.db.Pets(t.Context(), w.ID, petstore.PetQuery{Page: petstore.Page{Limit: 2}}); err != nil || len(pets) != 1 || pets[0].Name != "Max" || pets[0].Quantity != 0 || pets[0].Status != petstore.Pending {
		t.Errorf("the shop has %+v, %v, want Max, pending and sold out", pets, err)
	}
	g.upload("import", strings.Replace(file, ",5,", ",9,", 1)).want(422, "Line 2: stock: the file changes it to 9, and since the export it was changed to 0")
	goods := "id,add\n1,+4\n"
	g.upload("try", goods).want(200, "pet 1, Max: stock 0, then 4")
	g.upload("import", goods).leadsTo("/console/pets")
	g.upload("import", goods).want(422, "This file was imported before. Importing it again adds to the stock of 1 pet a second time.")
}
