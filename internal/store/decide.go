package store

import (
	"errors"
	"fmt"
	"slices"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// ErrUsedUp is why a workspace issues no more ids.
var ErrUsedUp = errors.New("its ids are used up")

// decide asks every change in turn, each on what those before it left.
func (g *Group) decide() {
	for _, c := range g.changes {
		switch {
		case !c.workspace.open:
			c.err = access.Resetting()
		case !g.replay(c):
			g.decideOne(c)
		}
	}
}

// replay reports whether the change has its outcome already: from a receipt, or from a
// change before it with the same idempotency key.
func (g *Group) replay(c *change) bool {
	if c.Idempotency == nil {
		return false
	}
	kept := g.receipts[idOf(c.Change)]
	if kept == nil {
		return false
	}
	again, err := c.Idempotency.Replay(kept.fingerprint, kept.created, g.now)
	if c.err = err; again {
		c.answer = &kept.Receipt
	}
	return again || err != nil
}

// decideOne hands the change copies of the rows and takes them over if it succeeds.
func (g *Group) decideOne(c *change) {
	w, before := c.workspace, c.workspace.last
	var d decision
	c.err = guard(func() (err error) {
		d, err = g.ask(c)
		return err
	})
	if c.err != nil {
		w.last = before
		return
	}
	if c.receipt != nil {
		g.receipts[idOf(c.Change)] = c.receipt
	}
	g.apply(c, &d)
}

func (g *Group) facts(c *change) petstore.Facts {
	w, n := c.workspace, c.Needs
	f := petstore.Facts{Now: g.now, Category: g.categories.has(rowID{w.id, n.CategoryID})}
	petID := n.PetID
	if o := g.orders.has(rowID{w.id, n.OrderID}); o != nil {
		f.Order, petID = &o.Order, o.PetID
	}
	if p := g.pets.has(rowID{w.id, petID}); p != nil {
		f.Pet = &p.StockedPet
	}
	f.CategoryInUse = n.CategoryUse && g.inUse(w, n.CategoryID)
	return f
}

// inUse reports whether a category had a pet when the group was loaded, or has one now.
func (g *Group) inUse(w *groupedWorkspace, category int64) bool {
	for id, p := range g.pets {
		if id.workspace == w.id && p.row.CategoryID == category && !p.gone {
			return true
		}
	}
	return slices.Contains(w.inUse, category)
}

// A decision is what a change writes.
type decision struct {
	petstore.Effects
	events []petstore.Event
}

// ask asks the change, gives its new rows their ids, and asks for its receipt.
func (g *Group) ask(c *change) (d decision, err error) {
	w, last := c.workspace, &c.workspace.last
	if d.Effects, err = c.Ask(g.facts(c)); err != nil {
		return d, err
	}
	if p := d.SavePet; p != nil {
		assignID(&p.ID, &last.pets)
	}
	if c := d.SaveCategory; c != nil {
		assignID(&c.ID, &last.categories)
	}
	if o := d.SaveOrder; o != nil {
		assignID(&o.ID, &last.orders)
	}
	d.Link()
	if d.Movement != nil {
		last.movements++
	}
	if err := w.usedUp(); err != nil {
		return d, err
	}
	if !g.store.noEvents {
		d.events = d.Events(g.now, c.RequestID)
	}
	if c.Idempotency != nil {
		c.receipt = &storedReceipt{c.Receipt(), c.Idempotency.Fingerprint, g.now}
	}
	return d, nil
}

// assignID writes the next id to *id unless there is one, and reports whether it did.
func assignID(id, last *int64) bool {
	if *id != 0 {
		return false
	}
	*last++
	*id = *last
	return true
}

func (w *groupedWorkspace) usedUp() error {
	if c := &w.last; max(c.pets, c.categories, c.orders, c.movements) > petstore.MaxID {
		return fmt.Errorf("workspace %d: %w", w.id, ErrUsedUp)
	}
	return nil
}

// apply shows the decision to the changes after this one, and keeps its movement and events.
func (g *Group) apply(c *change, d *decision) {
	w := c.workspace
	if p := d.SavePet; p != nil {
		g.pets.saved(rowID{w.id, p.ID}).StockedPet = *p
	}
	if c := d.SaveCategory; c != nil {
		*g.categories.saved(rowID{w.id, c.ID}) = *c
	}
	if o := d.SaveOrder; o != nil {
		g.orders.saved(rowID{w.id, o.ID}).Order = *o
	}
	if d.Movement != nil {
		movement := storedMovement{Movement: *d.Movement, id: w.last.movements}
		movement.By = c.By
		if pet := g.pets[rowID{w.id, movement.PetID}]; pet != nil {
			movement.before, pet.row.lastMovement = pet.row.lastMovement, movement.id
		}
		if movement.Kind == petstore.MovedPlaced || movement.Kind == petstore.MovedSale {
			g.orders.saved(rowID{w.id, movement.OrderID}).placed = movement.id
		}
		g.movements = append(g.movements, movementTable.values(w.id, &movement))
	}
	g.pets.drop(rowID{w.id, d.DropPet})
	g.categories.drop(rowID{w.id, d.DropCategory})
	g.orders.drop(rowID{w.id, d.DropOrder})
	g.addEvents(w, d.events...)
}

// addEvents adds events to the feed of a workspace.
func (g *Group) addEvents(w *groupedWorkspace, events ...petstore.Event) {
	if g.store.noEvents {
		return
	}
	for i := range events {
		e, last := &events[i], &w.last
		last.events = max(last.events, last.forgotten) + 1
		e.ID = last.events
		g.events = append(g.events, eventTable.values(w.id, e))
	}
}
