package httpapi

import (
	"net/http"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

type pets struct {
	service *petstore.Service
	pages   petsPages
}

func (p *pets) paths() []path {
	s := p.service
	return []path{
		{pattern: "/pets", routes: []route{
			{method: "GET", id: "listPets", scope: access.Read, handle: p.list, query: []string{"limit", "cursor", "sort", "id", "status", "categoryId", "name"}},
			{method: "POST", id: "createPet", scope: access.Write, handle: create(readNewPet, s.CreatePet), body: jsonBody},
		}},
		{pattern: "/pets/{petId}", routes: []route{
			{method: "GET", id: "getPet", scope: access.Read, handle: get(s.Pet), deprecated: true},
			{method: "PUT", id: "replacePet", scope: access.Write, handle: change(readNewPet, s.ReplacePet), body: jsonBody},
			{method: "PATCH", id: "updatePet", scope: access.Write, handle: change(readPetPatch, s.UpdatePet), body: patchBody},
			{method: "DELETE", id: "deletePet", scope: access.Write, handle: remove(s.DeletePet)},
		}},
	}
}

func (p *pets) list(x *exchange) error {
	k := pageKey{x.workspace(), x.r.URL.RawQuery}
	page := p.pages.find(k)
	if page == nil {
		var err error
		if page, err = readPetsQuery(x); err != nil {
			return err
		}
	}
	all, err := p.service.Pets(x.ctx, k.workspace, page.query)
	switch {
	case err != nil:
		return err
	case len(page.query.IDs) == 1 && len(all) == 1:
		return sendOnePet(x, all[0])
	case page.same(all):
		return page.send(x)
	case !page.wanted(k):
		return sendList(page.listing(x), all, placeOfPet)
	}
	page = page.made(x, all)
	p.pages.keep(k, page)
	return page.send(x)
}

// readPetsQuery returns the page that the query of the request asks for.
func readPetsQuery(x *exchange) (*petsPage, error) {
	l, err := newListing(x)
	if err != nil {
		return nil, err
	}
	q := petstore.PetQuery{
		IDs:        l.query.ids("id"),
		Statuses:   several(l.query, "status", petstore.Statuses()),
		CategoryID: l.query.id("categoryId"),
		Name:       l.query.part("name"),
	}
	if len(q.IDs) > 0 && l.query.values["limit"] == nil {
		l.limit = petstore.MaxPage // whoever names ids wants them all
	}
	if q.Page, err = l.page(); err != nil {
		return nil, err
	}
	return &petsPage{query: q, limit: l.limit, filters: l.filters}, nil
}

// sendOnePet answers a listing of exactly one id: with the pet's own entity tag,
// so that the successor of getPet can guard a write.
func sendOnePet(x *exchange, p petstore.Pet) error {
	x.scratch = p.AppendJSON(append(x.scratch[:0], '['))
	tag := petstore.TagOf(x.scratch[1:])
	x.scratch = append(x.scratch, ']')
	x.set("X-Has-More", "false")
	return x.sendTagged("", tag, "application/json", x.scratch, nil)
}

// readNewPet reads the body of createPet (id 0) and replacePet.
func readNewPet(f *form) (petstore.NewPet, error) {
	var n petstore.NewPet
	f.read(members{
		"name":       into(&n.Name, f.text),
		"categoryId": into(&n.CategoryID, f.integer),
		"status":     into(&n.Status, f.status),
		"id":         f.readOnly,
	}, "name", "categoryId")
	return n, f.err(n.Check())
}

func readPetPatch(f *form) (petstore.PetPatch, error) {
	var p petstore.PetPatch
	f.read(members{
		"name":       intoOptional(&p.Name, f.text),
		"categoryId": intoOptional(&p.CategoryID, f.integer),
		"status":     intoOptional(&p.Status, f.status),
		"id":         f.readOnly,
	})
	return p, f.err(p.Check())
}

// status reads a status. An empty one means to the domain that there is none,
// so it is refused here.
func (f *form) status(m member) petstore.Status {
	s := petstore.Status(f.text(m))
	if s == "" && !f.faulty("/status") {
		f.add("/status", petstore.InvalidEnum, `status must be one of available, pending, sold, not "".`)
	}
	return s
}

// A sunset is the end of getPet.
type sunset struct {
	at   time.Time
	date string // of HTTP
}

func newSunset(at time.Time) sunset { return sunset{at, at.UTC().Format(http.TimeFormat)} }

// deprecatedAt is the instant since which getPet is deprecated: 2026-01-01
// 00:00 UTC.
const deprecatedAt = "@1767225600"

// announce gives the answer the notices of a deprecated operation: RFC 9745,
// RFC 8594 and the links of both.
func (s *sunset) announce(x *exchange) {
	x.set("Deprecation", deprecatedAt)
	x.set("Sunset", s.date)
	base := x.env.baseURL
	from := x.fields.Text()
	x.fields.Append("<").Append(base).Append("/pets")
	if id, err := readID(x.path.param, x.pathID); err == nil {
		x.fields.Append("?id=").AppendInt(id)
	}
	x.fields.Append(`>; rel="successor-version", <`).Append(base)
	x.fields.Append(`/docs/guides/sunset>; rel="deprecation"; type="text/html"`).SetText("Link", from)
}

// check refuses what is asked for after the end.
func (s *sunset) check(x *exchange) error {
	if x.began.Before(s.at) {
		return nil
	}
	return petstore.Errorf(codeOperationSunset, "This operation ended on %s. Its successor is GET /pets?id={petId}.", s.date)
}
