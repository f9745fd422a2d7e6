package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"example.com/petstore/internal/petstore"
)

// TestPetsPagesAreBounded holds more pages than there is room for, and asks for
// those that are not to be held.
func TestPetsPagesAreBounded(t *testing.T) {
	t.Parallel()
	s := petsPages{all: make(map[pageKey]*petsPage)}
	for i := range 10 * mostPages {
		k := pageKey{1, fmt.Sprint("limit=", i)}
		p := &petsPage{body: []byte("[]")}
		if !p.wanted(k) {
			t.Errorf("%v is not wanted", k)
		}
		if s.keep(k, p); s.find(k) != p {
			t.Errorf("%v is not held", k)
		}
	}
	if len(s.all) > mostPages {
		t.Errorf("%d pages are held, want %d", len(s.all), mostPages)
	}
	long := strings.Repeat("x", mostOfText+1)
	for _, test := range []struct {
		what string
		k    pageKey
		p    petsPage
	}{
		{"a search", pageKey{1, "name=x"}, petsPage{query: petstore.PetQuery{Name: "x"}}},
		{"a page by ids", pageKey{1, "id=1"}, petsPage{query: petstore.PetQuery{IDs: []int64{1}}}},
		{"a long query", pageKey{1, long}, petsPage{}},
	} {
		if test.p.wanted(test.k) {
			t.Errorf("%s is wanted", test.what)
		}
	}
	k := pageKey{1, "limit=1"}
	s.keep(k, &petsPage{body: []byte("[]")})
	if s.keep(k, &petsPage{body: make([]byte, mostOfPage+1)}); s.find(k) != nil {
		t.Error("a page is held after it became too long")
	}
}
