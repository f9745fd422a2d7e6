package store

import (
	"errors"
	"fmt"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// ErrUsedUp is why a workspace issues no more ids.
var ErrUsedUp = errors.New("its ids are used up")

func usedUp(workspace int64) error { return fmt.Errorf("workspace %d: %w", workspace, ErrUsedUp) }

// A demand is a number for each kind of row: how many ids, or one of them.
type demand struct{ pets, categories, orders, movements int64 }

// addIDs raises the counters of a workspace by what is needed of each kind.
const addIDs = `UPDATE counters SET pets = pets + $1, categories = categories + $2, orders = orders + $3, movements = movements + $4
	WHERE workspace = $5 RETURNING pets, categories, orders, movements, letters`

// issueIDs adds the statement that takes ids from the counters, and notes the ids before
// the first that may be used. They are lost if they are not used.
func issueIDs(b *Batch, w *groupedWorkspace) {
	n := w.needs
	b.Query(func(row Row) error {
		d := new(demand)
		err := row.Scan(&d.pets, &d.categories, &d.orders, &d.movements, &w.letters)
		*d = demand{d.pets - n.pets, d.categories - n.categories, d.orders - n.orders, d.movements - n.movements}
		w.issued = d
		return err
	}, addIDs, n.pets, n.categories, n.orders, n.movements, w.id)
}

// number gives the new rows of a change their ids, and links the effects.
func (g *Group) number(m *groupedChange) error {
	w, e := m.workspace, &m.effects
	if !m.inserted.pet && !m.inserted.category && !m.inserted.order && e.Movement == nil {
		return nil
	}
	last := w.issued
	if last == nil { // it was reset or deleted while the request was on its way
		return access.Resetting()
	}
	if m.inserted.pet {
		issueTo(&e.SavePet.ID, &last.pets)
	}
	if m.inserted.category {
		issueTo(&e.SaveCategory.ID, &last.categories)
	}
	if m.inserted.order {
		issueTo(&e.SaveOrder.ID, &last.orders)
	}
	e.Link()
	if e.Movement != nil {
		m.movement.Movement = *e.Movement
		m.movement.By = m.By
		issueTo(&m.movement.id, &last.movements)
		if pet := g.pets[rowID{w.id, e.Movement.PetID}]; pet != nil {
			m.movement.before, pet.row.lastMovement = pet.row.lastMovement, m.movement.id
		}
	}
	if max(last.pets, last.categories, last.orders, last.movements) > petstore.MaxID {
		return usedUp(w.id)
	}
	return nil
}

// issueTo writes the next id to *id unless there is one, and reports whether it did.
func issueTo(id, last *int64) bool {
	if *id != 0 {
		return false
	}
	*last++
	*id = *last
	return true
}
