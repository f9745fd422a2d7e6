package storetest

import (
	"errors"
	"reflect"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

var dumpTests = map[string]func(*testing.T, Open){
	"pages": testDumpPages,
	"stops": testDumpStops,
}

// testDumpPages: more rows of each kind than are read at once come in their order.
func testDumpPages(t *testing.T, open Open) {
	s := newTenant(t, open)
	at := petstore.At(s.clock.Now())
	b := &petstore.Batch{}
	for i := range int64(1500) {
		b.Units = append(b.Units, petstore.Unit{Category: &petstore.Category{ID: i + 1, Name: "Dogs"}})
	}
	for id := int64(1); id <= 2500; id++ {
		u := petstore.Unit{PetID: id, Orders: []petstore.Order{{ID: 2*id + 7000, PetID: id, Quantity: 1, Complete: true}, {ID: 2*id + 1, PetID: id, Quantity: 1, Complete: true}}}
		switch {
		case id == 7: // many, of which no page begins with the last
			u = petstore.Unit{PetID: id, Movements: longLedger(id, 25_000, at)}
			u.Movements = append(u.Movements, petstore.Movement{PetID: id, Number: 25_001, Kind: petstore.MovedDeleted, Delta: -2, At: at})
		case id%3 == 0: // its pet was deleted, and has no ledger
		default:
			u.Orders[0].ID, u.Orders[0].Complete = 2*id, false
			u.Pet = &petstore.StockedPet{Pet: petstore.Pet{ID: id, Name: "Rex", CategoryID: 1, Status: petstore.Available}, Quantity: 5, OpenOrders: 1}
		}
		b.Units = append(b.Units, u)
	}
	if refused := s.load(b); len(refused) > 0 {
		t.Fatalf("refused %+v", refused)
	}
	for i := range b.Units {
		if u := &b.Units[i]; u.Pet == nil && len(u.Orders) > 1 {
			u.Orders[0], u.Orders[1] = u.Orders[1], u.Orders[0]
		}
	}
	got := s.dump().units
	if len(got) != len(b.Units) {
		t.Fatalf("Dump gives %d units, want %d", len(got), len(b.Units))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], b.Units[i]) {
			t.Fatalf("unit %d = %+v, want %+v", i, got[i], b.Units[i])
		}
	}
}

// longLedger returns movements that leave a pet with a stock of 2, an even number of them.
func longLedger(pet, n int64, at petstore.Time) []petstore.Movement {
	all := []petstore.Movement{{PetID: pet, Number: 1, Kind: petstore.MovedCreated, Delta: 1, Quantity: 1, At: at}}
	for i := int64(2); i <= n; i++ {
		m := petstore.Movement{PetID: pet, Number: i, Kind: petstore.MovedSet, Delta: 1, Quantity: 2, At: at}
		if i%2 == 1 {
			m.Delta, m.Quantity = -1, 1
		}
		all = append(all, m)
	}
	return all
}

// A fullDisk refuses the first row.
type fullDisk struct{ petstore.Sink }

var errFull = errors.New("the disk is full")

func (fullDisk) Begin(petstore.LastIDs) error     { return nil }
func (fullDisk) Category(petstore.Category) error { return errFull }

// testDumpStops: at the first error of the sink, which is returned as it is.
func testDumpStops(t *testing.T, open Open) {
	s := newTenant(t, open)
	s.category("dogs")
	if err := s.Dump(s.ctx, s.workspace, fullDisk{}); err != errFull { //nolint:errorlint // that very one
		t.Errorf("Dump into a full disk = %v, want %v", err, errFull)
	}
	wantCode(t, "Dump of no workspace", s.Dump(s.ctx, s.workspace+1, fullDisk{}), access.CodeWorkspaceNotFound)
}
