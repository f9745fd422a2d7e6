package storetest

import (
	"fmt"
	"reflect"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

var bulkTests = map[string]func(*testing.T, Open){
	"round trip":        testBulkRoundTrip,
	"reached":           testReached,
	"new ids":           testBulkNewIDs,
	"refusals":          testBulkRefusals,
	"skipping":          testBulkSkips,
	"counters":          testBulkCounters,
	"unknown workspace": testBulkNowhere,
	"beside writers":    testBulkBesideWriters,
	"dry run":           testBulkDryRun,
	"amendments":        testAmend,
}

// A keeper is a sink that makes units of what it is given.
type keeper struct {
	last  petstore.LastIDs
	units []petstore.Unit
}

func (k *keeper) Begin(last petstore.LastIDs) error {
	k.last = last
	return nil
}

func (k *keeper) Category(c petstore.Category) error {
	k.units = append(k.units, petstore.Unit{Category: &c})
	return nil
}

func (k *keeper) Pet(p petstore.StockedPet) error {
	k.units = append(k.units, petstore.Unit{PetID: p.ID, Pet: &p})
	return nil
}

func (k *keeper) Order(o petstore.Order) error {
	u := k.of(o.PetID)
	u.Orders = append(u.Orders, o)
	return nil
}

func (k *keeper) Movement(m petstore.Movement) error {
	u := k.of(m.PetID)
	u.Movements = append(u.Movements, m)
	return nil
}

// of returns the unit of a pet, a new one if that was deleted.
func (k *keeper) of(pet int64) *petstore.Unit {
	if n := len(k.units); n > 0 && k.units[n-1].PetID == pet {
		return &k.units[n-1]
	}
	k.units = append(k.units, petstore.Unit{PetID: pet})
	return &k.units[len(k.units)-1]
}

func (s *tenant) dump() *keeper {
	s.Helper()
	k := new(keeper)
	must(s, s.Dump(s.ctx, s.workspace, k))
	return k
}

// load loads units, which must be in order.
func (s *tenant) load(b *petstore.Batch) []petstore.Refusal {
	s.Helper()
	for i := range b.Units {
		if place, err := b.Units[i].Check(petstore.At(s.clock.Now())); err != nil {
			s.Fatalf("unit %d, %+v: %v", i, place, err)
		}
	}
	refused, err := s.Load(s.ctx, s.workspace, b)
	if err != nil {
		s.Fatalf("Load = %v", err)
	}
	return refused
}

// lively fills a workspace with rows of every kind and state.
func (s *tenant) lively() {
	s.Helper()
	description := "Those that \"bark\"; ä, 猫"
	made, err := s.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: "Dogs", Description: &description}, nil)
	must(s, err)
	unused := s.category("Cats")
	kept, gone := s.petIn(made.ID, "Rex", petstore.Available), s.petIn(made.ID, "Tom", petstore.Available)
	s.petIn(made.ID, "Held", petstore.Pending)
	s.stock(kept, 9)
	first := s.order(kept, 2)
	s.order(kept, 3)
	must(s, s.complete(first))
	must(s, s.cancel(s.order(kept, 1)))
	must(s, s.complete(s.order(gone, 1)))
	must(s, s.DeletePet(s.ctx, s.workspace, gone, petstore.Condition{}))
	must(s, s.DeleteCategory(s.ctx, s.workspace, unused, petstore.Condition{}))
}

// testBulkRoundTrip: what one workspace gives another one takes, and gives
// again.
func testBulkRoundTrip(t *testing.T, open Open) {
	s := newTenant(t, open)
	s.lively()
	want := s.dump()
	copied := s.beside("copy")
	if refused := copied.load(&petstore.Batch{Units: s.dump().units, Last: want.last}); len(refused) > 0 {
		t.Fatalf("refused %+v", refused)
	}
	if got := copied.dump(); !reflect.DeepEqual(got, want) {
		t.Errorf("the copy gives\n%+v, want\n%+v", got, want)
	}
}

// newPets are units of pets without ids, in a category that has none either.
func newPets(n int) []petstore.Unit {
	kind := &petstore.Category{Name: "Dogs"}
	units := []petstore.Unit{{Category: kind}}
	for i := range n {
		p := &petstore.StockedPet{Pet: petstore.Pet{Name: fmt.Sprintf("Pet %d", i), Status: petstore.Available}, Quantity: 2}
		units = append(units, petstore.Unit{Pet: p, In: kind})
	}
	return units
}

