package sqlite

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/storetest"
	"pgregory.net/rapid"
)

// sales are the orders of one workspace, as they should be listed.
type sales struct {
	t         *testing.T
	db        *DB
	service   *petstore.Service
	workspace int64
	pets      []int64 // that are there
	orders    []petstore.Order
}

// TestOrdersOfPets holds the lists of pets' orders against a naive filter, while
// orders are placed, completed and cancelled, and pets are deleted.
func TestOrdersOfPets(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	opened := 0
	rapid.Check(t, func(r *rapid.T) {
		opened++
		s := &sales{t: t, db: db, service: petstore.NewService(db)}
		s.open(fmt.Sprint("workspace ", opened), 3)
		r.Repeat(map[string]func(*rapid.T){
			"place": s.place, "place many": s.placeMany, "complete": s.complete, "cancel": s.cancel, "delete a pet": s.deletePet, "list": s.list,
		})
		s.list(r)
		s.dump(r)
	})
	if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("Check = %q, %v, want nothing", problems, err)
	}
}

func (s *sales) open(name string, pets int) {
	s.t.Helper()
	w, err := s.db.CreateWorkspace(s.t.Context(), access.Workspace{Name: name, Plan: access.Free, Quota: access.FreeQuota}, "cli")
	if err != nil {
		s.t.Fatal(err)
	}
	s.workspace = w.ID
	if _, err := s.service.CreateCategory(s.t.Context(), s.workspace, petstore.NewCategory{Name: "Dogs"}, nil); err != nil {
		s.t.Fatal(err)
	}
	for id := range int64(pets) {
		if _, err := s.service.CreatePet(s.t.Context(), s.workspace, petstore.NewPet{Name: "Rex", CategoryID: 1}, nil); err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.service.UpdateInventory(s.t.Context(), s.workspace, id+1, 1_000_000, petstore.Condition{}); err != nil {
			s.t.Fatal(err)
		}
		s.pets = append(s.pets, id+1)
	}
}

func (s *sales) place(r *rapid.T) {
	n := petstore.NewOrder{PetID: rapid.SampledFrom(s.pets).Draw(r, "pet"), Quantity: 1, Complete: rapid.Bool().Draw(r, "complete")}
	if rapid.Bool().Draw(r, "with a date") {
		n.ShipDate = petstore.Time{Millis: rapid.Int64Range(0, 9).Draw(r, "date"), Valid: true}
	}
	leap := rapid.SampledFrom([]int64{0, 0, 100, 1 << 20, 1 << 44}).Draw(r, "leap")
	if err := s.db.change(s.t.Context(), func(c *conn) error {
		return c.exec("UPDATE counters SET orders=orders+? WHERE workspace=?", leap, s.workspace)
	}); err != nil {
		r.Fatal(err)
	}
	made, err := s.service.CreateOrder(s.t.Context(), s.workspace, n, nil)
	if err != nil {
		r.Fatal(err)
	}
	s.remember(r, made.ID)
}

func (s *sales) placeMany(r *rapid.T) {
	for range 12 {
		s.place(r)
	}
}

// remember keeps an order as it is now, among the others in the order of ids.
func (s *sales) remember(r *rapid.T, id int64) {
	o, err := s.service.Order(s.t.Context(), s.workspace, id)
	if err != nil {
		r.Fatal(err)
	}
	if i := slices.IndexFunc(s.orders, func(o petstore.Order) bool { return o.ID == id }); i >= 0 {
		s.orders[i] = o
		return
	}
	s.orders = append(s.orders, o)
}

// openOrder returns one that may change, if there is any.
func (s *sales) openOrder(r *rapid.T) int64 {
	var open []int64
	for _, o := range s.orders {
		if !o.Complete {
			open = append(open, o.ID)
		}
	}
	if len(open) == 0 {
		r.Skip("no order is open")
	}
	return rapid.SampledFrom(open).Draw(r, "order")
}

func (s *sales) complete(r *rapid.T) {
	id := s.openOrder(r)
	if _, err := s.service.UpdateOrder(s.t.Context(), s.workspace, id, petstore.OrderPatch{Complete: petstore.Some(true)}, petstore.Condition{}); err != nil {
		r.Fatal(err)
	}
	s.remember(r, id)
}

func (s *sales) cancel(r *rapid.T) {
	id := s.openOrder(r)
	if err := s.service.CancelOrder(s.t.Context(), s.workspace, id, petstore.Condition{}); err != nil {
		r.Fatal(err)
	}
	s.orders = slices.DeleteFunc(s.orders, func(o petstore.Order) bool { return o.ID == id })
}

