package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/petstore"
	"pgregory.net/rapid"
)

// testSearches: whatever happens to a workspace, a search for a part of a name finds what
// is there.
func testSearches(t *testing.T, open Open) {
	s := newTenant(t, open)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		m := &searched{tenant: s.beside(fmt.Sprint("workspace ", n)), pets: map[int64]petstore.Pet{}}
		m.begin()
		m.add(r, make([]int64, 10)...)
		actions := m.actions()
		names := slices.Sorted(maps.Keys(actions))
		for range rapid.IntRange(1, 10).Draw(r, "steps") { // as many as 100 workspaces have time for
			actions[rapid.SampledFrom(names).Draw(r, "action")](r)
			m.search(r)
		}
	})
}

// A searched is a workspace and the pets that it is said to have.
type searched struct {
	*tenant

	pets       map[int64]petstore.Pet
	categories []int64
	last       int64 // the greatest id so far
}

var pieces = []string{"a", "b", "ab", "A", "ß", "é", "x\u0301", "犬", "猫犬", "🐕", "🐕\u200d🦺", "-", "%", "_", `\`, "\uFFFD", "\uFFFE", "\uFFFF", "\U0001FFFF"}

// madeUp returns a name.
func madeUp(r *rand.Rand) string {
	var name strings.Builder
	count := 1 + r.IntN(7)
	if r.IntN(6) == 0 {
		count = 22 // a long one
	}
	for range count {
		name.WriteString(pieces[r.IntN(len(pieces))])
	}
	return name.String()
}

// chance draws what many small choices come from.
func chance(t *rapid.T) *rand.Rand { return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "chance"), 0)) }

func (m *searched) begin() { m.categories = []int64{m.category("Dogs"), m.category("Cats")} }

// add imports a pet for each id, with the next one for 0.
func (m *searched) add(t *rapid.T, ids ...int64) {
	r := chance(t)
	units := make([]petstore.Unit, len(ids))
	for i, id := range ids {
		units[i] = petstore.Unit{PetID: id, Pet: &petstore.StockedPet{Pet: petstore.Pet{
			ID: id, Name: madeUp(r), CategoryID: m.categories[r.IntN(len(m.categories))], Status: petstore.Statuses()[r.IntN(3)]}}}
		if units[i].Pet.Status != petstore.Sold {
			units[i].Pet.Quantity = 1
		}
	}
	if refused := m.load(&petstore.Batch{Units: units}); len(refused) > 0 {
		return // an id is taken
	}
	for _, u := range units {
		m.pets[u.Pet.ID], m.last = u.Pet.Pet, max(m.last, u.Pet.ID)
	}
}

// some draws a pet, 0 if there are none.
func (m *searched) some(t *rapid.T) int64 {
	ids := slices.Sorted(maps.Keys(m.pets))
	if len(ids) == 0 {
		return 0
	}
	return rapid.SampledFrom(ids).Draw(t, "pet")
}

func (m *searched) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"create":  func(t *rapid.T) { m.add(t, 0) },
		"append":  func(t *rapid.T) { m.add(t, m.last+rapid.Int64Range(1, 3).Draw(t, "gap")) },
		"leap":    func(t *rapid.T) { m.add(t, min(petstore.MaxID, m.last*5/4+1)) },
		"fill in": func(t *rapid.T) { m.add(t, rapid.Int64Range(1, m.last+1).Draw(t, "id")) },
		"many":    func(t *rapid.T) { m.add(t, make([]int64, rapid.IntRange(1, 40).Draw(t, "n"))...) },
		"rename": func(t *rapid.T) {
			if id := m.some(t); id != 0 {
				p, err := m.UpdatePet(m.ctx, m.workspace, id, petstore.PetPatch{Name: petstore.Some(madeUp(chance(t)))}, petstore.Condition{})
				if err != nil {
					t.Fatal(err)
				}
				m.pets[id] = p
			}
		},
		"delete": func(t *rapid.T) {
			if id := m.some(t); id != 0 {
				if err := m.DeletePet(m.ctx, m.workspace, id, petstore.Condition{}); err != nil {
					t.Fatal(err)
				}
				delete(m.pets, id)
			}
		},
		"reset": func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
				if err := m.ResetWorkspace(m.ctx, m.workspace, "test"); err != nil {
					t.Fatal(err)
				}
				m.pets = map[int64]petstore.Pet{}
				m.begin() // the categories have other ids now
			}
		},
	}
}

// search compares one with all pets.
func (m *searched) search(t *rapid.T) {
	text := madeUp(chance(t))
	if id := m.some(t); id != 0 && rapid.Bool().Draw(t, "of one") {
		runes := []rune(m.pets[id].Name)
		from := rapid.IntRange(0, len(runes)-1).Draw(t, "from")
		text = string(runes[from:rapid.IntRange(from+1, len(runes)).Draw(t, "to")])
	}
	q := petstore.PetQuery{
		Page:       petstore.Page{After: rapid.Int64Range(0, m.last).Draw(t, "after"), Limit: rapid.IntRange(1, 5).Draw(t, "limit"), Newest: rapid.Bool().Draw(t, "newest")},
		CategoryID: rapid.SampledFrom(append([]int64{0}, m.categories...)).Draw(t, "category"), Name: petstore.Fold(text),
		Statuses: rapid.SliceOfNDistinct(rapid.SampledFrom(petstore.Statuses()), 0, 3, rapid.ID).Draw(t, "statuses"),
	}
	var all []petstore.Pet
	for _, id := range slices.Sorted(maps.Keys(m.pets)) {
		all = append(all, m.pets[id])
	}
	got, err := m.Stores.Pets(m.ctx, m.workspace, q)
	compare(t, q, got, err, Naive(all, func(p petstore.Pet) int64 { return p.ID }, q.Page, q.Selects))
}