// testBulkNewIDs: units without an id get ids that follow each other, in their
// order, above those that were given.
func testBulkNewIDs(t *testing.T, open Open) {
	s := newTenant(t, open)
	category := s.category("Cats")
	before := s.petIn(category, "Tom", petstore.Available)
	units := newPets(500)
	if refused := s.load(&petstore.Batch{Units: units}); len(refused) > 0 {
		t.Fatalf("refused %+v", refused)
	}
	if got := units[0].Category.ID; got <= category {
		t.Errorf("the category has the id %d, want one above %d", got, category)
	}
	first := units[1].PetID
	if first <= before {
		t.Errorf("the first pet has the id %d, want one above %d", first, before)
	}
	for i, u := range units[1:] {
		if want := first + int64(i); u.PetID != want || u.Pet.ID != want {
			t.Fatalf("pet %d has the ids %d and %d, want %d", i, u.PetID, u.Pet.ID, want)
		}
	}
	last := units[500].PetID
	s.wantItem(last, 2, petstore.Available)
	got, err := s.Pet(s.ctx, s.workspace, last)
	if want := (petstore.Pet{ID: last, Name: "Pet 499", CategoryID: units[0].Category.ID, Status: petstore.Available}); got != want || err != nil {
		t.Errorf("Pet(%d) = %+v, %v, want %+v", last, got, err, want)
	}
	if next := s.petIn(category, "Next", petstore.Available); next == before || first <= next && next <= last {
		t.Errorf("the next pet has the id %d, which was given before", next)
	}
	movements, _, err := s.Movements(s.ctx, s.workspace, last, 0, 10)
	if err != nil || len(movements) != 1 || movements[0].Kind != petstore.MovedCreated || movements[0].Quantity != 2 {
		t.Errorf("Movements(%d) = %+v, %v, want the one that explains 2", last, movements, err)
	}
}

// clashes are units that contradict what lively leaves, or each other, with what
// refuses them.
func (s *tenant) clashes() []struct {
	name  string
	units []petstore.Unit // of which the last one is refused
	place petstore.Place
	text  string
} {
	at := petstore.At(s.clock.Now())
	dogs := int64(1)
	pet := func(id, category, quantity int64, orders ...petstore.Order) petstore.Unit {
		status := petstore.Available
		if quantity == 0 {
			status = petstore.Pending
		}
		return petstore.Unit{
			PetID: id, Orders: orders,
			Pet: &petstore.StockedPet{Pet: petstore.Pet{ID: id, Name: "New", CategoryID: category, Status: status}, Quantity: quantity},
		}
	}
	order := func(id, pet int64) petstore.Order {
		return petstore.Order{ID: id, PetID: pet, Quantity: 1, Complete: true}
	}
	ledger := []petstore.Movement{
		{PetID: 2, Number: 1, Kind: petstore.MovedCreated, Delta: 1, Quantity: 1, At: at},
		{PetID: 2, Number: 2, Kind: petstore.MovedDeleted, Delta: -1, At: at},
	}
	category := func(id int64) petstore.Unit {
		return petstore.Unit{Category: &petstore.Category{ID: id, Name: "New"}}
	}
	type units = []petstore.Unit
	return []struct {
		name  string
		units []petstore.Unit
		place petstore.Place
		text  string
	}{
		{"category", units{category(dogs)}, petstore.Place{}, "There is a category with the id 1 already."},
		{"category twice", units{category(70), category(70)}, petstore.Place{}, "There is a category with the id 70 already."},
		{"pet", units{pet(1, dogs, 1)}, petstore.Place{}, "There is a pet with the id 1 already."},
		{"pet twice", units{pet(70, dogs, 1), pet(70, dogs, 1)}, petstore.Place{}, "There is a pet with the id 70 already."},
		{"no category", units{pet(70, 71, 1)}, petstore.Place{}, "There is no category with the id 71."},
		{"order", units{pet(70, dogs, 1, order(70, 70), order(1, 70))}, petstore.Place{Order: 2}, "There is an order with the id 1 already."},
		{"order twice", units{pet(70, dogs, 1, order(70, 70), order(70, 70))}, petstore.Place{Order: 2}, "There is an order with the id 70 already."},
		{"deleted pet", units{pet(2, dogs, 1)}, petstore.Place{Movement: 1}, "The pet 2 has a ledger already: it was deleted, and its id is not used again."},
		{"ledger", units{{PetID: 2, Movements: ledger}}, petstore.Place{Movement: 1}, "The pet 2 has a ledger already: it was deleted, and its id is not used again."},
		{"ledger of a pet", units{{PetID: 1, Orders: []petstore.Order{order(70, 1)}}}, petstore.Place{}, "There is a pet with the id 1 already; its orders and its ledger can only come with it."},
	}
}

