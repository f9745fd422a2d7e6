package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// ErrSplit is why a group is not written whose changes have to be tried one by one.
var ErrSplit = errors.New("one of several changes failed after others had built on it")

// A Group is a number of changes that share a transaction. An engine has it carried out
// by Load, Decide and Write, in this order. Each adds statements to a batch, which the
// engine runs before the next: those of Decide in the same transaction, or in one of its
// own that is committed, and all others in one. If the transaction fails, the engine may
// begin again with Load.
type Group struct {
	store   *Store
	dialect *Dialect
	changes []groupedChange
	writes  []*change // carried out behind the changes
	whole   bool      // nothing is written if a change is refused

	now        petstore.Time
	workspaces []*groupedWorkspace // in order
	pets       rows[storedPet]
	categories rows[petstore.Category]
	orders     rows[petstore.Order]
	inUse      bool // the category of the only change
	receipts   map[receiptID]*storedReceipt
	firsts     map[receiptID]*groupedChange // who has done what a key stands for
}

// A groupedChange is a change with its outcome.
type groupedChange struct {
	*change
	workspace *groupedWorkspace
	effects   petstore.Effects
	before    *petstore.Receipt // of an earlier transaction
	first     *groupedChange    // who in this group has done the same before
	receipt   *petstore.Receipt // what is kept under the idempotency key
	inserted  struct{ pet, category, order bool }
	movement  storedMovement
}

// effective reports whether the change writes anything that it has decided itself.
func (m *groupedChange) effective() bool { return m.err == nil && m.first == nil && m.before == nil }

// A groupedWorkspace is what a group knows of a workspace.
type groupedWorkspace struct {
	id                       int64
	pets, categories, orders []int64  // that are loaded; and the pets of these orders
	removing                 bool     // its rows are being removed
	needs                    idCounts // how many ids new rows need
	issued                   *idCounts
	events                   []petstore.Event
}

// A rowID is the key of a row of a workspace.
type rowID struct{ workspace, id int64 }

func (a rowID) compare(b rowID) int {
	return cmp.Or(cmp.Compare(a.workspace, b.workspace), cmp.Compare(a.id, b.id))
}

// A loadedRow is a row as it was loaded, and as the changes that were decided so far left it.
type loadedRow[T comparable] struct {
	loaded, row T
	gone        bool
}

// Rows are those that a group has loaded.
type rows[T comparable] map[rowID]*loadedRow[T]

// has returns a copy of a row as it is now, or nil.
func (r rows[T]) has(id rowID) *T {
	if l := r[id]; l != nil && !l.gone {
		return new(l.row)
	}
	return nil
}

// set changes a row, if it is there.
func (r rows[T]) set(id rowID, row T) {
	if l := r[id]; l != nil {
		l.row = row
	}
}

// drop removes a row, if it is there.
func (r rows[T]) drop(id rowID) {
	if l := r[id]; l != nil {
		l.gone = true
	}
}

func (s *Store) group(changes []*change) *Group {
	g := &Group{store: s, dialect: &s.options.Dialect, changes: make([]groupedChange, 0, len(changes))}
	for _, c := range changes {
		if c.write != nil {
			g.writes = append(g.writes, c)
		} else {
			g.changes = append(g.changes, groupedChange{change: c})
		}
	}
	return g
}

// notify says of whom events were committed.
func (g *Group) notify() {
	for _, w := range g.workspaces {
		if len(w.events) > 0 {
			g.store.options.Written(w.id)
		}
	}
}

// Len returns how many changes the group has.
func (g *Group) Len() int { return len(g.changes) }

// Workspaces returns the workspaces of the changes.
func (g *Group) Workspaces() []int64 {
	ids := make([]int64, len(g.workspaces))
	for i, w := range g.workspaces {
		ids[i] = w.id
	}
	return ids
}

// Run carries out the group in a transaction.
func (g *Group) Run(tx Tx) error {
	var b Batch
	for _, add := range []func(*Batch){g.Load, g.Decide} {
		add(&b)
		if err := tx.Run(&b); err != nil {
			return err
		}
		b.Reset()
	}
	if err := g.Write(&b); err != nil {
		return err
	}
	if err := tx.Run(&b); err != nil {
		return err
	}
	for _, w := range g.writes {
		if err := w.write(tx); err != nil {
			return err
		}
	}
	return nil
}

