package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"github.com/anishathalye/porcupine"
)

// concurrencyTests have many callers at once, on however many nodes.
var concurrencyTests = map[string]func(*tenant){
	"buyers": testBuyers, "same key": testSameKey, "neighbours": testNeighbours, "linearizable": testLinearizable, "many writers": testManyWriters,
	"beside loads": testBulkBesideWriters, "one group": testOneGroup,
}

// testBuyers: orders that are placed one by one are numbered without gaps. Of those at once there are
// exactly as many as there are units; no id is issued twice, and an order that is placed after
// another was confirmed has the greater id.
func testBuyers(s *tenant) {
	pet := s.pet(80)
	for want := int64(1); want <= 30; want++ {
		if got := s.order(pet, 1); got != want {
			s.Fatalf("id of order %d = %d", want, got)
		}
	}
	var confirmed atomic.Int64 // the greatest id
	ids := make([]int64, 200)
	got := codes(parallel(len(ids), func(i int) error {
		before := confirmed.Load()
		o, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
		if err == nil && o.ID <= before {
			s.Errorf("the id %d was issued when %d was confirmed", o.ID, before)
		}
		ids[i] = o.ID
		for old := confirmed.Load(); o.ID > old && !confirmed.CompareAndSwap(old, o.ID); old = confirmed.Load() {
		}
		return err
	}))
	if got[""] != 50 || got[petstore.CodePetNotAvailable] != 150 {
		s.Errorf("outcomes of 200 buyers of 50 units = %v, want 50 orders and 150 times %s", got, petstore.CodePetNotAvailable)
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != 51 { // with the 0 of the refused ones
		s.Errorf("50 orders have %d ids", n-1)
	}
	s.wantItem(pet, 0, petstore.Pending)
}

// anyWrite makes a change of one of all kinds, on few rows.
func (s *tenant) anyWrite(random *rand.Rand) error {
	id, order, on := random.Int64N(5)+1, random.Int64N(60)+1, petstore.Condition{}
	switch random.IntN(16) {
	case 0, 1:
		return errOf(s.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: "dogs"}, nil))
	case 2:
		return errOf(s.ReplaceCategory(s.ctx, s.workspace, id, petstore.NewCategory{Name: "\"cats\"", Description: new(string)}, on))
	case 3:
		return errOf(s.UpdatePet(s.ctx, s.workspace, id, petstore.PetPatch{
			Name: petstore.Some("Tom"), CategoryID: petstore.Some(random.Int64N(3) + 1), Status: petstore.Null[petstore.Status](),
		}, on))
	case 4:
		p := petstore.OrderPatch{ShipDate: petstore.Some(petstore.At(start))}
		if random.IntN(2) == 0 {
			p.ShipDate = petstore.Null[petstore.Time]()
		}
		return errOf(s.UpdateOrder(s.ctx, s.workspace, order, p, on))
	case 5:
		return errOf(s.CreatePet(s.ctx, s.workspace, petstore.NewPet{Name: "Rex", CategoryID: id}, nil))
	case 6:
		return errOf(s.UpdateInventory(s.ctx, s.workspace, id, random.Int64N(10), on))
	case 7:
		return s.mark(id, petstore.Statuses()[random.IntN(3)])
	case 8:
		return s.cancel(order)
	case 9:
		return s.complete(order)
	case 10:
		return s.DeleteCategory(s.ctx, s.workspace, id, on)
	case 11:
		if random.IntN(4) == 0 {
			return s.deletePet(id)
		}
	}
	return errOf(s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: id, Quantity: random.Int64N(3) + 1, Complete: random.IntN(4) == 0}, nil))
}

// testSameKey: one row for each of six keys, however many send the request at once.
func testSameKey(s *tenant) {
	var ids [60]int64
	s.together(len(ids), func(i int) error {
		got, err := petstore.NewService(s.Stores).CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: "dogs"}, once(fmt.Sprint(i%6), "a"))
		ids[i] = got.ID
		return err
	})
	for i, id := range ids {
		if id != ids[i%6] {
			s.Fatalf("ids = %v, want one for each of 6 keys", ids)
		}
	}
	all, err := s.Stores.Categories(s.ctx, s.workspace, petstore.CategoryQuery{Page: petstore.Page{Limit: 100}})
	if len(all) != 6 || err != nil {
		s.Errorf("Categories = %v, %v, want six", all, err)
	}
}