// testBulkRefusals: one unit that contradicts the store undoes its batch.
func testBulkRefusals(t *testing.T, open Open) {
	s := newTenant(t, open)
	s.lively()
	want := s.dump()
	for _, c := range s.clashes() {
		b := &petstore.Batch{Units: append(newPets(2), c.units...)}
		refused := s.load(b)
		if len(refused) != 1 || refused[0].Unit != len(b.Units)-1 || refused[0].Place != c.place || refused[0].Err.Error() == "" {
			t.Errorf("%s: refused %+v, want the last unit at %+v", c.name, refused, c.place)
			continue
		}
		if e := errorText(refused[0].Err); e != c.text {
			t.Errorf("%s: refused for %q, want %q", c.name, e, c.text)
		}
		got := s.dump()
		got.last = want.last // ids may be left out
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: after the refusal there is\n%+v, want\n%+v", c.name, got, want)
		}
	}
}

// testBulkSkips: with SkipRefused the other units are kept, those that stand on
// the refused one too if it was there before.
func testBulkSkips(t *testing.T, open Open) {
	s := newTenant(t, open)
	s.lively()
	b := &petstore.Batch{SkipRefused: true}
	var refusedAt []int
	for _, c := range s.clashes() {
		if c.name == "category twice" || c.name == "pet twice" { // the first of two is kept
			continue
		}
		b.Units = append(b.Units, c.units...)
		refusedAt = append(refusedAt, len(b.Units)-1)
		b.Units = append(b.Units, newPets(1)...)
	}
	count := func() int { return len(s.dump().units) }
	before := count()
	refused := s.load(b)
	for i, r := range refused {
		if i >= len(refusedAt) || r.Unit != refusedAt[i] {
			t.Fatalf("refused %+v, want the units %v", refused, refusedAt)
		}
	}
	if len(refused) != len(refusedAt) || count() != before+len(b.Units)-len(refused) {
		t.Errorf("%d refused, %d kept, want %d and %d", len(refused), count()-before, len(refusedAt), len(b.Units)-len(refusedAt))
	}
}

// testBulkCounters: ids that a batch brings along, or names as issued, are not
// issued again; those of a batch that was refused are.
func testBulkCounters(t *testing.T, open Open) {
	s := newTenant(t, open)
	dogs := s.category("Dogs")
	pet := func(id, category int64) petstore.Unit {
		p := petstore.StockedPet{Pet: petstore.Pet{ID: id, Name: "New", CategoryID: category, Status: petstore.Available}, Quantity: 2}
		return petstore.Unit{PetID: id, Pet: &p, Orders: []petstore.Order{{ID: 2 * id, PetID: id, Quantity: 1}}}
	}
	refused := s.load(&petstore.Batch{Units: []petstore.Unit{pet(1_000_000, dogs+9)}, Last: petstore.LastIDs{Categories: petstore.MaxID}})
	if len(refused) != 1 {
		t.Errorf("refused %+v, want the one without a category", refused)
	}
	if refused := s.load(&petstore.Batch{Units: []petstore.Unit{pet(40, dogs)}, Last: petstore.LastIDs{Categories: 60}}); len(refused) > 0 {
		t.Fatalf("refused %+v", refused)
	}
	if id := s.petIn(dogs, "Next", petstore.Available); id != 41 {
		t.Errorf("the next pet has the id %d, want 41", id)
	}
	if id := s.category("Next"); id != 61 {
		t.Errorf("the next category has the id %d, want 61", id)
	}
	if id := s.order(40, 1); id != 81 {
		t.Errorf("the next order has the id %d, want 81", id)
	}
}

