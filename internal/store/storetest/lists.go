package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"example.com/petstore/internal/petstore"
	"pgregory.net/rapid"
)

// listTests compare every page of every list with a naive filter over all rows.
var listTests = map[string]func(*tenant){
	"pages": testPages, "limits": testListLimits, "letters": testLetters,
}

// catalogueSize is how many pets a catalogue has: more than are tested before an index is
// asked.
const catalogueSize = 3000

// A catalogue is a workspace and the rows that it has.
type catalogue struct {
	*tenant

	pets       []petstore.StockedPet
	categories []petstore.Category
	orders     []petstore.Order
}

// newCatalogue loads a workspace with many rows, a few of which pass most filters.
func newCatalogue(s *tenant, seed uint64) *catalogue {
	s.Helper()
	c := &catalogue{tenant: s}
	r := rand.New(rand.NewPCG(seed, 2))
	b := &petstore.Batch{}
	for id := range int64(30) {
		kind := petstore.Category{ID: id + 1, Name: madeUp(r)}
		b.Units, c.categories = append(b.Units, petstore.Unit{Category: &kind}), append(c.categories, kind)
	}
	for id := int64(1); id <= catalogueSize; id++ {
		p := madeUpPet(r, id)
		u := petstore.Unit{PetID: id, Pet: &p}
		for n := range 1 + int64(r.IntN(50)/49*5) { // one pet in fifty has six
			o := madeUpOrder(r, id, n*catalogueSize)
			if o.Complete = o.Complete || p.Status == petstore.Sold; !o.Complete {
				p.OpenOrders++
			}
			u.Orders, c.orders = append(u.Orders, o), append(c.orders, o)
		}
		b.Units = append(b.Units, u)
	}
	slices.SortFunc(c.orders, func(a, b petstore.Order) int { return cmp.Compare(a.ID, b.ID) })
	s.load(b)
	for _, u := range b.Units[len(c.categories):] {
		c.pets = append(c.pets, *u.Pet)
	}
	return c
}

func madeUpPet(r *rand.Rand, id int64) petstore.StockedPet {
	p := petstore.StockedPet{Pet: petstore.Pet{ID: id, Name: fmt.Sprint("Bella Hartwick ", r.IntN(100)), CategoryID: 1 + r.Int64N(2), Status: petstore.Statuses()[r.IntN(3)]}}
	if r.IntN(50) == 0 {
		p.Name = "Luna " + madeUp(r)
	}
	switch {
	case p.Status == petstore.Sold:
	case r.IntN(100) == 0 || id/1000 == 2:
		p.Quantity = 1 + r.Int64N(60)
	default:
		p.Quantity = 1000 + r.Int64N(1_000_000)
	}
	return p
}

func madeUpOrder(r *rand.Rand, pet, behind int64) petstore.Order {
	o := petstore.Order{ID: behind + pet, PetID: pet, Quantity: 1, Complete: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		o.ShipDate = petstore.Time{Millis: r.Int64N(catalogueSize) - 100, Valid: true}
		if r.IntN(3) == 0 {
			o.ShipDate.Millis = pet / 1000 // as workspaces ship
		}
	}
	return o
}