// testNeighbours: what fails, by a rule, by a constraint of the tables or by a panic, takes nobody
// with it, and leaves no row and no event.
func testNeighbours(s *tenant) {
	pet := s.pet(1000)
	const callers = 50
	do := func(decide func(petstore.Facts) (petstore.Effects, error)) error {
		return errOf(s.Do(s.ctx, &petstore.Change{Workspace: s.workspace, Needs: petstore.Needs{PetID: pet}, Decide: decide}))
	}
	ghost := &petstore.Category{Name: "ghost"}
	for i, err := range parallel(callers, func(i int) error {
		switch i % 5 {
		case 0:
			return do(func(petstore.Facts) (petstore.Effects, error) { // after it has written
				return petstore.Effects{SaveCategory: ghost, SavePet: &petstore.StockedPet{Pet: petstore.Pet{Name: "Rex", CategoryID: 1, Status: petstore.Available}, Quantity: -5}}, nil
			})
		case 1:
			return do(func(f petstore.Facts) (petstore.Effects, error) {
				f.Pet.Quantity = -5
				return petstore.Effects{SaveCategory: ghost, SavePet: f.Pet}, nil
			})
		case 2:
			return do(func(petstore.Facts) (petstore.Effects, error) { panic("boom") })
		case 3:
			return s.cancel(99)
		}
		return errOf(s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil))
	}) {
		if (err == nil) != (i%5 == 4) || (errors.Is(err, store.ErrPanicked) && strings.Contains(err.Error(), "boom")) != (i%5 == 2) {
			s.Errorf("change %d = %v", i, err)
		}
	}
	s.wantItem(pet, 1000-callers/5, petstore.Available)
	same(s, "Categories of failed changes", []petstore.Category{})(
		s.Stores.Categories(s.ctx, s.workspace, petstore.CategoryQuery{Page: petstore.Page{Limit: 10}, Name: "ghost"}))
	s.wantMirror()
}

// A collector keeps changes instead of carrying them out.
type collector struct {
	petstore.Store
	changes []*petstore.Change
}

var errCollected = errors.New("it was collected")

func (c *collector) Do(_ context.Context, change *petstore.Change) (*petstore.Receipt, error) {
	c.changes = append(c.changes, change)
	return nil, errCollected
}

// testOneGroup: changes of one transaction find what those before them made, changed and
// removed, and no category is deleted that has a pet.
func testOneGroup(s *tenant) {
	dogs, cats, birds := s.category("Dogs"), s.category("Cats"), s.category("Birds")
	rex := s.petIn(dogs, "Rex", petstore.Available)
	c, on := &collector{Store: s.Stores}, petstore.Condition{}
	service := petstore.NewService(c)
	next := rex + 1
	var want []petstore.Code
	for _, call := range []struct {
		err  error
		want petstore.Code
	}{
		{errOf(service.UpdatePet(s.ctx, s.workspace, rex, petstore.PetPatch{CategoryID: petstore.Some(cats)}, on)), ""},
		{service.DeleteCategory(s.ctx, s.workspace, dogs, on), petstore.CodeCategoryInUse}, // as it was before the group
		{service.DeleteCategory(s.ctx, s.workspace, cats, on), petstore.CodeCategoryInUse},
		{service.DeleteCategory(s.ctx, s.workspace, birds, on), ""},
		{service.DeleteCategory(s.ctx, s.workspace, birds, on), petstore.CodeCategoryNotFound},
		{errOf(service.CreatePet(s.ctx, s.workspace, petstore.NewPet{Name: "Tweety", CategoryID: birds}, nil)), petstore.CodeValidationFailed},
		{errOf(service.CreatePet(s.ctx, s.workspace, petstore.NewPet{Name: "Tom", CategoryID: cats}, nil)), ""},
		{errOf(service.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: next, Quantity: 1}, nil)), ""},
		{service.DeletePet(s.ctx, s.workspace, next, on), petstore.CodePetHasOpenOrders},
		{service.CancelOrder(s.ctx, s.workspace, 1, on), ""},
		{service.DeletePet(s.ctx, s.workspace, next, on), ""},
		{errOf(service.CreatePet(s.ctx, s.workspace, petstore.NewPet{Name: "Kim", CategoryID: cats}, nil)), ""},
		{errOf(service.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: next + 1, Quantity: 1}, nil)), ""},
	} {
		if !errors.Is(call.err, errCollected) {
			s.Fatal(call.err)
		}
		want = append(want, call.want)
	}
	got := make([]error, len(c.changes))
	for _, r := range s.refused(unitsOf(true, c.changes...)) {
		got[r.Unit] = r.Err
	}
	for i, err := range got {
		s.wantCode(fmt.Sprintf("change %d", i+1), err, want[i])
	}
	s.wantCode("Pet", errOf(s.Stores.Pet(s.ctx, s.workspace, next)), petstore.CodePetNotFound)
	s.wantItem(next+1, 0, petstore.Pending)
	s.wantMirror()
}

// A step is a call on one pet: its stock is set (op 's'), read ('r'), ordered
// ('o') or given back ('c').
type step struct {
	op       byte
	quantity int64
}

