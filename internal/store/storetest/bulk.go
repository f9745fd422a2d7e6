package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

var bulkTests = map[string]func(*tenant){
	"round trip": testBulkRoundTrip, "new ids": testBulkNewIDs, "refusals": testBulkRefusals, "skipping": testBulkSkips, "counters": testBulkCounters,
	"dry run": testBulkDryRun, "amendments": testAmend, "order": testDumpOrder, "stops": testDumpStops,
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

// wantDump fails the test unless the workspace has what it had.
func (s *tenant) wantDump(what string, want *keeper) {
	s.Helper()
	if got := s.dump(); !reflect.DeepEqual(got.units, want.units) {
		s.Errorf("%s there is\n%+v, want\n%+v", what, got, want)
	}
}

// load loads a batch, of which all units must be kept.
func (s *tenant) load(b *petstore.Batch) {
	s.Helper()
	if refused := s.refused(b); len(refused) > 0 {
		s.Fatalf("refused %+v", refused)
	}
}

// refused loads a batch and returns what is refused of it.
func (s *tenant) refused(b *petstore.Batch) []petstore.Refusal {
	s.Helper()
	checked(b.Units)
	refused, err := s.Load(s.ctx, s.workspace, b)
	must(s, err)
	return refused
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
	must(s, s.deletePet(gone))
	must(s, s.DeleteCategory(s.ctx, s.workspace, unused, petstore.Condition{}))
}

// testBulkRoundTrip: what one workspace gives another one takes, and gives
// again.
func testBulkRoundTrip(s *tenant) {
	s.lively()
	want := s.dump()
	copied := s.beside("copy")
	copied.load(&petstore.Batch{Units: s.dump().units, Last: want.last})
	if got := copied.dump(); !reflect.DeepEqual(got, want) {
		s.Errorf("the copy gives\n%+v, want\n%+v", got, want)
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
func testBulkNewIDs(s *tenant) {
	category := s.category("Cats")
	before := s.petIn(category, "Tom", petstore.Available)
	units := newPets(500)
	s.load(&petstore.Batch{Units: units})
	first, last := units[1].PetID, units[500].PetID
	if made := units[0].Category.ID; made <= category || first <= before {
		s.Errorf("the ids of the first category and pet are %d and %d, want some above %d and %d", made, first, category, before)
	}
	for i, u := range units[1:] {
		if want := first + int64(i); u.PetID != want || u.Pet.ID != want {
			s.Fatalf("pet %d has the ids %d and %d, want %d", i, u.PetID, u.Pet.ID, want)
		}
	}
	loaded := petstore.StockedPet{Pet: petstore.Pet{ID: last, Name: "Pet 499", CategoryID: units[0].Category.ID, Status: petstore.Available}, Quantity: 2, Movements: 1}
	same(s, "Pet", loaded)(s.Stores.Pet(s.ctx, s.workspace, last))
	if next := s.petIn(category, "Next", petstore.Available); next == before || first <= next && next <= last {
		s.Errorf("the next pet has the id %d, which was given before", next)
	}
	movements, _, err := s.Movements(s.ctx, s.workspace, last, 0, 10)
	if err != nil || len(movements) != 1 || movements[0].Kind != petstore.MovedCreated || movements[0].Quantity != 2 {
		s.Errorf("Movements(%d) = %+v, %v, want the one that explains 2", last, movements, err)
	}
}

// A clash is of units that contradict what lively leaves, or each other.
type clash struct {
	name  string
	units []petstore.Unit // of which the last one is refused
	place petstore.Place
	text  string // of the refusal
}

func (s *tenant) clashes() []clash {
	at := petstore.At(s.clock.Now())
	dogs := int64(1)
	pet := func(id, category int64, orders ...petstore.Order) petstore.Unit {
		p := &petstore.StockedPet{Pet: petstore.Pet{ID: id, Name: "New", CategoryID: category, Status: petstore.Available}, Quantity: 1}
		return petstore.Unit{PetID: id, Orders: orders, Pet: p}
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
	return []clash{
		{"category", units{category(dogs)}, petstore.Place{}, "There is a category with the id 1 already."},
		{"category twice", units{category(70), category(70)}, petstore.Place{}, "There is a category with the id 70 already."},
		{"pet", units{pet(1, dogs)}, petstore.Place{}, "There is a pet with the id 1 already."},
		{"pet twice", units{pet(70, dogs), pet(70, dogs)}, petstore.Place{}, "There is a pet with the id 70 already."},
		{"no category", units{pet(70, 71)}, petstore.Place{}, "There is no category with the id 71."},
		{"order", units{pet(70, dogs, order(70, 70), order(1, 70))}, petstore.Place{Order: 2}, "There is an order with the id 1 already."},
		{"order twice", units{pet(70, dogs, order(70, 70), order(70, 70))}, petstore.Place{Order: 2}, "There is an order with the id 70 already."},
		{"deleted pet", units{pet(2, dogs)}, petstore.Place{Movement: 1}, "The pet 2 has a ledger already: it was deleted, and its id is not used again."},
		{"ledger", units{{PetID: 2, Movements: ledger}}, petstore.Place{Movement: 1}, "The pet 2 has a ledger already: it was deleted, and its id is not used again."},
		{"ledger of a pet", units{{PetID: 1, Orders: []petstore.Order{order(70, 1)}}}, petstore.Place{}, "There is a pet with the id 1 already; its orders and its ledger can only come with it."},
	}
}

// wantRefused fails the test unless the last of so many units is refused as a clash says.
func (c clash) wantRefused(s *tenant, refused []petstore.Refusal, units int) {
	s.Helper()
	if len(refused) != 1 || refused[0].Unit != units-1 || refused[0].Place != c.place || errorText(refused[0].Err) != c.text {
		s.Errorf("%s: refused %+v, want the last of %d units at %+v: %s", c.name, refused, units, c.place, c.text)
	}
}

// errorText returns the message that a caller sees.
func errorText(err error) string {
	if e, ok := err.(*petstore.Error); ok { //nolint:errorlint // Load promises this very kind
		return e.Message
	}
	return err.Error()
}

// testBulkRefusals: one unit that contradicts the store undoes its batch. A dry run refuses it too, also if it is the file
// itself that it contradicts, and writes nothing.
func testBulkRefusals(s *tenant) {
	s.lively()
	want := s.dump()
	for _, c := range s.clashes() {
		b := &petstore.Batch{Units: append(newPets(2), c.units...)}
		c.wantRefused(s, s.refused(b), len(b.Units))
		must(s, s.DryRun(s.ctx, s.workspace, func(in petstore.Bulk) error {
			for i := range c.units { // one by one, as in a long file
				refused, err := in.Load(s.ctx, s.workspace, &petstore.Batch{Units: checked(c.units[i : i+1])})
				if i == len(c.units)-1 {
					c.wantRefused(s, refused, 1)
				} else if len(refused) > 0 {
					s.Errorf("%s: refused %+v, want the last unit alone", c.name, refused)
				}
				must(s, err)
			}
			return nil
		}))
		s.wantDump("after the refusal of "+c.name, want)
	}
	for _, units := range [][]petstore.Unit{newPets(1), {{Category: &petstore.Category{ID: 1, Name: "Dogs"}}}} {
		s.wantCode("Load into no workspace", errOf(s.Load(s.ctx, s.workspace+1, &petstore.Batch{Units: units})), access.CodeWorkspaceNotFound)
	}
}

// testBulkSkips: with SkipRefused the other units are kept, those that stand on
// the refused one too if it was there before.
func testBulkSkips(s *tenant) {
	s.lively()
	b := &petstore.Batch{SkipRefused: true}
	var want, got []int
	for _, c := range s.clashes() {
		if c.name == "category twice" || c.name == "pet twice" { // the first of two is kept
			continue
		}
		b.Units = append(b.Units, c.units...)
		want = append(want, len(b.Units)-1)
		b.Units = append(b.Units, newPets(1)...)
	}
	before := len(s.dump().units)
	for _, r := range s.refused(b) {
		got = append(got, r.Unit)
	}
	if kept := len(s.dump().units) - before; !slices.Equal(got, want) || kept != len(b.Units)-len(want) {
		s.Errorf("the units %v are refused and %d kept, want %v and %d", got, kept, want, len(b.Units)-len(want))
	}
}

// testBulkCounters: ids that a batch brings along, or names as issued, are not
// issued again; those of a batch that was refused are.
func testBulkCounters(s *tenant) {
	dogs := s.category("Dogs")
	pet := func(id, category int64) petstore.Unit {
		p := petstore.StockedPet{Pet: petstore.Pet{ID: id, Name: "New", CategoryID: category, Status: petstore.Available}, Quantity: 2}
		return petstore.Unit{PetID: id, Pet: &p, Orders: []petstore.Order{{ID: 2 * id, PetID: id, Quantity: 1}}}
	}
	if refused := s.refused(&petstore.Batch{Units: []petstore.Unit{pet(1_000_000, dogs+9)}, Last: petstore.LastIDs{Categories: petstore.MaxID}}); len(refused) != 1 {
		s.Errorf("refused %+v, want the one without a category", refused)
	}
	s.load(&petstore.Batch{Units: []petstore.Unit{pet(40, dogs)}, Last: petstore.LastIDs{Categories: 60}})
	if got := [3]int64{s.petIn(dogs, "Next", petstore.Available), s.category("Next"), s.order(40, 1)}; got != [3]int64{41, 61, 81} {
		s.Errorf("the next pet, category and order have the ids %d, want 41, 61 and 81", got)
	}
}

// wantReached fails the test unless the store remembers the line of a file.
func (s *tenant) wantReached(file string, want int) {
	s.Helper()
	same(s, "ImportedThrough", want)(s.ImportedThrough(s.ctx, s.workspace, file))
}

// testBulkDryRun: what a dry run loads and amends is there for what comes after it in the same file, and nowhere else.
func testBulkDryRun(s *tenant) {
	s.lively()
	want := s.dump()
	must(s, s.DryRun(s.ctx, s.workspace, func(in petstore.Bulk) error {
		units := checked(newPets(3))
		same(s, "Load", []petstore.Refusal{})(in.Load(s.ctx, s.workspace, &petstore.Batch{Units: units}))
		made := units[0].Category.ID
		var done [3]petstore.Amended
		move := func(petstore.StockedPet) (petstore.Amendment, error) {
			return petstore.Amendment{PetPatch: petstore.PetPatch{CategoryID: petstore.Some(made)}, Quantity: petstore.Some(int64(7))}, nil
		}
		b := unitsOf(true, petstore.Amend(s.ctx, s.workspace, 1, move, &done[0]), petstore.Amend(s.ctx, s.workspace, 99, move, &done[1]),
			petstore.Amend(s.ctx, s.workspace, 1, move, &done[2]))
		b.Units[0].In, b.Units[1].In = units[0].Category, units[0].Category
		refused, err := in.Load(s.ctx, s.workspace, b)
		if err != nil || len(refused) != 2 || refused[0].Unit != 1 || errorText(refused[0].Err) != "There is no pet with the id 99." || refused[1].Unit != 2 ||
			done[0].After.Quantity != 7 || done[0].After.CategoryID != made {
			s.Errorf("Load of changes = %v, %v, which makes %+v", refused, err, done[0])
		}
		return nil
	}))
	s.wantDump("after the dry run", want)
	s.wantCode("DryRun in no workspace", s.DryRun(s.ctx, s.workspace+1, func(petstore.Bulk) error { return nil }), access.CodeWorkspaceNotFound)
}

// unitsOf returns a batch of changes.
func unitsOf(skipRefused bool, changes ...*petstore.Change) *petstore.Batch {
	b := &petstore.Batch{SkipRefused: skipRefused}
	for _, c := range changes {
		b.Units = append(b.Units, petstore.Unit{Change: c})
	}
	return b
}

// testAmend: changes of pets are kept together, or, if one is refused and that is asked for, not at all. One may move a pet to a
// category of the same batch.
func testAmend(s *tenant) {
	dogs, cats := s.category("Dogs"), &petstore.Category{Name: "Cats"}
	rex, tom := s.petIn(dogs, "Rex", petstore.Available), s.petIn(dogs, "Tom", petstore.Available)
	s.order(tom, 1)
	var done [3]petstore.Amended
	b := unitsOf(false, petstore.Amend(s.ctx, s.workspace, rex, func(p petstore.StockedPet) (petstore.Amendment, error) {
		return petstore.Amendment{PetPatch: petstore.PetPatch{CategoryID: petstore.Some(cats.ID), Name: petstore.Some("Max")}, Quantity: petstore.Some(p.Quantity + 5)}, nil
	}, &done[0]), petstore.Amend(s.ctx, s.workspace, tom, func(petstore.StockedPet) (petstore.Amendment, error) {
		return petstore.Amendment{PetPatch: petstore.PetPatch{Status: petstore.Some(petstore.Sold)}}, nil
	}, &done[1]), petstore.Amend(s.ctx, s.workspace, tom, func(petstore.StockedPet) (petstore.Amendment, error) {
		return petstore.Amendment{PetPatch: petstore.PetPatch{Status: petstore.Some(petstore.Pending)}}, nil
	}, &done[2]))
	b.Units[0].In = cats
	b.Units, b.File, b.Through = append([]petstore.Unit{{Category: cats}}, b.Units...), "a", 7
	want := s.dump()
	refused := s.refused(b)
	if len(refused) != 1 || refused[0].Unit != 2 {
		s.Fatalf("refused %+v, want the unit 2", refused)
	}
	s.wantCode("a pet with an open order is sold", refused[0].Err, petstore.CodePetHasOpenOrders)
	s.wantDump("after a refusal of all", want)
	s.wantReached("a", 0)
	cats.ID, b.SkipRefused = 0, true
	if refused := s.refused(b); len(refused) != 1 || refused[0].Unit != 2 || !done[0].Changed() || done[2].Changed() {
		s.Fatalf("refused %+v, which makes %+v", refused, done)
	}
	s.wantReached("a", 7)
	s.wantItem(tom, 0, petstore.Pending)
	found, err := s.Stores.Pets(s.ctx, s.workspace, petstore.PetQuery{Page: petstore.Page{Limit: 5}, CategoryID: cats.ID})
	if err != nil || len(found) != 1 || found[0].Name != "Max" || found[0].Quantity != 6 {
		s.Errorf("Pets = %+v, %v, want the one that was moved, with 6", found, err)
	}
}

// testDumpOrder: rows of each kind come in their order, those of pets that were deleted too.
func testDumpOrder(s *tenant) {
	at := petstore.At(s.clock.Now())
	b := &petstore.Batch{}
	for i := range int64(15) {
		b.Units = append(b.Units, petstore.Unit{Category: &petstore.Category{ID: i + 1, Name: "Dogs"}})
	}
	for id := int64(1); id <= 250; id++ {
		u := petstore.Unit{PetID: id, Orders: []petstore.Order{{ID: 2*id + 700, PetID: id, Quantity: 1, Complete: true}, {ID: 2*id + 1, PetID: id, Quantity: 1, Complete: true}}}
		switch {
		case id == 7: // its pet was deleted, and has a long ledger
			u = petstore.Unit{PetID: id, Movements: []petstore.Movement{{PetID: id, Number: 1, Kind: petstore.MovedCreated, Delta: 1, Quantity: 1, At: at}}}
			for n := int64(2); n < 200; n++ {
				u.Movements = append(u.Movements, petstore.Movement{PetID: id, Number: n, Kind: petstore.MovedSet, Delta: 1, Quantity: n, At: at})
			}
			u.Movements = append(u.Movements, petstore.Movement{PetID: id, Number: 200, Kind: petstore.MovedDeleted, Delta: -199, At: at})
		case id%3 == 0: // its pet was deleted, and has no ledger
		default:
			u.Orders[0].ID, u.Orders[0].Complete = 2*id, false
			u.Pet = &petstore.StockedPet{Pet: petstore.Pet{ID: id, Name: "Rex", CategoryID: 1, Status: petstore.Available}, Quantity: 5, OpenOrders: 1}
		}
		b.Units = append(b.Units, u)
	}
	s.load(b)
	for i := range b.Units {
		if u := &b.Units[i]; u.Pet == nil && len(u.Orders) > 1 {
			u.Orders[0], u.Orders[1] = u.Orders[1], u.Orders[0]
		}
	}
	got := s.dump().units
	if len(got) != len(b.Units) {
		s.Fatalf("Dump gives %d units, want %d", len(got), len(b.Units))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], b.Units[i]) {
			s.Fatalf("unit %d = %+v, want %+v", i, got[i], b.Units[i])
		}
	}
}

// A fullDisk refuses the first row.
type fullDisk struct{ petstore.Sink }

var errFull = errors.New("the disk is full")

func (fullDisk) Begin(petstore.LastIDs) error     { return nil }
func (fullDisk) Category(petstore.Category) error { return errFull }

// testDumpStops: at the first error of the sink, which is returned as it is.
func testDumpStops(s *tenant) {
	s.category("dogs")
	if err := s.Dump(s.ctx, s.workspace, fullDisk{}); err != errFull { //nolint:errorlint // that very one
		s.Errorf("Dump into a full disk = %v, want %v", err, errFull)
	}
	s.wantCode("Dump of no workspace", s.Dump(s.ctx, s.workspace+1, fullDisk{}), access.CodeWorkspaceNotFound)
}