// The statements that load the rows of a group. All transactions lock in one order:
// workspaces, orders, pets, categories, each ascending; so none waits for another in a
// circle.
const (
	selectRemoval      = "SELECT workspace FROM removals WHERE workspace = $1"
	ordersToChange     = "SELECT " + orderColumns + " FROM orders WHERE workspace = $1 AND id"
	petsToChange       = "SELECT " + storedColumns + " FROM pets WHERE workspace = $1 AND id"
	categoriesToChange = "SELECT " + categoryColumns + " FROM categories WHERE workspace = $1 AND id"

	// petsOf follows petsToChange where only orders are loaded. The %s is the condition for
	// their ids.
	petsOf = " IN (SELECT pet FROM orders WHERE workspace = $1 AND id%s)"

	// withPetsOf follows petsToChange where pets and orders are loaded. The %s are the conditions
	// for ids of pets and of orders. With an empty list of pets PostgreSQL would plan it anew
	// each time.
	withPetsOf = " IN (SELECT id FROM pets WHERE workspace = $1 AND id%s UNION SELECT pet FROM orders WHERE workspace = $1 AND id%s)"

	// selectCategoryUse is asked after the lock, to see who referred meanwhile.
	selectCategoryUse = "SELECT 1 FROM pets WHERE workspace = $1 AND category = $2 LIMIT 1"
)

// Load forgets an earlier try, and adds the statements that load and lock what the
// changes need.
func (g *Group) Load(b *Batch) {
	g.begin()
	if g.dialect.LockOpen != nil {
		g.dialect.LockOpen(b, g.Workspaces(), g.noteRemoval)
	}
	for _, w := range g.workspaces {
		b.Query(g.noteRemoval, selectRemoval, w.id)
	}
	for i := range g.changes {
		if c := g.changes[i].Change; c.Idempotency != nil {
			id := idOf(c)
			b.Query(func(row Row) error {
				g.receipts[id] = new(storedReceipt)
				return scanReceipt(row, g.receipts[id])
			}, selectReceipt, id.workspace, id.operation, id.key)
		}
	}
	for _, w := range g.workspaces {
		if len(w.orders) > 0 {
			condition, ids := g.dialect.Among(w.orders)
			load(b, ordersToChange+condition+g.dialect.Lock, scanOrder, func(o *loadedRow[petstore.Order]) { g.orders[rowID{w.id, o.row.ID}] = o }, w.id, ids)
		}
	}
	for _, w := range g.workspaces {
		g.loadPets(b, w)
	}
	for _, w := range g.workspaces {
		g.loadCategories(b, w)
	}
}

// begin forgets an earlier try.
func (g *Group) begin() {
	g.now, g.inUse, g.workspaces = petstore.At(g.store.now()), false, nil
	g.pets, g.categories, g.orders = rows[storedPet]{}, rows[petstore.Category]{}, rows[petstore.Order]{}
	g.receipts, g.firsts = map[receiptID]*storedReceipt{}, map[receiptID]*groupedChange{}
	byID := map[int64]*groupedWorkspace{}
	for i := range g.changes {
		c := g.changes[i].change
		c.err = nil
		w := byID[c.Workspace]
		if w == nil {
			w = &groupedWorkspace{id: c.Workspace}
			byID[w.id], g.workspaces = w, append(g.workspaces, w)
		}
		g.changes[i] = groupedChange{change: c, workspace: w}
		w.pets, w.categories, w.orders = need(w.pets, c.Needs.PetID), need(w.categories, c.Needs.CategoryID), need(w.orders, c.Needs.OrderID)
	}
	slices.SortFunc(g.workspaces, func(a, b *groupedWorkspace) int { return cmp.Compare(a.id, b.id) })
}

// need adds an id, unless it is 0, to some that are in order.
func need(ids []int64, id int64) []int64 {
	if i, there := slices.BinarySearch(ids, id); !there && id != 0 {
		ids = slices.Insert(ids, i, id)
	}
	return ids
}

// noteRemoval notes a workspace that takes no changes.
func (g *Group) noteRemoval(row Row) error {
	var id int64
	err := row.Scan(&id)
	for _, w := range g.workspaces {
		w.removing = w.removing || w.id == id
	}
	return err
}