// testLinearizable: every caller sees one pet as if calls came one by one.
func testLinearizable(s *tenant) {
	pet := s.pet(10)
	const callers, calls = 6, 12
	history := make([][]porcupine.Operation, callers)
	began := time.Now()
	s.together(callers, func(caller int) error {
		random := rand.New(rand.NewPCG(2, uint64(caller)))
		var orders []int64
		for range calls {
			in := step{"srooocc"[random.IntN(7)], random.Int64N(5) + 1}
			if in.op == 'c' && len(orders) == 0 {
				in.op = 'r'
			}
			from := time.Since(began)
			out, err := s.take(pet, &in, &orders)
			if err != nil {
				return err
			}
			history[caller] = append(history[caller], porcupine.Operation{
				ClientId: caller, Input: in, Output: out, Call: int64(from), Return: int64(time.Since(began)),
			})
		}
		return nil
	})
	var all []porcupine.Operation
	for _, h := range history {
		all = append(all, h...)
	}
	if got := porcupine.CheckOperationsTimeout(stockModel(), all, 20*time.Second); got != porcupine.Ok {
		s.Errorf("history of %d calls = %v, want %v", len(all), got, porcupine.Ok)
	}
}

// take carries out a step and returns what it saw: the stock that was read, or
// whether it happened.
func (s *tenant) take(pet int64, in *step, orders *[]int64) (int64, error) {
	switch in.op {
	case 's':
		_, err := s.UpdateInventory(s.ctx, s.workspace, pet, in.quantity, petstore.Condition{})
		return 1, err
	case 'r':
		item, err := s.InventoryItem(s.ctx, s.workspace, pet)
		return item.Quantity, err
	case 'c':
		id := (*orders)[0]
		*orders = (*orders)[1:]
		o, err := s.Stores.Order(s.ctx, s.workspace, id)
		if err != nil {
			return 0, err
		}
		in.quantity = o.Quantity
		return 1, s.cancel(id)
	}
	made, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: in.quantity}, nil)
	switch petstore.CodeOf(err) {
	case petstore.CodeInsufficientStock, petstore.CodePetNotAvailable:
		return 0, nil
	}
	if err == nil {
		*orders = append(*orders, made.ID)
	}
	return 1, err
}

// stockModel is one pet without concurrency.
func stockModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return int64(10) },
		Step: func(state, input, output any) (bool, any) {
			stock, in, out := state.(int64), input.(step), output.(int64)
			switch in.op {
			case 's':
				return true, in.quantity
			case 'r':
				return out == stock, stock
			case 'c':
				return true, stock + in.quantity
			}
			if out == 0 {
				return stock < in.quantity, stock
			}
			return stock >= in.quantity, stock - in.quantity
		},
	}
}

// testManyWriters: all writes at once, on few rows. A reader who goes on from the last id he
// saw misses nothing, and the feeds give their workspaces. Whether each order ended once, and
// what names a category or a pet has it, is checked with the ledger when the test ends.
func testManyWriters(s *tenant) {
	other := s.beside("other")
	for range 4 {
		s.pet(20)
		other.pet(20)
	}
	var ended atomic.Bool
	defer ended.Store(true)
	read := make(chan []petstore.Event, 1)
	go func() {
		var seen []petstore.Event
		for q, last := (petstore.EventQuery{Limit: 7}), false; ; {
			done := ended.Load()
			page, err := s.Events(s.ctx, s.workspace, q)
			if err != nil {
				s.Error(err)
				break
			}
			seen = append(seen, page.Events...)
			if q.After = page.Next; last && !page.More {
				break
			}
			last = done
		}
		read <- seen
	}()
	s.together(32, func(worker int) error {
		random := rand.New(rand.NewPCG(9, uint64(worker)))
		for range 50 {
			one := []*tenant{s, other}[random.IntN(2)]
			err := one.anyWrite(random)
			if code := petstore.CodeOf(err); err != nil && (code == "" || code == petstore.CodeServiceUnavailable) {
				return err
			}
		}
		return nil
	})
	ended.Store(true)
	seen, all := <-read, s.events()
	if len(seen) != len(all) {
		s.Errorf("the reader saw %d events of %d", len(seen), len(all))
	}
	for i, e := range all {
		if i > 0 && e.ID <= all[i-1].ID || i < len(seen) && seen[i].ID != e.ID {
			s.Fatalf("event %d has the id %d", i, e.ID)
		}
	}
	s.wantMirror()
	other.wantMirror()
}

// testBulkBesideWriters: several loads and the writes of a server go on at once,
// and no id is given twice.
func testBulkBesideWriters(s *tenant) {
	dogs := s.category("Dogs")
	const each, rounds = 20, 10
	s.together(8, func(i int) (err error) {
		for n := 0; n < rounds && err == nil; n++ {
			if i%2 == 0 {
				_, err = s.Load(s.ctx, s.workspace, &petstore.Batch{Units: checked(newPets(each - 1))})
				continue
			}
			var p petstore.Created
			if p, err = s.CreatePet(s.ctx, s.workspace, petstore.NewPet{Name: "Rex", CategoryID: dogs}, nil); err == nil {
				_, err = s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: p.ID, Quantity: 1}, nil)
			}
		}
		return err
	})
	if got, want := len(s.dump().units), 1+4*rounds*each+4*rounds; got != want {
		s.Errorf("%d units, want %d", got, want)
	}
}