// deletePet completes the orders of a pet, and removes it. One pet stays.
func (s *sales) deletePet(r *rapid.T) {
	if len(s.pets) == 1 {
		r.Skip("the last pet")
	}
	pet := rapid.SampledFrom(s.pets).Draw(r, "pet")
	for _, o := range s.orders {
		if o.PetID != pet || o.Complete {
			continue
		}
		if _, err := s.service.UpdateOrder(s.t.Context(), s.workspace, o.ID, petstore.OrderPatch{Complete: petstore.Some(true)}, petstore.Condition{}); err != nil {
			r.Fatal(err)
		}
		s.remember(r, o.ID)
	}
	if err := s.service.DeletePet(s.t.Context(), s.workspace, pet, petstore.Condition{}); err != nil {
		r.Fatal(err)
	}
	s.pets = slices.DeleteFunc(s.pets, func(id int64) bool { return id == pet })
}

func (s *sales) list(r *rapid.T) {
	q := petstore.OrderQuery{PetID: rapid.Int64Range(1, 4).Draw(r, "pet")}
	q.Limit = rapid.SampledFrom([]int{1, 2, 7, 21, 101}).Draw(r, "limit")
	if len(s.orders) > 0 && rapid.Bool().Draw(r, "further") {
		q.After = rapid.SampledFrom(s.orders).Draw(r, "after").ID + rapid.Int64Range(-1, 0).Draw(r, "before it")
	}
	if rapid.Bool().Draw(r, "by completeness") {
		complete := rapid.Bool().Draw(r, "complete")
		q.Complete = &complete
	}
	date := rapid.Custom(func(t *rapid.T) petstore.Time {
		return petstore.Time{Millis: rapid.Int64Range(0, 9).Draw(t, "date"), Valid: rapid.IntRange(0, 3).Draw(t, "valid") == 0}
	})
	q.ShipDateFrom, q.ShipDateTo = date.Draw(r, "from"), date.Draw(r, "to")
	got, err := s.db.Orders(s.t.Context(), s.workspace, q)
	want := storetest.Naive(s.orders, func(o petstore.Order) int64 { return o.ID }, q.Page, func(o petstore.Order) bool {
		return storetest.SelectsOrder(&q, o)
	})
	if err != nil || !reflect.DeepEqual(got, want) {
		r.Fatalf("Orders(%+v) = %v, %v, want %v", q, got, err, want)
	}
}

// dump holds the order in which the orders are exported against that of all.
func (s *sales) dump(r *rapid.T) {
	var got exported
	if err := s.db.Dump(s.t.Context(), s.workspace, &got); err != nil {
		r.Fatal(err)
	}
	want := slices.SortedStableFunc(slices.Values(s.orders), func(a, b petstore.Order) int {
		if a.PetID == b.PetID && a.Complete != b.Complete {
			return map[bool]int{false: -1, true: 1}[a.Complete]
		}
		return cmp.Compare(a.PetID, b.PetID)
	})
	if !slices.Equal(got, want) {
		r.Fatalf("Dump gives %v, want %v", got, want)
	}
}

// exported keeps the orders of a dump.
type exported []petstore.Order

func (e *exported) Begin(petstore.LastIDs) error     { return nil }
func (e *exported) Category(petstore.Category) error { return nil }
func (e *exported) Pet(petstore.StockedPet) error    { return nil }
func (e *exported) Movement(petstore.Movement) error { return nil }
func (e *exported) Order(o petstore.Order) error     { *e = append(*e, o); return nil }

// TestImportedOrdersOfPets: orders of a pet that is gone are listed, also when a pet
// of that id comes later.
func TestImportedOrdersOfPets(t *testing.T) {
	t.Parallel()
	db := openTest(t, Options{Readers: 1})
	s := &sales{t: t, db: db, service: petstore.NewService(db)}
	s.open("acme", 0)
	load := func(u petstore.Unit) {
		t.Helper()
		if _, err := u.Check(petstore.At(db.now())); err != nil {
			t.Fatal(err)
		}
		if refused, err := db.Load(t.Context(), s.workspace, &petstore.Batch{Units: []petstore.Unit{u}}); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	order := petstore.Order{ID: 10, PetID: 5, Quantity: 1, Complete: true}
	load(petstore.Unit{PetID: 5, Orders: []petstore.Order{order}})
	load(petstore.Unit{PetID: 5, Pet: &petstore.StockedPet{Pet: petstore.Pet{ID: 5, Name: "Rex", CategoryID: 1, Status: petstore.Available}, Quantity: 3}})
	made, err := s.service.CreateOrder(t.Context(), s.workspace, petstore.NewOrder{PetID: 5, Quantity: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := db.Orders(t.Context(), s.workspace, petstore.OrderQuery{PetID: 5, Page: petstore.Page{Limit: 9}})
	if len(got) != 2 || got[0] != order || got[1].ID != made.ID || err != nil {
		t.Errorf("Orders of the pet = %v, %v, want 10 and %d", got, err, made.ID)
	}
	if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("Check = %q, %v, want nothing", problems, err)
	}
}
