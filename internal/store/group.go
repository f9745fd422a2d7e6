package store

import (
	"cmp"
	"fmt"
	"slices"

	"example.com/petstore/internal/petstore"
)

// A Group is a number of changes that share a transaction. An engine has it carried out
// by Load and Write, in this order. Each adds statements to a batch, which the engine runs
// before the next, all in one transaction. If the transaction fails, the engine may begin
// again with Load.
type Group struct {
	store   *Store
	changes []*change
	writes  []*change // carried out behind the changes
	Patient bool      // it waits for the locks of its workspaces however long others hold them

	now        petstore.Time
	workspaces []*groupedWorkspace // in order
	pets       rows[storedPet]
	categories rows[petstore.Category]
	orders     rows[storedOrder]
	receipts   map[receiptID]*storedReceipt // that were loaded, and those of the changes so far

	movements, events [][]any // the new rows
}

// A groupedWorkspace is what a group knows of a workspace.
type groupedWorkspace struct {
	id                       int64
	pets, categories, orders []int64  // that are loaded; and the pets of these orders
	uses                     []int64  // the categories of which is asked whether they are in use
	inUse                    []int64  // those of them that the database has a pet of
	open                     bool     // it has counters
	loaded, last             counters // as they were loaded, and with the ids that were issued since
}

// The counters of a workspace are the last ids that were issued. Their row is locked from the
// first statement of a transaction that writes to the workspace until its commit: so such
// transactions come one after the other, and nobody sees an id before all smaller ones. A
// transaction that locks several does so in ascending order, so none waits for another in a
// circle.
type counters struct {
	pets, categories, orders, movements, events, forgotten int64

	letters string // of all names that pets ever had, folded; it may lack some if it is mostLetters long
}

const (
	selectCounters = "SELECT pets, categories, orders, movements, events, forgotten, letters FROM counters WHERE workspace = $1"
	updateCounters = `UPDATE counters SET pets = $1, categories = $2, orders = $3, movements = $4, events = $5, forgotten = $6, letters = $7
		WHERE workspace = $8`
)

// A rowID is the key of a row of a workspace.
type rowID struct{ workspace, id int64 }

func (a rowID) compare(b rowID) int {
	return cmp.Or(cmp.Compare(a.workspace, b.workspace), cmp.Compare(a.id, b.id))
}

// A loadedRow is a row as it was loaded, and as the changes that were decided so far left it.
type loadedRow[T comparable] struct {
	loaded, row T
	isNew, gone bool
}

// Rows are those that a group has loaded, and the new ones.
type rows[T comparable] map[rowID]*loadedRow[T]

// has returns a copy of a row as it is now, or nil.
func (r rows[T]) has(id rowID) *T {
	if l := r[id]; l != nil && !l.gone {
		return new(l.row)
	}
	return nil
}

// saved returns the row to change. One that was not loaded is new.
func (r rows[T]) saved(id rowID) *T {
	if r[id] == nil {
		r[id] = &loadedRow[T]{isNew: true}
	}
	return &r[id].row
}

// drop removes a row, if it is there.
func (r rows[T]) drop(id rowID) {
	if l := r[id]; l != nil {
		l.gone = true
	}
}

func (s *Store) group(changes []*change) *Group {
	g := &Group{store: s}
	for _, c := range changes {
		if c.write != nil {
			g.writes = append(g.writes, c)
		} else {
			g.changes = append(g.changes, c)
		}
	}
	return g
}

// notify says of whom events were committed.
func (g *Group) notify() {
	for _, w := range g.workspaces {
		if w.last.events > w.loaded.events {
			g.store.written(w.id)
		}
	}
}

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
	g.Load(&b)
	if err := tx.Run(&b); err != nil {
		return err
	}
	b = Batch{}
	g.Write(&b)
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

// The statements that load the rows of a group. The %s is the condition for ids.
const (
	ordersToChange = "SELECT " + orderColumns + ", placed FROM orders WHERE workspace = $1 AND id%s"
	petsToChange   = "SELECT " + storedColumns + " FROM pets WHERE workspace = $1 AND id%s"
	petsOfOrders   = "SELECT " + storedColumns + ` FROM pets WHERE workspace = $1
		AND id IN (SELECT pet FROM orders WHERE workspace = $1 AND id%s)`
	categoriesToChange = "SELECT " + categoryColumns + " FROM categories WHERE workspace = $1 AND id%s"
	selectCategoryUse  = "SELECT 1 FROM pets WHERE workspace = $1 AND category = $2 LIMIT 1"
)

