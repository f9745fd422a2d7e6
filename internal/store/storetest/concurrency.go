package storetest

import (
	"math/rand/v2"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
	"github.com/anishathalye/porcupine"
)

// concurrencyTests have many callers at once.
var concurrencyTests = map[string]func(*testing.T, Open){
	"buyers":       testBuyers,
	"same key":     testSameKey,
	"neighbours":   testNeighbours,
	"linearizable": testLinearizable,
}

// testBuyers: exactly as many orders as there are units.
func testBuyers(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(50)
	got := codes(parallel(200, func(int) error {
		_, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
		return err
	}))
	if got[""] != 50 || got[petstore.CodePetNotAvailable] != 150 {
		t.Errorf("outcomes of 200 buyers of 50 units = %v, want 50 orders and 150 times %s", got, petstore.CodePetNotAvailable)
	}
	s.wantItem(pet, 0, petstore.Pending)
}

func (s *tenant) randomWrite(random *rand.Rand) error {
	pet, order := random.Int64N(6)+1, random.Int64N(60)+1
	switch random.IntN(10) {
	case 0:
		_, err := s.CreatePet(s.ctx, s.workspace, petstore.NewPet{Name: "Rex", CategoryID: pet}, nil)
		return err
	case 1:
		_, err := s.UpdateInventory(s.ctx, s.workspace, pet, random.Int64N(10), petstore.Condition{})
		return err
	case 2:
		return s.mark(pet, petstore.Statuses()[random.IntN(3)])
	case 3:
		return s.cancel(order)
	case 4:
		return s.complete(order)
	case 5:
		return s.DeleteCategory(s.ctx, s.workspace, pet, petstore.Condition{})
	case 6:
		if random.IntN(4) > 0 {
			return nil
		}
		return s.DeletePet(s.ctx, s.workspace, pet, petstore.Condition{})
	}
	_, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: random.Int64N(3) + 1, Complete: random.IntN(4) == 0}, nil)
	return err
}

// testSameKey: one row, however many send the request at once, on however many
// nodes; each node has a service of its own.
func testSameKey(t *testing.T, open Open) {
	s := newTenant(t, open)
	ids := make([]int64, 40)
	errs := parallel(len(ids), func(i int) error {
		node := petstore.NewService(s.Stores)
		got, err := node.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: "dogs"}, once("k", "a"))
		ids[i] = got.ID
		return err
	})
	if got := codes(errs); got[""] != len(errs) {
		t.Errorf("outcomes = %v, want %d successes", got, len(errs))
	}
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("ids = %v, want one", ids)
		}
	}
	all, err := s.Stores.Categories(s.ctx, s.workspace, petstore.CategoryQuery{Page: petstore.Page{Limit: 100}})
	if len(all) != 1 || err != nil {
		t.Errorf("Categories = %v, %v, want one", all, err)
	}
}

// testNeighbours: what fails, by a rule or by the engine's last line of
// defence, takes nobody with it, and leaves no event.
func testNeighbours(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(1000)
	const callers = 90
	errs := parallel(callers, func(i int) error {
		switch i % 3 {
		case 0: // breaks a constraint after it has written
			_, err := s.Do(s.ctx, &petstore.Change{Workspace: s.workspace, Needs: petstore.Needs{PetID: pet},
				Decide: func(f petstore.Facts) (petstore.Effects, error) {
					f.Pet.Quantity = -5
					return petstore.Effects{SaveCategory: &petstore.Category{Name: "ghost"}, SavePet: f.Pet}, nil
				}})
			if err == nil {
				return petstore.Errorf("accepted", "a negative quantity was kept")
			}
			return nil
		case 1:
			wantCode(t, "UpdateInventory", s.mark(pet, petstore.Available), "")
			return nil
		}
		_, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
		return err
	})
	if got := codes(errs); got[""] != callers {
		t.Errorf("outcomes = %v, want %d as they should be", got, callers)
	}
	s.wantItem(pet, 1000-callers/3, petstore.Available)
	ghosts, err := s.Stores.Categories(s.ctx, s.workspace, petstore.CategoryQuery{Page: petstore.Page{Limit: 10}, Name: "ghost"})
	if len(ghosts) != 0 || err != nil {
		t.Errorf("Categories = %v, %v, want nothing of the failed changes", ghosts, err)
	}
	s.wantMirror(t)
}

// A step is a call on one pet: its stock is set (op 's'), read ('r'), ordered
// ('o') or given back ('c').
type step struct {
	op       byte
	quantity int64
}

// testLinearizable: every caller sees one pet as if calls came one by one.
func testLinearizable(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(10)
	const callers, calls = 6, 12
	history := make([][]porcupine.Operation, callers)
	began := time.Now()
	errs := parallel(callers, func(caller int) error {
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
	if got := codes(errs); got[""] != callers {
		t.Fatalf("outcomes = %v, want no failure", got)
	}
	var all []porcupine.Operation
	for _, h := range history {
		all = append(all, h...)
	}
	if got := porcupine.CheckOperationsTimeout(stockModel(), all, 20*time.Second); got != porcupine.Ok {
		t.Errorf("history of %d calls = %v, want %v", len(all), got, porcupine.Ok)
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
