package store

import (
	"cmp"
	"slices"

	"example.com/petstore/internal/petstore"
)

// The statements that load the rows of a group. All transactions lock in the same
// order, so that they do not deadlock: workspaces, orders, pets, categories, each by
// ascending id.
const (
	selectRemoval      = "SELECT workspace FROM removals WHERE workspace = $1"
	ordersToChange     = "SELECT " + orderColumns + " FROM orders WHERE workspace = $1 AND id"
	petsToChange       = "SELECT " + storedColumns + " FROM pets WHERE workspace = $1 AND id"
	categoriesToChange = "SELECT " + categoryColumns + " FROM categories WHERE workspace = $1 AND id"

	// selectCategoryUse comes after the lock, so that it sees pets that were added
	// before the lock.
	selectCategoryUse = "SELECT 1 FROM pets WHERE workspace = $1 AND category = $2 LIMIT 1"
)

// Load clears an earlier try, and adds the statements that load and lock what the
// changes need. If changes need orders, LoadRest adds those for pets and categories.
func (g *Group) Load(b *Batch) {
	g.begin()
	ids := g.Workspaces()
	if g.dialect.LockOpen != nil {
		g.dialect.LockOpen(b, ids, g.noteRemoval)
	}
	for _, id := range ids {
		b.Query(g.noteRemoval, selectRemoval, id)
	}
	var orders []rowID
	for i := range g.changes {
		c := g.changes[i].Change
		if c.Needs.OrderID != 0 {
			orders = append(orders, rowID{c.Workspace, c.Needs.OrderID})
		}
		if c.Idempotency != nil {
			g.loadReceipt(b, idOf(c))
		}
	}
	g.dialect.loadRows(b, orders, ordersToChange, g.dialect.Lock, func(workspace int64, row Row) error {
		o := new(loadedRow[petstore.Order])
		err := scanOrder(row, &o.row)
		g.orders[rowID{workspace, o.row.ID}] = o
		return err
	})
	if len(orders) == 0 {
		g.loadPetsAndCategories(b)
	}
}

// LoadRest adds the statements that load the pets of orders, and what is locked after
// them.
func (g *Group) LoadRest(b *Batch) {
	if slices.ContainsFunc(g.changes, func(m groupedChange) bool { return m.Needs.OrderID != 0 }) {
		g.loadPetsAndCategories(b)
	}
}

// begin clears an earlier try.
func (g *Group) begin() {
	n := len(g.changes)
	g.now = petstore.At(g.store.now())
	g.pets, g.orders = make(map[rowID]*loadedPet, n), make(map[rowID]*loadedRow[petstore.Order])
	g.categories, g.inUse = make(map[rowID]*loadedRow[petstore.Category]), false
	g.receipts, g.firsts = make(map[receiptID]*storedReceipt), make(map[receiptID]*groupedChange)
	g.workspaces = g.workspaces[:0]
	byID := make(map[int64]*groupedWorkspace)
	for i := range g.changes {
		w := g.changes[i].change
		w.err, w.panicked = nil, nil
		workspace := byID[w.Workspace]
		if workspace == nil {
			workspace = &groupedWorkspace{id: w.Workspace}
			byID[workspace.id] = workspace
			g.workspaces = append(g.workspaces, workspace)
		}
		g.changes[i] = groupedChange{change: w, workspace: workspace}
	}
	slices.SortFunc(g.workspaces, func(a, b *groupedWorkspace) int { return cmp.Compare(a.id, b.id) })
}

// noteRemoval marks the workspace of a row as closed to changes.
func (g *Group) noteRemoval(row Row) error {
	var id int64
	err := row.Scan(&id)
	if w := g.workspace(id); w != nil {
		w.removing = true
	}
	return err
}

func (g *Group) workspace(id int64) *groupedWorkspace {
	i, found := slices.BinarySearchFunc(g.workspaces, id, func(w *groupedWorkspace, id int64) int { return cmp.Compare(w.id, id) })
	if !found {
		return nil
	}
	return g.workspaces[i]
}

func (g *Group) loadPetsAndCategories(b *Batch) {
	pets, categories := make([]rowID, 0, len(g.changes)), []rowID(nil)
	for i := range g.changes {
		c := g.changes[i].Change
		if c.Needs.PetID != 0 {
			pets = append(pets, rowID{c.Workspace, c.Needs.PetID})
		}
		if o := g.orders[rowID{c.Workspace, c.Needs.OrderID}]; o != nil {
			pets = append(pets, rowID{c.Workspace, o.row.PetID})
		}
		if c.Needs.CategoryID != 0 {
			categories = append(categories, rowID{c.Workspace, c.Needs.CategoryID})
		}
	}
	g.dialect.loadRows(b, pets, petsToChange, g.dialect.Lock, func(workspace int64, row Row) error {
		p := new(loadedPet)
		err := scanStored(row, &p.row)
		p.loaded = p.row.Pet
		g.pets[rowID{workspace, p.row.ID}] = p
		return err
	})
	g.loadCategories(b, categories)
}

// loadCategories adds the statements for categories, and, if the only change would
// delete one, for whether it has pets.
func (g *Group) loadCategories(b *Batch, ids []rowID) {
	lock, use := g.dialect.LockKept, len(ids) > 0 && g.changes[0].alone()
	if use {
		lock = g.dialect.Lock
	}
	g.dialect.loadRows(b, ids, categoriesToChange, lock, func(workspace int64, row Row) error {
		c := new(loadedRow[petstore.Category])
		err := scanCategory(row, &c.row)
		g.categories[rowID{workspace, c.row.ID}] = c
		return err
	})
	if use {
		b.Query(func(Row) error {
			g.inUse = true
			return nil
		}, selectCategoryUse, ids[0].workspace, ids[0].id)
	}
}

// loadRows adds a statement for the rows of each workspace.
func (d *Dialect) loadRows(b *Batch, keys []rowID, query, lock string, row func(workspace int64, row Row) error) {
	slices.SortFunc(keys, rowID.compare)
	keys = slices.Compact(keys)
	for len(keys) > 0 {
		workspace, n := keys[0].workspace, 1
		for n < len(keys) && keys[n].workspace == workspace {
			n++
		}
		condition, arg := " = $2", any(keys[0].id)
		if n > 1 {
			ids := make([]int64, n)
			for i := range ids {
				ids[i] = keys[i].id
			}
			condition, arg = d.Among(ids)
		}
		b.Query(func(r Row) error { return row(workspace, r) }, query+condition+lock, workspace, arg)
		keys = keys[n:]
	}
}
