package store

import (
	"errors"
	"fmt"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// Decide calls every change in turn, each with the rows as those before it left them,
// and adds the statements that issue ids for the new rows.
func (g *Group) Decide(b *Batch) {
	for i := range g.changes {
		m := &g.changes[i]
		if m.workspace.removing {
			m.err = access.Resetting()
			continue
		}
		if !g.replay(m) {
			g.decideOne(m)
		}
	}
	for _, w := range g.workspaces {
		if w.needs != (idCounts{}) || w.named != "" {
			issueIDs(b, w)
		}
	}
}

// replay reports whether the change has its outcome already: from a receipt, or from a
// change before it with the same idempotency key.
func (g *Group) replay(m *groupedChange) bool {
	i := m.Idempotency
	if i == nil {
		return false
	}
	id, again := idOf(m.Change), false
	if first := g.firsts[id]; first != nil {
		if again, m.err = i.Replay(first.Idempotency.Fingerprint, g.now, g.now); again {
			m.first = first
		}
	} else if stored, ok := g.receipts[id]; ok {
		if again, m.err = i.Replay(stored.fingerprint, stored.created, g.now); again {
			m.before = &stored.Receipt
		}
	}
	return again || m.err != nil
}

// decideOne calls the change with copies of the rows, and keeps its effects if it
// succeeds.
func (g *Group) decideOne(m *groupedChange) {
	f := g.facts(m.Change)
	m.guard(func() (err error) {
		m.effects, err = m.Ask(f)
		return err
	})
	if m.err == nil {
		m.err = checkConstraints(&m.effects)
	}
	if m.err != nil {
		m.effects = petstore.Effects{}
		return
	}
	if m.Idempotency != nil {
		g.firsts[idOf(m.Change)] = m
	}
	g.apply(m)
}

func (g *Group) facts(c *petstore.Change) petstore.Facts {
	w, n := c.Workspace, c.Needs
	f, petID := petstore.Facts{Now: g.now, CategoryInUse: g.inUse}, n.PetID
	if o := g.orders[rowID{w, n.OrderID}]; o != nil && !o.gone {
		row := o.row
		f.Order, petID = &row, row.PetID
	}
	if p := g.pets[rowID{w, petID}]; p != nil && !p.gone {
		row := p.row.StockedPet
		f.Pet = &row
	}
	if c := g.categories[rowID{w, n.CategoryID}]; c != nil && !c.gone {
		row := c.row
		f.Category = &row
	}
	return f
}

// checkConstraints refuses what the tables' constraints refuse, before others of the group
// build on it.
func checkConstraints(e *petstore.Effects) error {
	if p := e.SavePet; p != nil && (p.Quantity < 0 || p.OpenOrders < 0 || p.Movements < 0 || !p.Status.Valid()) {
		return fmt.Errorf("the stock %+v is impossible", *p)
	}
	if o := e.SaveOrder; o != nil && o.Quantity <= 0 {
		return fmt.Errorf("the order %+v is impossible", *o)
	}
	return nil
}

// apply makes the effects visible to the later changes of the group, and counts the ids
// that they need. A new row is not among the loaded ones: no change can have named it.
func (g *Group) apply(m *groupedChange) {
	w, e := m.workspace, &m.effects
	if p := e.SavePet; p != nil {
		if m.inserted.pet = p.ID == 0; m.inserted.pet {
			w.needs.pets++
			w.named = lettersOf(w.named, petstore.Fold(p.Name))
		} else if row := g.pets[rowID{w.id, p.ID}]; row != nil {
			if row.row.Name != p.Name {
				w.named = lettersOf(w.named, petstore.Fold(p.Name))
			}
			row.row.StockedPet, row.changed = *p, true
		}
	}
	if c := e.SaveCategory; c != nil {
		if m.inserted.category = c.ID == 0; m.inserted.category {
			w.needs.categories++
		} else if row := g.categories[rowID{w.id, c.ID}]; row != nil {
			row.row, row.changed = *c, true
		}
	}
	if o := e.SaveOrder; o != nil {
		if m.inserted.order = o.ID == 0; m.inserted.order {
			w.needs.orders++
		} else if row := g.orders[rowID{w.id, o.ID}]; row != nil {
			row.row, row.changed = *o, true
		}
	}
	if e.Movement != nil {
		w.needs.movements++
	}
	if row := g.pets[rowID{w.id, e.DropPet}]; row != nil {
		row.gone = true
	}
	if row := g.categories[rowID{w.id, e.DropCategory}]; row != nil {
		row.gone = true
	}
	if row := g.orders[rowID{w.id, e.DropOrder}]; row != nil {
		row.gone = true
	}
}

// ErrUsedUp is the error of a workspace that can issue no more ids.
var ErrUsedUp = errors.New("its ids are used up")

func usedUp(workspace int64) error { return fmt.Errorf("workspace %d: %w", workspace, ErrUsedUp) }

// idCounts has a number for each kind of row: how many ids are needed, or the id that
// was issued last.
type idCounts struct{ pets, categories, orders, movements int64 }

// addIDs raises the counters of a workspace by the ids that are needed of each kind.
const addIDs = `UPDATE counters SET pets = pets + $1, categories = categories + $2, orders = orders + $3, movements = movements + $4
	WHERE workspace = $5 RETURNING pets, categories, orders, movements, letters`

// issueIDs adds the statement that raises the counters of a workspace, and sets issued
// to the ids before the first ones that may be used. Ids that are not used are lost.
func issueIDs(b *Batch, w *groupedWorkspace) {
	n := w.needs
	b.Query(func(row Row) error {
		d := new(idCounts)
		err := row.Scan(&d.pets, &d.categories, &d.orders, &d.movements, &w.letters)
		*d = idCounts{d.pets - n.pets, d.categories - n.categories, d.orders - n.orders, d.movements - n.movements}
		w.issued = d
		return err
	}, addIDs, n.pets, n.categories, n.orders, n.movements, w.id)
}

// assignIDs gives the new rows of a change their ids, and links the effects.
func (g *Group) assignIDs(m *groupedChange) error {
	w, e := m.workspace, &m.effects
	if !m.inserted.pet && !m.inserted.category && !m.inserted.order && e.Movement == nil {
		return nil
	}
	last := w.issued
	if last == nil { // it was reset or deleted while the request was on its way
		return access.Resetting()
	}
	if m.inserted.pet {
		assignID(&e.SavePet.ID, &last.pets)
	}
	if m.inserted.category {
		assignID(&e.SaveCategory.ID, &last.categories)
	}
	if m.inserted.order {
		assignID(&e.SaveOrder.ID, &last.orders)
	}
	e.Link()
	if e.Movement != nil {
		m.movement.Movement = *e.Movement
		m.movement.By = m.By
		assignID(&m.movement.id, &last.movements)
		if pet := g.pets[rowID{w.id, e.Movement.PetID}]; pet != nil {
			m.movement.before, pet.row.lastMovement = pet.row.lastMovement, m.movement.id
		}
	}
	if max(last.pets, last.categories, last.orders, last.movements) > petstore.MaxID {
		return usedUp(w.id)
	}
	return nil
}

// assignID sets *id to the next id unless it has one, and reports whether it did.
func assignID(id, last *int64) bool {
	if *id != 0 {
		return false
	}
	*last++
	*id = *last
	return true
}
