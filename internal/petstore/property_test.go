package petstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestInvariants does random things to a small shop. After each of them
//
//   - the quantity lies between 0 and MaxQuantity, and is the sum of the
//     ledger's deltas, whose entries are numbered without a gap;
//   - the open orders are those placed less those completed and cancelled;
//   - available means that there is stock, sold that there is neither stock
//     nor an open order; pending may go with anything, because it is a hold;
//   - an open order has its pet, a complete one a ship date;
//   - what placed orders took and cancelled ones gave back is what the orders
//     that are left hold;
//   - an operation that fails changes nothing, and fails with one of the codes
//     that are its own;
//   - an id that was issued is never issued again.
func TestInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{shop: newShop(t), issued: map[int64]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"":                m.check,
			"createPet":       m.createPet,
			"updatePet":       m.updatePet,
			"deletePet":       m.deletePet,
			"createOrder":     m.createOrder,
			"updateOrder":     m.updateOrder,
			"cancelOrder":     m.cancelOrder,
			"updateInventory": m.updateInventory,
			"addStock":        m.addStock,
			"deleteCategory":  m.deleteCategory,
		})
	})
}

type machine struct {
	*shop
	issued map[int64]bool
}

func (m *machine) check(t *rapid.T) {
	if err := m.store.broken(home); err != nil {
		t.Fatal(err)
	}
	m.store.view(home, func(r *rows) {
		for id := range r.pets {
			if held, moved := r.held(id), r.movedByOrders(id); held != -moved {
				t.Fatalf("the orders of pet %d hold %d units, the ledger says %d", id, held, -moved)
			}
		}
	})
}

// held returns the units in the orders of a pet, open and complete.
func (r *rows) held(pet int64) (units int64) {
	for _, o := range r.orders {
		if o.PetID == pet {
			units += o.Quantity
		}
	}
	return units
}

func (r *rows) movedByOrders(pet int64) (units int64) {
	for _, m := range r.ledger[pet] {
		if m.OrderID != 0 {
			units += m.Delta
		}
	}
	return units
}

// run does an operation and checks how it fails, if it does.
func (m *machine) run(t *rapid.T, what string, do func() error, own ...Code) {
	before := m.snapshot()
	m.clock.advance(time.Millisecond)
	err := do()
	if err == nil {
		return
	}
	if !slices.Contains(own, CodeOf(err)) {
		t.Fatalf("%s: %v, want none or one of %v", what, err, own)
	}
	if after := m.snapshot(); after != before {
		t.Fatalf("%s failed with %v, and yet changed %s to %s", what, err, before, after)
	}
}

func (m *machine) snapshot() (all string) {
	m.store.view(home, func(r *rows) {
		all = fmt.Sprint(r.pets, r.orders, r.ledger, slices.Sorted(maps.Keys(r.categories)))
	})
	return all
}

// create runs a creation and checks that its id is new.
func (m *machine) create(t *rapid.T, what string, do func() (Created, error), own ...Code) {
	m.run(t, what, func() error {
		made, err := do()
		if err == nil && (m.issued[made.ID] || made.ID < 1) {
			t.Fatalf("%s: the id %d is not new", what, made.ID)
		}
		m.issued[made.ID] = err == nil
		return err
	}, own...)
}

// drawPet and drawOrder draw a row that there is, and at times one that there is not.
func (m *machine) drawPet(t *rapid.T) (id int64) {
	m.store.view(home, func(r *rows) { id = drawKey(t, "pet", r.pets) })
	return id
}

func (m *machine) drawOrder(t *rapid.T) (id int64) {
	m.store.view(home, func(r *rows) { id = drawKey(t, "order", r.orders) })
	return id
}

func drawKey[T any](t *rapid.T, label string, rows map[int64]T) int64 {
	return rapid.SampledFrom(append(slices.Sorted(maps.Keys(rows)), 999_999)).Draw(t, label)
}

func drawStatus(t *rapid.T) Status { return rapid.SampledFrom(Statuses()).Draw(t, "status") }

func (m *machine) createPet(t *rapid.T) {
	n := NewPet{Name: "Laika", CategoryID: m.category}
	if rapid.Bool().Draw(t, "says its status") {
		n.Status = drawStatus(t)
	}
	m.create(t, "CreatePet", func() (Created, error) {
		return m.CreatePet(context.Background(), home, n, nil)
	}, CodeValidationFailed) // the category may be gone
}

func (m *machine) updatePet(t *rapid.T) {
	id := m.drawPet(t)
	p := PetPatch{Name: Some("Belka"), Status: Null[Status]()}
	if rapid.Bool().Draw(t, "by hand") {
		p.Status = Some(drawStatus(t))
	}
	m.run(t, "UpdatePet", func() error {
		_, err := m.UpdatePet(context.Background(), home, id, p, Condition{})
		return err
	}, CodePetNotFound, CodeOutOfStock, CodePetHasOpenOrders)
}

func (m *machine) deletePet(t *rapid.T) {
	id := m.drawPet(t)
	m.run(t, "DeletePet", func() error {
		return m.DeletePet(context.Background(), home, id, Condition{})
	}, CodePetNotFound, CodePetHasOpenOrders)
}

func (m *machine) createOrder(t *rapid.T) {
	n := NewOrder{
		PetID:    m.drawPet(t),
		Quantity: rapid.Int64Range(1, 4).Draw(t, "quantity"),
		Complete: rapid.Bool().Draw(t, "complete"),
	}
	m.create(t, "CreateOrder", func() (Created, error) {
		return m.CreateOrder(context.Background(), home, n, nil)
	}, CodeValidationFailed, CodePetNotAvailable, CodeInsufficientStock)
}

func (m *machine) updateOrder(t *rapid.T) {
	id := m.drawOrder(t)
	p := OrderPatch{ShipDate: Null[Time](), Complete: Some(rapid.Bool().Draw(t, "complete"))}
	m.run(t, "UpdateOrder", func() error {
		_, err := m.UpdateOrder(context.Background(), home, id, p, Condition{})
		return err
	}, CodeOrderNotFound, CodeOrderCompleted)
}

func (m *machine) cancelOrder(t *rapid.T) {
	id := m.drawOrder(t)
	m.run(t, "CancelOrder", func() error {
		return m.CancelOrder(context.Background(), home, id, Condition{})
	}, CodeOrderNotFound, CodeOrderCompleted)
}

func (m *machine) updateInventory(t *rapid.T) {
	id, quantity := m.drawPet(t), rapid.Int64Range(0, 6).Draw(t, "quantity")
	m.run(t, "UpdateInventory", func() error {
		_, err := m.UpdateInventory(context.Background(), home, id, quantity, Condition{})
		return err
	}, CodePetNotFound)
}

func (m *machine) addStock(t *rapid.T) {
	id, units := m.drawPet(t), rapid.Int64Range(-3, 3).Draw(t, "units")
	m.run(t, "AddStock", func() error {
		_, err := m.AddStock(context.Background(), home, id, units, nil)
		return err
	}, CodePetNotFound, CodeValidationFailed)
}

func (m *machine) deleteCategory(t *rapid.T) {
	m.run(t, "DeleteCategory", func() error {
		return m.DeleteCategory(context.Background(), home, m.category, Condition{})
	}, CodeCategoryNotFound, CodeCategoryInUse)
	m.create(t, "CreateCategory", func() (Created, error) {
		made, err := m.CreateCategory(context.Background(), home, NewCategory{Name: "Dogs"}, nil)
		if err == nil {
			m.category = made.ID
		}
		return made, err
	})
}
