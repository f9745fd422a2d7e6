package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"pgregory.net/rapid"
)

// listTests hold every page of every list against a naive filter over all rows.
var listTests = map[string]func(*testing.T, Open){
	"pets":       testPetLists,
	"categories": testCategoryLists,
	"orders":     testOrderLists,
	"inventory":  testInventoryLists,
	"limits":     testListLimits,
	"long":       testLongLists,
	"search":     testSearches,
}

// A catalogue is a workspace with all its rows.
type catalogue struct {
	*tenant
	pets       []petstore.Pet
	items      []petstore.InventoryItem
	categories []petstore.Category
	orders     []petstore.Order
}

// newCatalogue fills a workspace, and one beside it whose rows must never show.
func newCatalogue(t *testing.T, open Open) *catalogue {
	t.Helper()
	s := newTenant(t, open)
	s.beside("other").fill(60)
	s.fill(40)
	page := petstore.Page{Limit: 1000}
	c := &catalogue{tenant: s}
	var err [4]error
	c.pets, err[0] = s.Stores.Pets(s.ctx, s.workspace, petstore.PetQuery{Page: page})
	c.items, err[1] = s.Stores.Inventory(s.ctx, s.workspace, petstore.InventoryQuery{Page: page})
	c.categories, err[2] = s.Stores.Categories(s.ctx, s.workspace, petstore.CategoryQuery{Page: page})
	c.orders, err[3] = s.Stores.Orders(s.ctx, s.workspace, petstore.OrderQuery{Page: page})
	if err != [4]error{} || len(c.pets) != 40 || len(c.items) != 40 || len(c.categories) != 7 || len(c.orders) != 25 {
		t.Fatalf("the workspace has %d pets, %d items, %d categories, %d orders (%v), want 40, 40, 7, 25",
			len(c.pets), len(c.items), len(c.categories), len(c.orders), err)
	}
	return c
}

var names = []string{"Rex", "REXINA", "Straße", "Ärger", "luna", "Luna Rex"}

// fill makes n pets in seven categories, with stock and orders of every kind.
func (s *tenant) fill(n int64) {
	s.Helper()
	for i := range 7 {
		s.category(names[i%len(names)])
	}
	for i := range n {
		pet := s.petIn(i%7+1, names[int(i)%len(names)], petstore.Statuses()[i%3])
		if i%3 != 0 {
			continue
		}
		s.stock(pet, i%5+1)
		for k := range min(i%5+1, 2) {
			o := petstore.NewOrder{PetID: pet, Quantity: 1, Complete: (i/3+k)%2 == 0}
			if i%2 == 0 {
				o.ShipDate = petstore.At(start.Add(time.Duration(i) * time.Hour))
			}
			if _, err := s.CreateOrder(s.ctx, s.workspace, o, nil); err != nil {
				s.Fatal(err)
			}
		}
	}
}