func testBulkNowhere(t *testing.T, open Open) {
	s := newTenant(t, open)
	for _, units := range [][]petstore.Unit{newPets(1), {{Category: &petstore.Category{ID: 1, Name: "Dogs"}}}} {
		_, err := s.Load(s.ctx, s.workspace+1, &petstore.Batch{Units: units})
		wantCode(t, "Load into no workspace", err, access.CodeWorkspaceNotFound)
	}
}

// testBulkBesideWriters: several loads and the writes of a server go on at once,
// and no id is given twice.
func testBulkBesideWriters(t *testing.T, open Open) {
	s := newTenant(t, open)
	dogs := s.category("Dogs")
	const each, rounds = 20, 10
	errs := parallel(8, func(i int) error {
		for range rounds {
			if i%2 == 0 {
				if _, err := s.Load(s.ctx, s.workspace, &petstore.Batch{Units: checked(newPets(each - 1))}); err != nil {
					return err
				}
				continue
			}
			p, err := s.CreatePet(s.ctx, s.workspace, petstore.NewPet{Name: "Rex", CategoryID: dogs}, nil)
			if err != nil {
				return err
			}
			if _, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: p.ID, Quantity: 1}, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if got := codes(errs); got[""] != len(errs) {
		t.Errorf("outcomes %v, want no error", got)
	}
	want := 1 + 4*rounds*each + 4*rounds
	if got := len(s.dump().units); got != want {
		t.Errorf("%d units, want %d", got, want)
	}
}

// checked returns units that are fit for Load.
func checked(units []petstore.Unit) []petstore.Unit {
	for i := range units {
		if _, err := units[i].Check(petstore.At(start)); err != nil {
			panic(err)
		}
	}
	return units
}

// errorText returns the message that a caller sees.
func errorText(err error) string {
	if e, ok := err.(*petstore.Error); ok { //nolint:errorlint // Load promises this very kind
		return e.Message
	}
	return err.Error()
}

// wantReached fails the test unless the store remembers the line of a file.
func (s *tenant) wantReached(file string, want int) {
	s.Helper()
	if got, err := s.ImportedThrough(s.ctx, s.workspace, file); got != want || err != nil {
		s.Errorf("ImportedThrough(%q) = %d, %v, want %d", file, got, err, want)
	}
}

func testReached(t *testing.T, open Open) {
	s := newTenant(t, open)
	dogs := petstore.Unit{Category: &petstore.Category{ID: 70, Name: "Dogs"}}
	s.wantReached("a", 0)
	s.load(&petstore.Batch{File: "a", Through: 7, Units: []petstore.Unit{dogs}})
	s.wantReached("a", 7)
	s.wantReached("b", 0)
	if refused := s.load(&petstore.Batch{File: "a", Through: 9, Units: []petstore.Unit{dogs}}); len(refused) != 1 {
		t.Errorf("the same again is refused %d times, want once", len(refused))
	}
	s.wantReached("a", 7)
	s.load(&petstore.Batch{File: "a"})
	s.wantReached("a", 0)
}

// testBulkDryRun: a dry run refuses what Load and Amend refuse, also for what stood before in the same file, and
// writes nothing.
func testBulkDryRun(t *testing.T, open Open) {
	s := newTenant(t, open)
	s.lively()
	want := s.dump()
	for _, c := range s.clashes() {
		err := s.DryRun(s.ctx, s.workspace, func(in petstore.Bulk) error {
			last := len(c.units) - 1
			for i := range c.units { // one by one, as in a long file
				refused, err := in.Load(s.ctx, s.workspace, &petstore.Batch{Units: checked(c.units[i : i+1])})
				if err != nil {
					return err
				}
				if (len(refused) == 1) != (i == last) || i == last && (refused[0].Place != c.place || errorText(refused[0].Err) != c.text) {
					t.Errorf("%s: unit %d is refused with %+v, want %q of the last at %+v", c.name, i, refused, c.text, c.place)
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: DryRun = %v", c.name, err)
		}
	}
	err := s.DryRun(s.ctx, s.workspace, func(in petstore.Bulk) error {
		units := checked(newPets(3))
		if refused, err := in.Load(s.ctx, s.workspace, &petstore.Batch{Units: units}); len(refused) > 0 || err != nil {
			t.Errorf("Load = %+v, %v", refused, err)
		}
		made := units[0].Category.ID
		var done [3]petstore.Amended
		move := func(petstore.StockedPet) (petstore.Amendment, error) {
			return petstore.Amendment{PetPatch: petstore.PetPatch{CategoryID: petstore.Some(made)}, Quantity: petstore.Some(int64(7))}, nil
		}
		refused, err := in.Amend(s.ctx, s.workspace, []*petstore.Change{
			petstore.Amend(s.ctx, s.workspace, 1, made, move, &done[0]), petstore.Amend(s.ctx, s.workspace, 99, made, move, &done[1]),
			petstore.Amend(s.ctx, s.workspace, 1, made-5, move, &done[2]),
		}, false, "", 0)
		if err != nil || refused[0] != nil || errorText(refused[1]) != "There is no pet with the id 99." || refused[2] == nil || done[0].After.Quantity != 7 || done[0].After.CategoryID != made {
			t.Errorf("Amend = %v, %v, which makes %+v", refused, err, done[0])
		}
		return nil
	})
	if err != nil {
		t.Errorf("DryRun = %v", err)
	}
	if got := s.dump(); !reflect.DeepEqual(got, want) {
		t.Errorf("after the dry runs there is\n%+v, want\n%+v", got, want)
	}
	wantCode(t, "DryRun in no workspace", s.DryRun(s.ctx, s.workspace+1, func(petstore.Bulk) error { return nil }), access.CodeWorkspaceNotFound)
}

// testAmend: changes of pets are kept together, or, if one is refused and that is asked for, not at all. Each tells what it did
// by one event of each resource.
func testAmend(t *testing.T, open Open) {
	s := newTenant(t, open)
	dogs, cats := s.category("Dogs"), s.category("Cats")
	rex, tom := s.petIn(dogs, "Rex", petstore.Available), s.petIn(dogs, "Tom", petstore.Available)
	s.order(tom, 1)
	var done [3]petstore.Amended
	changes := []*petstore.Change{
		petstore.Amend(s.ctx, s.workspace, rex, cats, func(p petstore.StockedPet) (petstore.Amendment, error) {
			return petstore.Amendment{PetPatch: petstore.PetPatch{CategoryID: petstore.Some(cats), Name: petstore.Some("Max")}, Quantity: petstore.Some(p.Quantity + 5)}, nil
		}, &done[0]),
		petstore.Amend(s.ctx, s.workspace, tom, 0, func(petstore.StockedPet) (petstore.Amendment, error) {
			return petstore.Amendment{PetPatch: petstore.PetPatch{Status: petstore.Some(petstore.Sold)}}, nil
		}, &done[1]),
		petstore.Amend(s.ctx, s.workspace, tom, 0, func(petstore.StockedPet) (petstore.Amendment, error) {
			return petstore.Amendment{PetPatch: petstore.PetPatch{Status: petstore.Some(petstore.Pending)}}, nil
		}, &done[2]),
	}
	want := s.dump()
	refused, err := s.Amend(s.ctx, s.workspace, changes, true, "a", 7)
	if err != nil || refused[0] != nil {
		t.Fatalf("Amend = %v, %v", refused, err)
	}
	wantCode(t, "a pet with an open order is sold", refused[1], petstore.CodePetHasOpenOrders)
	if got := s.dump(); !reflect.DeepEqual(got, want) {
		t.Errorf("what was refused as a whole left\n%+v, want\n%+v", got, want)
	}
	s.wantReached("a", 0)
	refused, err = s.Amend(s.ctx, s.workspace, changes, false, "a", 7)
	if err != nil || refused[0] != nil || refused[1] == nil || refused[2] != nil || !done[0].Changed() || done[2].Changed() {
		t.Fatalf("Amend = %v, %v, which makes %+v", refused, err, done)
	}
	s.wantReached("a", 7)
	s.wantItem(rex, 6, petstore.Available)
	s.wantItem(tom, 0, petstore.Pending)
	if p, err := s.Pet(s.ctx, s.workspace, rex); err != nil || p.Name != "Max" || p.CategoryID != cats {
		t.Errorf("the pet is %+v, %v", p, err)
	}
	if found, err := s.StockedPets(s.ctx, s.workspace, petstore.PetQuery{Page: petstore.Page{Limit: 5}, CategoryID: cats}); err != nil || len(found) != 1 || found[0].Quantity != 6 {
		t.Errorf("StockedPets = %+v, %v, want the one with 6", found, err)
	}
}