// Load forgets an earlier try, and adds the statements that lock the workspaces and load
// what the changes need.
func (g *Group) Load(b *Batch) {
	g.begin()
	for _, c := range g.changes {
		c.workspace, c.receipt, c.answer, c.err = g.workspace(c.Workspace), nil, nil, nil
		c.workspace.need(c.Needs)
	}
	g.lock(b)
	for _, c := range g.changes {
		if c.Idempotency != nil {
			id := idOf(c.Change)
			b.Query(func(row Row) error {
				g.receipts[id] = new(storedReceipt)
				return scanReceipt(row, g.receipts[id])
			}, selectReceipt, id.workspace, id.operation, id.key)
		}
	}
	for _, w := range g.workspaces {
		g.loadRows(b, w)
	}
}

// begin forgets an earlier try.
func (g *Group) begin() {
	g.now, g.workspaces, g.movements, g.events = petstore.At(g.store.now()), nil, nil, nil
	g.pets, g.categories, g.orders = rows[storedPet]{}, rows[petstore.Category]{}, rows[storedOrder]{}
	g.receipts = map[receiptID]*storedReceipt{}
}

// workspace returns a workspace of the group, which it may add.
func (g *Group) workspace(id int64) *groupedWorkspace {
	i, there := slices.BinarySearchFunc(g.workspaces, id, func(w *groupedWorkspace, id int64) int { return cmp.Compare(w.id, id) })
	if !there {
		g.workspaces = slices.Insert(g.workspaces, i, &groupedWorkspace{id: id})
	}
	return g.workspaces[i]
}

// need adds the rows that a change needs to those that are loaded.
func (w *groupedWorkspace) need(n petstore.Needs) {
	w.pets, w.categories, w.orders = append(w.pets, n.PetID), append(w.categories, n.CategoryID), append(w.orders, n.OrderID)
	if n.CategoryUse {
		w.uses = append(w.uses, n.CategoryID)
	}
}

// distinct returns each of some ids once, in their order; 0 is none.
func distinct(ids []int64) []int64 {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) > 0 && ids[0] == 0 {
		return ids[1:]
	}
	return ids
}

// lock adds the statements that lock the workspaces and load their counters.
func (g *Group) lock(b *Batch) {
	for _, w := range g.workspaces {
		b.Query(func(row Row) error {
			c := &w.loaded
			err := row.Scan(&c.pets, &c.categories, &c.orders, &c.movements, &c.events, &c.forgotten, &c.letters)
			w.last, w.open = *c, true
			return err
		}, selectCounters+g.store.dialect.Lock, w.id)
	}
}

// loadRows adds the statements that load the rows of a workspace which the changes need.
func (g *Group) loadRows(b *Batch, w *groupedWorkspace) {
	petID := func(p *storedPet) int64 { return p.ID }
	w.orders, w.pets, w.categories = distinct(w.orders), distinct(w.pets), distinct(w.categories)
	loadAll(g, b, g.orders, scanStoredOrder, func(o *storedOrder) int64 { return o.ID }, ordersToChange, w.id, w.orders)
	loadAll(g, b, g.pets, scanStored, petID, petsOfOrders, w.id, w.orders)
	loadAll(g, b, g.pets, scanStored, petID, petsToChange, w.id, w.pets)
	loadAll(g, b, g.categories, scanCategory, func(c *petstore.Category) int64 { return c.ID }, categoriesToChange, w.id, w.categories)
	for _, id := range distinct(w.uses) {
		b.Query(func(Row) error {
			w.inUse = append(w.inUse, id)
			return nil
		}, selectCategoryUse, w.id, id)
	}
}

// loadAll adds the statement that loads the rows of a workspace with some ids, if there are any.
func loadAll[T comparable](g *Group, b *Batch, into rows[T], scan func(Row, *T) error, idOf func(*T) int64,
	query string, workspace int64, ids []int64) {
	if len(ids) == 0 {
		return
	}
	among, arg := g.store.dialect.InList(ids)
	b.Query(func(row Row) error {
		r := new(loadedRow[T])
		err := scan(row, &r.row)
		r.loaded = r.row
		into[rowID{workspace, idOf(&r.row)}] = r
		return err
	}, fmt.Sprintf(query, among), workspace, arg)
}