// Naive returns the page of the rows that match; all are in ascending order of ids.
func Naive[T any](all []T, id func(T) int64, page petstore.Page, match func(T) bool) []T {
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

func pages() *rapid.Generator[petstore.Page] {
	return rapid.Custom(func(t *rapid.T) petstore.Page {
		return petstore.Page{After: rapid.Int64Range(0, 45).Draw(t, "after"), Limit: rapid.IntRange(1, 50).Draw(t, "limit"), Newest: rapid.Bool().Draw(t, "newest")}
	})
}

func statuses() *rapid.Generator[[]petstore.Status] {
	return rapid.SliceOfN(rapid.SampledFrom(petstore.Statuses()), 0, 4)
}

func parts() *rapid.Generator[string] {
	return rapid.Map(rapid.SampledFrom([]string{"", "", "rex", "E", "STRASSE", "ä", "luna ", "%", "_", "zebra"}), petstore.Fold)
}

func named(name, part string) bool { return strings.Contains(petstore.Fold(name), part) }

// compare fails the property unless the list is what is wanted.
func compare[T any](t *rapid.T, q any, got []T, err error, want []T) {
	if err != nil || !(len(got) == 0 && len(want) == 0 || reflect.DeepEqual(got, want)) {
		t.Fatalf("list of %+v = %v, %v, want %v", q, got, err, want)
	}
}

func testPetLists(t *testing.T, open Open) {
	c := newCatalogue(t, open)
	rapid.Check(t, func(t *rapid.T) {
		q := petstore.PetQuery{
			Page:       pages().Draw(t, "page"),
			Statuses:   statuses().Draw(t, "statuses"),
			CategoryID: rapid.SampledFrom([]int64{0, 0, 1, 5, 7, 99}).Draw(t, "category"),
			Name:       parts().Draw(t, "name"),
		}
		if rapid.Bool().Draw(t, "by id") {
			q.IDs = rapid.SliceOfN(rapid.Int64Range(-1, 50), 1, 30).Draw(t, "ids")
		}
		got, err := c.Stores.Pets(c.ctx, c.workspace, q)
		compare(t, q, got, err, Naive(c.pets, func(p petstore.Pet) int64 { return p.ID }, q.Page, q.Selects))
	})
}

func testCategoryLists(t *testing.T, open Open) {
	c := newCatalogue(t, open)
	rapid.Check(t, func(t *rapid.T) {
		q := petstore.CategoryQuery{Page: pages().Draw(t, "page"), Name: parts().Draw(t, "name")}
		got, err := c.Stores.Categories(c.ctx, c.workspace, q)
		compare(t, q, got, err, Naive(c.categories, func(c petstore.Category) int64 { return c.ID }, q.Page,
			func(c petstore.Category) bool { return named(c.Name, q.Name) }))
	})
}

func testOrderLists(t *testing.T, open Open) {
	c := newCatalogue(t, open)
	date := rapid.Map(rapid.IntRange(-10, 40), func(hours int) petstore.Time {
		if hours < 0 {
			return petstore.Time{}
		}
		return petstore.At(start.Add(time.Duration(hours) * time.Hour))
	})
	rapid.Check(t, func(t *rapid.T) {
		q := petstore.OrderQuery{
			Page: pages().Draw(t, "page"), PetID: rapid.Int64Range(0, 12).Draw(t, "pet"),
			ShipDateFrom: date.Draw(t, "from"), ShipDateTo: date.Draw(t, "to"),
		}
		if rapid.Bool().Draw(t, "by completeness") {
			complete := rapid.Bool().Draw(t, "complete")
			q.Complete = &complete
		}
		got, err := c.Stores.Orders(c.ctx, c.workspace, q)
		compare(t, q, got, err, Naive(c.orders, func(o petstore.Order) int64 { return o.ID }, q.Page, func(o petstore.Order) bool { return SelectsOrder(&q, o) }))
	})
}

// SelectsOrder reports whether a query, but for its page, selects an order.
func SelectsOrder(q *petstore.OrderQuery, o petstore.Order) bool {
	return (q.PetID == 0 || q.PetID == o.PetID) && (q.Complete == nil || *q.Complete == o.Complete) &&
		(!q.ShipDateFrom.Valid || o.ShipDate.Valid && o.ShipDate.Millis >= q.ShipDateFrom.Millis) &&
		(!q.ShipDateTo.Valid || o.ShipDate.Valid && o.ShipDate.Millis <= q.ShipDateTo.Millis)
}

func testInventoryLists(t *testing.T, open Open) {
	c := newCatalogue(t, open)
	rapid.Check(t, func(t *rapid.T) {
		q := petstore.InventoryQuery{Page: pages().Draw(t, "page"), Statuses: statuses().Draw(t, "statuses")}
		if rapid.Bool().Draw(t, "by quantity") {
			most := rapid.Int64Range(0, 6).Draw(t, "most")
			q.MaxQuantity = &most
		}
		got, err := c.Stores.Inventory(c.ctx, c.workspace, q)
		compare(t, q, got, err, Naive(c.items, func(i petstore.InventoryItem) int64 { return i.PetID }, q.Page,
			func(i petstore.InventoryItem) bool {
				return (len(q.Statuses) == 0 || slices.Contains(q.Statuses, i.Status)) &&
					(q.MaxQuantity == nil || i.Quantity <= *q.MaxQuantity)
			}))
	})
}

// testListLimits: a limit of nothing, and a list of nothing.
func testListLimits(t *testing.T, open Open) {
	s := newTenant(t, open)
	for _, limit := range []int{0, 1, 1000} {
		got, err := s.Stores.Pets(s.ctx, s.workspace, petstore.PetQuery{Page: petstore.Page{Limit: limit}})
		if len(got) != 0 || err != nil {
			t.Errorf("Pets of an empty workspace, limit %d = %v, %v, want none", limit, got, err)
		}
	}
	s.pet(1)
	for _, q := range []petstore.PetQuery{{}, {IDs: []int64{1}}, {Page: petstore.Page{Limit: 5, After: petstore.MaxID}}} {
		if got, err := s.Stores.Pets(s.ctx, s.workspace, q); len(got) != 0 || err != nil {
			t.Errorf("Pets(%s) = %v, %v, want none", fmt.Sprintf("%+v", q), got, err)
		}
	}
}

// longLists is how many pets testLongLists has, more than are tested before an index is
// asked. There are as many orders.
const longLists = 3000

// A longList is a workspace with many rows, a few of which pass most filters.
type longList struct {
	*tenant

	pets   []petstore.Pet
	items  []petstore.InventoryItem
	orders []petstore.Order
}

func newLongList(s *tenant, seed uint64) *longList {
	l := &longList{tenant: s}
	r := rand.New(rand.NewPCG(seed, 2))
	units := []petstore.Unit{{Category: &petstore.Category{ID: 1, Name: "Dogs"}}, {Category: &petstore.Category{ID: 2, Name: "Cats"}}}
	for id := range int64(longLists) {
		p := petstore.StockedPet{Pet: petstore.Pet{ID: id + 1, Name: "Luna " + madeUp(r), CategoryID: 1 + r.Int64N(2), Status: petstore.Statuses()[r.IntN(3)]}}
		if r.IntN(50) > 0 {
			p.Name = fmt.Sprint("Bella Hartwick ", r.IntN(100))
		}
		switch {
		case p.Status == petstore.Sold:
		case r.IntN(100) == 0 || id/1000 == 2:
			p.Quantity = 1 + r.Int64N(60)
		default:
			p.Quantity = 1000 + r.Int64N(1_000_000)
		}
		o := petstore.Order{ID: id + 1, PetID: id + 1, Quantity: 1, Complete: p.Status == petstore.Sold || r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			o.ShipDate = petstore.Time{Millis: r.Int64N(longLists) - 100, Valid: true}
			if r.IntN(3) == 0 {
				o.ShipDate.Millis = id / 1000 // as workspaces ship
			}
		}
		if !o.Complete {
			p.OpenOrders = 1
		}
		units = append(units, petstore.Unit{PetID: p.ID, Pet: &p, Orders: []petstore.Order{o}})
		l.orders = append(l.orders, o)
	}
	if refused := s.load(&petstore.Batch{Units: units}); len(refused) > 0 {
		s.Fatal(refused)
	}
	for _, u := range units[2:] {
		l.pets, l.items = append(l.pets, u.Pet.Pet), append(l.items, u.Pet.Item())
	}
	return l
}

// testLongLists: pages are whole and in order where their first rows are tested one by one
// and others come by an index, while pets change.
func testLongLists(t *testing.T, open Open) {
	s := newTenant(t, open)
	newLongList(s.beside("other"), 1)
	l := newLongList(s, 2)
	page := rapid.Custom(func(t *rapid.T) petstore.Page {
		return petstore.Page{
			After: rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, longLists+10)).Draw(t, "after"),
			Limit: rapid.SampledFrom([]int{1, 2, 7, 21, 101, 1000}).Draw(t, "limit"), Newest: rapid.Bool().Draw(t, "newest"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		l.change(t)
		l.comparePets(t, page.Draw(t, "page of pets"))
		l.compareItems(t, page.Draw(t, "page of items"))
		l.compareOrders(t, page.Draw(t, "page of orders"))
	})
}

// change gives a pet another stock and another name.
func (l *longList) change(t *rapid.T) {
	i := rapid.IntRange(0, longLists-1).Draw(t, "pet")
	id := l.pets[i].ID
	_, err1 := l.UpdateInventory(l.ctx, l.workspace, id, rapid.Int64Range(0, 120).Draw(t, "quantity"), petstore.Condition{})
	name := rapid.SampledFrom([]string{"Zebedee", "Bella", "100%_"}).Draw(t, "name")
	_, err2 := l.UpdatePet(l.ctx, l.workspace, id, petstore.PetPatch{Name: petstore.Some(name)}, petstore.Condition{})
	var err3, err4 error
	l.pets[i], err3 = l.Stores.Pet(l.ctx, l.workspace, id)
	l.items[i], err4 = l.Stores.InventoryItem(l.ctx, l.workspace, id)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
}

func (l *longList) comparePets(t *rapid.T, page petstore.Page) {
	q := petstore.PetQuery{
		Page: page, Statuses: statuses().Draw(t, "statuses"), CategoryID: rapid.Int64Range(0, 2).Draw(t, "category"),
		Name: rapid.SampledFrom([]string{"zebedee", "bella", "una ", "a hart", "ella hartwick 7", "100%", "%_", "__", `\\`, "é", "none such", "q"}).Draw(t, "name"),
	}
	got, err := l.Stores.Pets(l.ctx, l.workspace, q)
	compare(t, q, got, err, Naive(l.pets, func(p petstore.Pet) int64 { return p.ID }, q.Page, q.Selects))
}

func (l *longList) compareItems(t *rapid.T, page petstore.Page) {
	q := petstore.InventoryQuery{Page: page, Statuses: statuses().Draw(t, "statuses")}
	most := rapid.OneOf(rapid.Int64Range(0, 120), rapid.Int64Range(0, 2_000_000)).Draw(t, "most")
	q.MaxQuantity = &most
	got, err := l.Stores.Inventory(l.ctx, l.workspace, q)
	compare(t, q, got, err, Naive(l.items, func(i petstore.InventoryItem) int64 { return i.PetID }, q.Page, func(i petstore.InventoryItem) bool {
		return i.Quantity <= most && (len(q.Statuses) == 0 || slices.Contains(q.Statuses, i.Status))
	}))
}

func (l *longList) compareOrders(t *rapid.T, page petstore.Page) {
	date := rapid.Custom(func(t *rapid.T) petstore.Time {
		return petstore.Time{Millis: rapid.OneOf(rapid.Int64Range(-150, longLists), rapid.Int64Range(-3, 9)).Draw(t, "date"), Valid: rapid.IntRange(0, 3).Draw(t, "given") > 0}
	})
	q := petstore.OrderQuery{Page: page, ShipDateFrom: date.Draw(t, "from"), ShipDateTo: date.Draw(t, "to")}
	if rapid.Bool().Draw(t, "by completeness") {
		q.Complete = new(rapid.Bool().Draw(t, "complete"))
	}
	got, err := l.Stores.Orders(l.ctx, l.workspace, q)
	compare(t, q, got, err, Naive(l.orders, func(o petstore.Order) int64 { return o.ID }, q.Page, func(o petstore.Order) bool { return SelectsOrder(&q, o) }))
}
