package httpapi

import (
	"slices"
	"strings"
	"sync"

	"example.com/petstore/internal/petstore"
)

func placeOfPet(p petstore.Pet) place { return numbered(p.ID) }

// A petsPage is a page of pets: what was asked for, and what was answered last.
// Nobody changes it once it is held.
type petsPage struct {
	query   petstore.PetQuery
	limit   int
	filters string // as in listing

	pets   []petstore.Pet // that the rest was made of, with the one that tells of more
	link   string         // to the next page, or ""
	tag    petstore.Tag
	body   []byte        // nil before the first answer
	zipped func() []byte // nil if the body is short
}

// made returns the page with the pets that the store has now.
func (p *petsPage) made(x *exchange, pets []petstore.Pet) *petsPage {
	shown, link := cutPage(p.listing(x), pets, placeOfPet)
	body := appendList(make([]byte, 0, listRoom(len(shown))), shown)
	made := &petsPage{
		query: p.query, limit: p.limit, filters: p.filters,
		pets: pets, link: link, tag: petstore.TagOf(body), body: body,
	}
	if len(body) > zipFrom {
		made.zipped = sync.OnceValue(func() []byte { return zip(body) })
	}
	return made
}

func (p *petsPage) listing(x *exchange) *listing {
	return &listing{x: x, limit: p.limit, filters: p.filters}
}

func (p *petsPage) send(x *exchange) error {
	return x.sendPage(p.link, p.link != "", p.tag, p.body, p.zipped)
}

// petsPages are pages of pets that were asked for, as they were sent. The store
// is asked each time: what is held is sent only if it was made of the very pets
// that the store has. So this spares work, and promises nothing.
type petsPages struct {
	mu  sync.Mutex
	all map[pageKey]*petsPage
}

// A pageKey is a query as it was sent: the same text asks the same.
type pageKey struct {
	workspace int64
	query     string
}

// What is held is 5 MiB at most, bodies, their gzip and the pets.
const (
	mostPages  = 128
	mostOfPage = 12 << 10 // bytes of a body
	mostOfText = 256      // of a query
)

// find returns the page that is held for a query, or nil.
func (s *petsPages) find(k pageKey) *petsPage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[k]
}

// wanted reports whether to hold the page: not what people search for.
func (p *petsPage) wanted(k pageKey) bool {
	return len(k.query) <= mostOfText && p.query.Name == "" && len(p.query.IDs) == 0
}

// keep holds a page, unless it is a long one.
func (s *petsPages) keep(k pageKey, p *petsPage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(p.body) > mostOfPage {
		delete(s.all, k)
		return
	}
	if _, held := s.all[k]; !held && len(s.all) >= mostPages {
		for other := range s.all { // some other: the order of a map is random
			delete(s.all, other)
			break
		}
	}
	s.all[pageKey{k.workspace, strings.Clone(k.query)}] = p
}

// same reports whether the page was made of these pets.
func (p *petsPage) same(pets []petstore.Pet) bool {
	return p.body != nil && slices.Equal(p.pets, pets)
}