var pieces = []string{"a", "b", "ab", "A", "ß", "é", "x\u0301", "犬", "猫犬", "🐕", "🐕\u200d🦺", "-", "%", "_", `\`, "\uFFFD", "\uFFFE", "\uFFFF", "\U0001FFFF"}

// madeUp returns a name.
func madeUp(r *rand.Rand) string {
	count := 1 + r.IntN(7)
	if r.IntN(6) == 0 {
		count = 22 // a long one
	}
	var name strings.Builder
	for range count {
		name.WriteString(pieces[r.IntN(len(pieces))])
	}
	return name.String()
}

// testPages: pages are whole and in order where their first rows are tested one by one and
// others come by an index, while pets change.
func testPages(s *tenant) {
	newCatalogue(s.beside("other"), 1)
	c := newCatalogue(s, 2)
	page := rapid.Custom(func(t *rapid.T) petstore.Page {
		return petstore.Page{
			After: rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, catalogueSize+10)).Draw(t, "after"),
			Limit: rapid.SampledFrom([]int{1, 2, 7, 21, 101, 1000}).Draw(t, "limit"), Newest: rapid.Bool().Draw(t, "newest"),
		}
	})
	rapid.Check(s, func(t *rapid.T) {
		c.change(t)
		c.comparePets(t, page.Draw(t, "page of pets"))
		c.compareOrders(t, page.Draw(t, "page of orders"))
		c.compareCategories(t, page.Draw(t, "page of categories"))
	})
}

// change gives a pet another stock and another name, or deletes it.
func (c *catalogue) change(t *rapid.T) {
	i := rapid.IntRange(0, len(c.pets)-1).Draw(t, "pet")
	id, on := c.pets[i].ID, petstore.Condition{}
	if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
		switch err := c.DeletePet(c.ctx, c.workspace, id, on); petstore.CodeOf(err) {
		case petstore.CodePetHasOpenOrders:
		case "":
			c.pets = slices.Delete(c.pets, i, i+1)
			return
		default:
			t.Fatal(err)
		}
	}
	_, err1 := c.UpdateInventory(c.ctx, c.workspace, id, rapid.Int64Range(0, 120).Draw(t, "quantity"), on)
	name := rapid.SampledFrom([]string{"Zebedee", "Bella", "100%_", "Straße"}).Draw(t, "name")
	_, err2 := c.UpdatePet(c.ctx, c.workspace, id, petstore.PetPatch{Name: petstore.Some(name)}, on)
	var err3 error
	c.pets[i], err3 = c.Stores.Pet(c.ctx, c.workspace, id)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
}

// naive returns the page of the rows that match; all are in ascending order of ids.
func naive[T any](all []T, id func(T) int64, page petstore.Page, match func(T) bool) []T {
	if page.Newest {
		all = slices.Clone(all)
		slices.Reverse(all)
	}
	out := []T{}
	for _, row := range all {
		after := id(row) > page.After || page.Newest
		if page.Newest && page.After > 0 {
			after = id(row) < page.After
		}
		if after && len(out) < page.Limit && match(row) {
			out = append(out, row)
		}
	}
	return out
}

func statuses() *rapid.Generator[[]petstore.Status] {
	return rapid.SliceOfN(rapid.SampledFrom(petstore.Statuses()), 0, 4)
}

// part draws what is searched for: nothing, a part of a name that there is, or another text.
func part(t *rapid.T, name string) string {
	switch rapid.IntRange(0, 2).Draw(t, "search") {
	case 0:
		return ""
	case 1:
		return petstore.Fold(rapid.SampledFrom([]string{"zebedee", "BELLA", "una ", "a hart", "ella hartwick 7", "STRASSE", "100%", "%_", "__", `\\`, "é", "none such", "q"}).Draw(t, "text"))
	}
	letters := []rune(name)
	from := rapid.IntRange(0, len(letters)-1).Draw(t, "from")
	return petstore.Fold(string(letters[from:rapid.IntRange(from+1, len(letters)).Draw(t, "to")]))
}

// compare fails the property unless the list is what is wanted.
func compare[T any](t *rapid.T, q any, got []T, err error, want []T) {
	if err != nil || !(len(got) == 0 && len(want) == 0 || reflect.DeepEqual(got, want)) {
		t.Fatalf("list of %+v = %v, %v, want %v", q, got, err, want)
	}
}

func (c *catalogue) comparePets(t *rapid.T, page petstore.Page) {
	q := petstore.PetQuery{
		Page: page, Statuses: statuses().Draw(t, "statuses"), CategoryID: rapid.SampledFrom([]int64{0, 0, 1, 2, 3, 99}).Draw(t, "category"),
		Name: part(t, rapid.SampledFrom(c.pets).Draw(t, "of").Name),
	}
	switch rapid.IntRange(0, 3).Draw(t, "by") {
	case 0:
		q.IDs = rapid.SliceOfN(rapid.Int64Range(-1, catalogueSize+10), 1, 30).Draw(t, "ids")
	case 1, 2:
		q.MaxQuantity = new(rapid.OneOf(rapid.Int64Range(0, 120), rapid.Int64Range(0, 2_000_000)).Draw(t, "most"))
	}
	got, err := c.Stores.Pets(c.ctx, c.workspace, q)
	compare(t, q, got, err, naive(c.pets, func(p petstore.StockedPet) int64 { return p.ID }, q.Page, func(p petstore.StockedPet) bool {
		return q.Selects(p.Pet) && (q.MaxQuantity == nil || p.Quantity <= *q.MaxQuantity)
	}))
}

func (c *catalogue) compareOrders(t *rapid.T, page petstore.Page) {
	date := rapid.Custom(func(t *rapid.T) petstore.Time {
		return petstore.Time{Millis: rapid.OneOf(rapid.Int64Range(-150, catalogueSize), rapid.Int64Range(-3, 9)).Draw(t, "date"), Valid: rapid.IntRange(0, 3).Draw(t, "given") > 0}
	})
	q := petstore.OrderQuery{Page: page, ShipDateFrom: date.Draw(t, "from"), ShipDateTo: date.Draw(t, "to")}
	if rapid.IntRange(0, 3).Draw(t, "by pet") == 0 {
		q.PetID = rapid.SampledFrom(c.orders).Draw(t, "of").PetID
		q.After = q.After % 2 * q.PetID // few have more
	}
	if rapid.Bool().Draw(t, "by completeness") {
		q.Complete = new(rapid.Bool().Draw(t, "complete"))
	}
	got, err := c.Stores.Orders(c.ctx, c.workspace, q)
	compare(t, q, got, err, naive(c.orders, func(o petstore.Order) int64 { return o.ID }, q.Page, func(o petstore.Order) bool { return selectsOrder(&q, o) }))
}

// selectsOrder reports whether a query, but for its page, selects an order.
func selectsOrder(q *petstore.OrderQuery, o petstore.Order) bool {
	return (q.PetID == 0 || q.PetID == o.PetID) && (q.Complete == nil || *q.Complete == o.Complete) &&
		(!q.ShipDateFrom.Valid || o.ShipDate.Valid && o.ShipDate.Millis >= q.ShipDateFrom.Millis) &&
		(!q.ShipDateTo.Valid || o.ShipDate.Valid && o.ShipDate.Millis <= q.ShipDateTo.Millis)
}

func (c *catalogue) compareCategories(t *rapid.T, page petstore.Page) {
	page.After %= int64(len(c.categories)) + 5
	q := petstore.CategoryQuery{Page: page, Name: part(t, rapid.SampledFrom(c.categories).Draw(t, "of").Name)}
	got, err := c.Stores.Categories(c.ctx, c.workspace, q)
	compare(t, q, got, err, naive(c.categories, func(c petstore.Category) int64 { return c.ID }, q.Page,
		func(c petstore.Category) bool { return strings.Contains(petstore.Fold(c.Name), q.Name) }))
}

// testListLimits: a limit of nothing, and a list of nothing.
func testListLimits(s *tenant) {
	want := func(q petstore.PetQuery) {
		s.Helper()
		same(s, fmt.Sprintf("Pets(%+v)", q), []petstore.StockedPet{})(s.Stores.Pets(s.ctx, s.workspace, q))
	}
	for _, limit := range []int{0, 1, 1000} {
		want(petstore.PetQuery{Page: petstore.Page{Limit: limit}})
	}
	s.pet(1)
	for _, q := range []petstore.PetQuery{{}, {IDs: []int64{1}}, {Page: petstore.Page{Limit: 5, After: petstore.MaxID}}, {Page: petstore.Page{Limit: 5}, Name: "a\x00"}} {
		want(q)
	}
}

// testLetters: a letter that few pets have, or none, is looked for among all of many, also if
// the only name that has it is new.
func testLetters(s *tenant) {
	c := newCatalogue(s, 1)
	search := func(text string, want ...int64) {
		s.Helper()
		found, err := s.Stores.Pets(s.ctx, s.workspace, petstore.PetQuery{Page: petstore.Page{Limit: 9}, Name: text})
		var ids []int64
		for _, p := range found {
			ids = append(ids, p.ID)
		}
		same(s, "pets named "+text, want)(ids, err)
	}
	search("ж")
	renamed := c.pets[len(c.pets)-1]
	_, err := s.UpdatePet(s.ctx, s.workspace, renamed.ID, petstore.PetPatch{Name: petstore.Some("Жук")}, petstore.Condition{})
	must(s, err)
	search("ж", renamed.ID)
	id := s.petIn(renamed.CategoryID, "ЖŁ", petstore.Available)
	search("ж", renamed.ID, id)
	search("ł", id)
}
