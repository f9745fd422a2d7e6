package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"example.com/petstore/internal/petstore"
)

// TestPetsPagesAreBounded holds more pages than there is room for, and asks for
// those that are not held.
func TestPetsPagesAreBounded(t *testing.T) {
	t.Parallel()
	s := newPetsPages()
	for i := range 10 * mostPages {
		k := pageKey{1, fmt.Sprint("limit=", i)}
		if s.wants(k, &petsPage{}) {
			t.Errorf("%v is wanted the first time", k)
		}
		if !s.wants(k, &petsPage{}) {
			t.Errorf("%v is not wanted the second time", k)
		}
		p := &petsPage{body: []byte("[]")}
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
		for range 2 {
			if s.wants(test.k, &test.p) {
				t.Errorf("%s is wanted", test.what)
			}
		}
	}
	k := pageKey{1, "limit=1"}
	s.keep(k, &petsPage{body: []byte("[]")})
	if s.keep(k, &petsPage{body: make([]byte, mostOfPage+1)}); s.find(k) != nil {
		t.Error("a page is held after it became too long")
	}
}

// TestPetsPagesThatSharePlace has queries take turns whose traces are in one
// place: each is wanted the second time that it comes.
func TestPetsPagesThatSharePlace(t *testing.T) {
	t.Parallel()
	s := newPetsPages()
	place := func(k pageKey) uint64 {
		place, _ := s.traceOf(k)
		return place
	}
	var rivals []pageKey
	for i := 0; len(rivals) < len(s.seen[0]); i++ {
		if k := (pageKey{1, fmt.Sprint("limit=", i)}); place(k) == 0 {
			rivals = append(rivals, k)
		}
	}
	for _, again := range []bool{false, true} {
		for _, k := range rivals {
			if got := s.wants(k, &petsPage{}); got != again {
				t.Errorf("wants(%v) = %v, want %v", k, got, again)
			}
		}
	}
}
