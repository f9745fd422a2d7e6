package httpapi

import (
	"strconv"

	"example.com/petstore/internal/petstore"
)

func listPets(a *API, x *exchange) error {
	k := pageKey{x.entry.Workspace.ID, x.r.URL.RawQuery}
	page := a.pages.find(k)
	if page == nil {
		var err error
		if page, err = x.askedPets(); err != nil {
			return err
		}
	}
	pets, err := a.Shop.Pets(x.r.Context(), k.workspace, page.query)
	switch {
	case err != nil:
		return err
	case len(page.query.IDs) == 1 && len(pets) == 1:
		return x.onePet(pets[0])
	case page.same(pets):
		return page.send(x)
	case !a.pages.wants(k, page):
		return list(page.listing(x), pets, idOfPet)
	}
	page = page.made(x, pets)
	a.pages.keep(k, page)
	return page.send(x)
}

func idOfPet(p petstore.Pet) int64 { return p.ID }

// askedPets returns the page that the query of the request asks for.
func (x *exchange) askedPets() (*petsPage, error) {
	l, err := x.listing()
	if err != nil {
		return nil, err
	}
	q := petstore.PetQuery{
		IDs:        l.query.ids("id"),
		Statuses:   l.query.statuses("status"),
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

// onePet answers a listing of exactly one id: with the pet's own entity tag, so
// that the successor of getPet can guard a write.
func (x *exchange) onePet(p petstore.Pet) error {
	x.scratch = p.AppendJSON(append(x.scratch[:0], '['))
	tag := petstore.TagOf(x.scratch[1:])
	x.scratch = append(x.scratch, ']')
	return x.tagged("", tag, "application/json", x.scratch, nil)
}

func createPet(a *API, x *exchange) error {
	once, err := x.onceOf()
	if err != nil {
		return err
	}
	n, err := readNewPet(x.body, 0)
	if err != nil {
		return err
	}
	c, err := a.Shop.CreatePet(x.r.Context(), x.entry.Workspace.ID, n, once)
	if err != nil {
		return err
	}
	return x.created(c)
}

func getPet(a *API, x *exchange) error {
	p, err := a.Shop.Pet(x.r.Context(), x.entry.Workspace.ID, x.param)
	if err != nil {
		return err
	}
	return sendResource(x, p)
}

// deprecate gives the answer the notices of a deprecated operation: RFC 9745,
// RFC 8594 and the links of both.
func (x *exchange) deprecate() {
	x.set("Deprecation", deprecatedAt)
	x.set("Sunset", x.api.sunset)
	base := x.api.BaseURL
	from := len(x.text)
	x.text = append(append(append(x.text, '<'), base...), "/pets"...)
	if id, err := readID(x.path.param, x.pathID); err == nil {
		x.text = strconv.AppendInt(append(x.text, "?id="...), id, 10)
	}
	x.text = append(append(x.text, `>; rel="successor-version", <`...), base...)
	x.text = append(x.text, `/docs/guides/sunset>; rel="deprecation"; type="text/html"`...)
	x.setText("Link", from)
}

// deprecatedAt is the instant since which getPet is deprecated: 2026-01-01
// 00:00 UTC.
const deprecatedAt = "@1767225600"

func replacePet(a *API, x *exchange) error {
	c, err := x.conditionOf()
	if err != nil {
		return err
	}
	n, err := readNewPet(x.body, x.param)
	if err != nil {
		return err
	}
	p, err := a.Shop.ReplacePet(x.r.Context(), x.entry.Workspace.ID, x.param, n, c)
	if err != nil {
		return err
	}
	return x.changed(p)
}

func updatePet(a *API, x *exchange) error {
	c, err := x.conditionOf()
	if err != nil {
		return err
	}
	patch, err := readPetPatch(x.body, x.param)
	if err != nil {
		return err
	}
	p, err := a.Shop.UpdatePet(x.r.Context(), x.entry.Workspace.ID, x.param, patch, c)
	if err != nil {
		return err
	}
	return x.changed(p)
}

func deletePet(a *API, x *exchange) error {
	c, err := x.conditionOf()
	if err != nil {
		return err
	}
	return x.deleted(a.Shop.DeletePet(x.r.Context(), x.entry.Workspace.ID, x.param, c))
}
