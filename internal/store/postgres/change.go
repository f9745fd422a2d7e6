package postgres

import (
	"fmt"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// A rowID is the key of a row of a workspace.
type rowID struct{ workspace, id int64 }

// A receiptID is the key of a receipt.
type receiptID struct {
	workspace      int64
	operation, key string
}

// A storedReceipt is a row of receipts.
type storedReceipt struct {
	petstore.Receipt
	fingerprint [32]byte
	created     petstore.Time
}

// A group is a number of changes that share a transaction. The maps hold the
// rows as they were loaded, and then as the changes decided so far left them;
// what is not there, or no longer, is missing or nil.
type group struct {
	now        petstore.Time
	lived      petstore.Time // by which receipts are dated
	changes    []groupedChange
	pets       map[rowID]*petstore.StockedPet
	last       map[rowID]int64 // the ids of the last movements of pets
	categories map[rowID]*petstore.Category
	orders     map[rowID]*petstore.Order
	inUse      map[rowID]bool
	receipts   map[receiptID]storedReceipt
	busy       map[int64]bool // workspaces whose rows are being removed

	silent  bool                         // no events are written
	events  map[int64][]petstore.Event   // by workspace
	firsts  map[receiptID]*groupedChange // who has done what a key stands for
	demands map[int64]*demand            // how many ids new rows need, by workspace
	issued  map[int64]*demand            // the last ids that were given to rows
}

// A groupedChange is a change with its outcome.
type groupedChange struct {
	*write
	effects  petstore.Effects
	before   *petstore.Receipt                   // of an earlier transaction
	first    *groupedChange                      // who in this group has done the same before
	receipt  *petstore.Receipt                   // what is kept under the idempotency key
	inserted struct{ pet, category, order bool } // which of the saved rows are new
	movement int64                               // the id of the movement
	previous int64                               // that of the movement before it, of the same pet
}

func newGroup(writes []*write, now, lived petstore.Time) *group {
	g := &group{
		events:     make(map[int64][]petstore.Event),
		now:        now,
		lived:      lived,
		changes:    make([]groupedChange, len(writes)),
		pets:       make(map[rowID]*petstore.StockedPet, len(writes)),
		last:       make(map[rowID]int64, len(writes)),
		categories: make(map[rowID]*petstore.Category),
		orders:     make(map[rowID]*petstore.Order),
		inUse:      make(map[rowID]bool),
		receipts:   make(map[receiptID]storedReceipt),
		busy:       make(map[int64]bool),
		firsts:     make(map[receiptID]*groupedChange),
		demands:    make(map[int64]*demand),
	}
	for i, w := range writes {
		w.Reset()
		g.changes[i].write = w
	}
	return g
}

func idOf(c *petstore.Change) receiptID {
	return receiptID{c.Workspace, c.Idempotency.Operation, c.Idempotency.Key}
}

// decide asks every change in turn.
func (g *group) decide() {
	for i := range g.changes {
		m := &g.changes[i]
		if g.busy[m.Job.change.Workspace] {
			m.Err = access.Resetting()
			continue
		}
		if !g.replay(m) {
			g.decideOne(m)
		}
	}
}

// replay reports whether the change has its outcome already: from a receipt, or
// from a change before it with the same idempotency key.
func (g *group) replay(m *groupedChange) bool {
	i := m.Job.change.Idempotency
	if i == nil {
		return false
	}
	id, again := idOf(m.Job.change), false
	if first := g.firsts[id]; first != nil {
		if again, m.Err = i.Replay(first.Job.change.Idempotency.Fingerprint, g.lived, g.lived); again {
			m.first = first
		}
	} else if stored, ok := g.receipts[id]; ok {
		if again, m.Err = i.Replay(stored.fingerprint, stored.created, g.lived); again {
			m.before = &stored.Receipt
		}
	}
	return again || m.Err != nil
}

// decideOne hands the change copies of the rows and takes them over if it
// succeeds.
func (g *group) decideOne(m *groupedChange) {
	f := g.facts(m.Job.change)
	m.Guard(func() (err error) {
		m.effects, err = m.Job.change.Ask(f)
		return err
	})
	if m.Err == nil {
		m.Err = checkConstraints(&m.effects)
	}
	if m.Err != nil {
		m.effects = petstore.Effects{}
		return
	}
	if m.Job.change.Idempotency != nil {
		g.firsts[idOf(m.Job.change)] = m
	}
	g.applyToGroup(m.Job.change.Workspace, &m.effects)
}

func clone[T any](row *T) *T {
	if row == nil {
		return nil
	}
	c := *row
	return &c
}

func (g *group) facts(c *petstore.Change) petstore.Facts {
	w, n := c.Workspace, c.Needs
	f := petstore.Facts{Now: g.now}
	petID := n.PetID
	if n.OrderID != 0 {
		if f.Order = clone(g.orders[rowID{w, n.OrderID}]); f.Order != nil {
			petID = f.Order.PetID
		}
	}
	if petID != 0 {
		f.Pet = clone(g.pets[rowID{w, petID}])
	}
	if n.CategoryID != 0 {
		category := rowID{w, n.CategoryID}
		f.Category, f.CategoryInUse = clone(g.categories[category]), g.inUse[category]
	}
	return f
}

// checkConstraints refuses what the tables' constraints refuse, before others of the group
// build on it.
func checkConstraints(e *petstore.Effects) error {
	if p := e.SavePet; p != nil && (p.Quantity < 0 || p.OpenOrders < 0 || p.Movements < 0 || !p.Status.Valid()) {
		return &ownError{fmt.Sprintf("the stock %+v is impossible", *p)}
	}
	if o := e.SaveOrder; o != nil && o.Quantity <= 0 {
		return &ownError{fmt.Sprintf("the order %+v is impossible", *o)}
	}
	return nil
}

// applyToGroup shows the effects to the changes after this one, and counts the ids
// that they need.
func (g *group) applyToGroup(workspace int64, e *petstore.Effects) {
	d := g.demands[workspace]
	if d == nil {
		d = new(demand)
	}
	put(g.pets, workspace, e.SavePet, &d.pets, func(p *petstore.StockedPet) int64 { return p.ID })
	put(g.categories, workspace, e.SaveCategory, &d.categories, func(c *petstore.Category) int64 { return c.ID })
	put(g.orders, workspace, e.SaveOrder, &d.orders, func(o *petstore.Order) int64 { return o.ID })
	if e.Movement != nil {
		d.movements++
	}
	delete(g.pets, rowID{workspace, e.DropPet})
	delete(g.categories, rowID{workspace, e.DropCategory})
	delete(g.orders, rowID{workspace, e.DropOrder})
	if *d != (demand{}) {
		g.demands[workspace] = d
	}
}

// put shows a row, or counts it if it is new: nobody can have asked for it.
func put[T any](rows map[rowID]*T, workspace int64, row *T, fresh *int64, id func(*T) int64) {
	switch {
	case row == nil:
	case id(row) == 0:
		*fresh++
	default:
		rows[rowID{workspace, id(row)}] = row
	}
}

// assignIDs gives the new rows their ids, in the order of the changes, links the
// effects and asks for the receipts.
func (g *group) assignIDs() error {
	for i := range g.changes {
		m := &g.changes[i]
		if m.Err != nil || m.first != nil || m.before != nil {
			continue
		}
		if m.Err = g.number(m); m.Err != nil {
			continue
		}
		m.effects.Link()
		g.chain(m)
		if !g.silent {
			g.addEvents(m)
		}
		if m.Job.change.Idempotency == nil {
			continue
		}
		m.Guard(func() error {
			r := m.Job.change.Receipt()
			m.receipt = &r
			return nil
		})
		if m.Err != nil {
			return m.Err // others have built on it
		}
	}
	return nil
}

// number gives the new rows of a change their ids.
func (g *group) number(m *groupedChange) error {
	w, e, last := m.Job.change.Workspace, &m.effects, g.issued[m.Job.change.Workspace]
	if last == nil {
		last = new(demand)
	}
	m.inserted.pet = e.SavePet != nil && issueTo(&e.SavePet.ID, &last.pets)
	m.inserted.category = e.SaveCategory != nil && issueTo(&e.SaveCategory.ID, &last.categories)
	m.inserted.order = e.SaveOrder != nil && issueTo(&e.SaveOrder.ID, &last.orders)
	if e.Movement != nil {
		issueTo(&m.movement, &last.movements)
	}
	switch {
	case !m.inserted.pet && !m.inserted.category && !m.inserted.order && e.Movement == nil:
		return nil
	case g.issued[w] == nil: // it was deleted while the request was on its way
		return petstore.Unavailable(&ownError{fmt.Sprintf("there is no workspace %d", w)})
	case max(last.pets, last.categories, last.orders, last.movements) > petstore.MaxID:
		return usedUp(w)
	}
	return nil
}

// chain puts the movement of a change at the end of its pet's ledger.
func (g *group) chain(m *groupedChange) {
	if m.effects.Movement == nil {
		return
	}
	pet := rowID{m.Job.change.Workspace, m.effects.Movement.PetID}
	m.previous = g.last[pet]
	g.last[pet] = m.movement
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

// answer tells every caller the outcome. If the transaction is lost, the
// refused ones too: what they were refused for may not have happened.
func (g *group) answer(err error) {
	for i := range g.changes {
		m := &g.changes[i]
		switch {
		case err != nil:
			m.Err = err
		case m.before != nil:
			m.Job.receipt = m.before
		case m.first != nil:
			m.Job.receipt = m.first.receipt
		}
		m.Answer()
	}
}
