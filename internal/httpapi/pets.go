package httpapi

import (
	"net/http"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

func petRoutes(s *petstore.Service) []route {
	readNew, readPatch := decode(petstore.NewPet{}, "id"), decode(petstore.PetPatch{}, "id")
	return []route{
		{at: "GET /pets", id: "listPets", scope: access.Read, handle: list(readPetsQuery, ofShop(s.Pets), positionOfPet), cached: true,
			query: []string{"limit", "cursor", "sort", "id", "status", "categoryId", "name"}},
		{at: "POST /pets", id: "createPet", scope: access.Write, handle: create(readNew, s.CreatePet), body: jsonBody},
		{at: "GET /pets/{petId}", id: "getPet", scope: access.Read, handle: get(s.Pet), cached: true, deprecated: true},
		{at: "PUT /pets/{petId}", id: "replacePet", scope: access.Write, handle: change(readNew, s.ReplacePet), body: jsonBody},
		{at: "PATCH /pets/{petId}", id: "updatePet", scope: access.Write, handle: change(readPatch, s.UpdatePet), body: patchBody},
		{at: "DELETE /pets/{petId}", id: "deletePet", scope: access.Write, handle: remove(s.DeletePet)},
	}
}

func positionOfPet(p petstore.StockedPet) position { return numbered(p.ID) }

func readPetsQuery(l *listRequest) (q petstore.PetQuery, err error) {
	q = petstore.PetQuery{
		IDs:        l.query.ids("id"),
		Statuses:   several(l.query, "status", petstore.Statuses()),
		CategoryID: l.query.id("categoryId"),
		Name:       l.query.part("name"),
	}
	if len(q.IDs) > 0 && l.query.values["limit"] == nil {
		l.limit = petstore.MaxPage // a request with ids is for all of them
	}
	l.one = len(q.IDs) == 1
	q.Page, err = l.pageQuery()
	return q, err
}

// status reads a status. An empty one is refused here, since for the domain it means
// that there is none.
func (f *form) status(m member) petstore.Status {
	s := petstore.Status(f.text(m))
	if s == "" && !f.faulty("/status") {
		f.add("/status", petstore.InvalidEnum, `status must be one of available, pending, sold, not "".`)
	}
	return s
}

// A sunset is when getPet ends.
type sunset struct {
	at   time.Time
	date string // the same as HTTP writes it
}

func newSunset(at time.Time) sunset { return sunset{at, at.UTC().Format(http.TimeFormat)} }

// deprecatedAt is the instant since which getPet is deprecated: 2026-01-01
// 00:00 UTC.
const deprecatedAt = "@1767225600"

// announce sets the header fields of a deprecated operation: Deprecation (RFC 9745),
// Sunset (RFC 8594) and the links of both.
func (s *sunset) announce(x *exchange) {
	x.set("Deprecation", deprecatedAt)
	x.set("Sunset", s.date)
	base := x.env.baseURL
	query := ""
	if id, err := readID(x.path.param, x.pathID); err == nil {
		query = "?id=" + decimal(id)
	}
	x.set("Link", "<"+base+"/pets"+query+`>; rel="successor-version", <`+base+`/docs/guides/sunset>; rel="deprecation"; type="text/html"`)
}

// check returns an error for requests after the end.
func (s *sunset) check(x *exchange) error {
	if x.began.Before(s.at) {
		return nil
	}
	return s.ended()
}

func (s *sunset) ended() error {
	return petstore.Errorf(codeOperationSunset, "This operation ended on %s. Its successor is GET /pets?id={petId}.", s.date)
}