// load adds the statement that loads and locks rows of a workspace.
func load[T comparable](b *Batch, query string, scan func(Row, *T) error, keep func(*loadedRow[T]), args ...any) {
	b.Query(func(row Row) error {
		r := new(loadedRow[T])
		err := scan(row, &r.row)
		r.loaded = r.row
		keep(r)
		return err
	}, query, args...)
}

// loadPets adds the statement for pets, and those of the orders that are loaded.
func (g *Group) loadPets(b *Batch, w *groupedWorkspace) {
	if len(w.pets) == 0 && len(w.orders) == 0 {
		return
	}
	condition, ids := g.dialect.Among(w.pets)
	ofOrders, orders := g.dialect.Among(w.orders)
	args := []any{w.id, ids}
	switch {
	case len(w.pets) == 0:
		condition, args[1] = fmt.Sprintf(petsOf, ofOrders), orders
	case len(w.orders) > 0:
		condition = fmt.Sprintf(withPetsOf, condition, strings.Replace(ofOrders, "$2", "$3", 1))
		args = append(args, orders)
	}
	load(b, petsToChange+condition+g.dialect.Lock, scanStored, func(p *loadedRow[storedPet]) { g.pets[rowID{w.id, p.row.ID}] = p }, args...)
}

// loadCategories adds the statements for categories, and for the use of one that is to
// be deleted, by the only change.
func (g *Group) loadCategories(b *Batch, w *groupedWorkspace) {
	if len(w.categories) == 0 {
		return
	}
	condition, ids := g.dialect.Among(w.categories)
	lock, use := g.dialect.LockKept, g.changes[0].alone()
	if use {
		lock = g.dialect.Lock
	}
	load(b, categoriesToChange+condition+lock, scanCategory, func(c *loadedRow[petstore.Category]) { g.categories[rowID{w.id, c.row.ID}] = c }, w.id, ids)
	if use {
		b.Query(func(Row) error {
			g.inUse = true
			return nil
		}, selectCategoryUse, w.id, w.categories[0])
	}
}

// Decide asks every change in turn, each on what those before it left, and adds the
// statements that issue ids for the new rows.
func (g *Group) Decide(b *Batch) {
	for i := range g.changes {
		m := &g.changes[i]
		switch {
		case m.workspace.removing:
			m.err = access.Resetting()
		case !g.replay(m):
			g.decideOne(m)
		}
	}
	for _, w := range g.workspaces {
		if w.needs != (idCounts{}) {
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

// decideOne hands the change copies of the rows and takes them over if it succeeds.
func (g *Group) decideOne(m *groupedChange) {
	f := g.facts(m.Change)
	m.err = guard(func() (err error) {
		m.effects, err = m.Ask(f)
		return err
	})
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
	f := petstore.Facts{Now: g.now, CategoryInUse: g.inUse, Order: g.orders.has(rowID{w, n.OrderID}), Category: g.categories.has(rowID{w, n.CategoryID})}
	petID := n.PetID
	if f.Order != nil {
		petID = f.Order.PetID
	}
	if p := g.pets.has(rowID{w, petID}); p != nil {
		f.Pet = &p.StockedPet
	}
	return f
}

// apply shows the effects to the changes after this one, and counts the ids that they
// need. Nobody can have asked for a row that is new.
func (g *Group) apply(m *groupedChange) {
	w, e := m.workspace, &m.effects
	if p := e.SavePet; p != nil {
		if m.inserted.pet = p.ID == 0; m.inserted.pet {
			w.needs.pets++
		} else if row := g.pets[rowID{w.id, p.ID}]; row != nil {
			row.row.StockedPet = *p
		}
	}
	if c := e.SaveCategory; c != nil {
		if m.inserted.category = c.ID == 0; m.inserted.category {
			w.needs.categories++
		}
		g.categories.set(rowID{w.id, c.ID}, *c)
	}
	if o := e.SaveOrder; o != nil {
		if m.inserted.order = o.ID == 0; m.inserted.order {
			w.needs.orders++
		}
		g.orders.set(rowID{w.id, o.ID}, *o)
	}
	if e.Movement != nil {
		w.needs.movements++
	}
	g.pets.drop(rowID{w.id, e.DropPet})
	g.categories.drop(rowID{w.id, e.DropCategory})
	g.orders.drop(rowID{w.id, e.DropOrder})
}
