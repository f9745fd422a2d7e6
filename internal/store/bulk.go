package store

import (
	"context"
	"errors"
	"maps"
	"slices"

	"example.com/petstore/internal/petstore"
)

// largeImport is after how many rows statistics are gathered.
const largeImport = 10_000

// Load implements [petstore.Bulk]. Other writes to the workspace wait for the end of its
// transaction. After a large import it has the planner's statistics gathered: otherwise reads
// would keep plans that were made for small tables.
func (s *Store) Load(ctx context.Context, workspace int64, b *petstore.Batch) ([]petstore.Refusal, error) {
	l := &load{store: s, workspace: workspace, batch: b}
	switch err := s.db.Step(ctx, workspace, l.run); {
	case errors.Is(err, petstore.ErrRefused):
		return l.refused, nil
	case err != nil:
		return nil, err
	}
	l.group.notify()
	if i := b.Imported; i != nil {
		if gather := s.options.Dialect.Gather; gather != "" && i.Categories+i.Pets+i.Orders >= largeImport {
			_ = s.db.Write(ctx, func(tx Tx) error { return exec(tx, gather) }) // if it fails, the database does so by itself some time
		}
	}
	return l.refused, nil
}

// A load stores one batch.
type load struct {
	store     *Store
	workspace int64
	batch     *petstore.Batch

	group    *Group
	in       *groupedWorkspace
	given    []*int64 // ids that were written into the batch, and are void if it is tried again
	refused  []petstore.Refusal
	existing foundRows
}

// run carries out the load in a transaction. It may be called again.
func (l *load) run(tx Tx) error {
	if err := l.begin(tx); err != nil {
		return err
	}
	last := &l.in.last
	last.categories, last.pets, last.orders = max(last.categories, l.batch.Last.Categories), max(last.pets, l.batch.Last.Pets), max(last.orders, l.batch.Last.Orders)
	var err error
	if l.refused, err = l.batch.Insert(l.has, l.keep); err != nil {
		return err
	}
	if err := l.in.usedUp(); err != nil {
		return err
	}
	if l.batch.File != "" {
		if err := rememberImport(tx, l.workspace, l.batch.File, l.batch.Through); err != nil {
			return err
		}
	}
	if i := l.batch.Imported; i != nil {
		l.group.addEvents(l.in, petstore.Event{Type: petstore.CatalogueImported, CreatedAt: l.group.now, Data: petstore.JSON(*i)})
	}
	var b Batch
	l.group.write(&b)
	return tx.Run(&b)
}

// begin forgets an earlier try, locks the workspace and finds out which ids exist already.
func (l *load) begin(tx Tx) error {
	for _, id := range l.given {
		*id = 0
	}
	l.given, l.existing = nil, newFoundRows()
	l.group = l.store.group(nil)
	l.group.begin()
	l.in = l.group.workspace(l.workspace)
	var b Batch
	l.find(&b)
	if err := tx.Run(&b); err != nil || l.in.open {
		return err
	}
	return CheckShop(tx, l.workspace, "")
}

// keep gives a unit its ids and puts its rows among those to write.
func (l *load) keep(u *petstore.Unit) error {
	if u.Change != nil {
		return l.change(u.Change)
	}
	g, last := l.group, &l.in.last
	if c := u.Category; c != nil {
		l.issue(petstore.CategoryRow, &c.ID, &last.categories)
		*g.categories.saved(rowID{l.workspace, c.ID}, true) = *c
		return nil
	}
	if u.Pet != nil {
		l.issue(petstore.PetRow, &u.PetID, &last.pets)
	}
	for i := range u.Orders {
		o := &u.Orders[i]
		l.issue(petstore.OrderRow, &o.ID, &last.orders)
		g.orders.saved(rowID{l.workspace, o.ID}, true).Order = *o
	}
	lastMovement := int64(0)
	for _, m := range u.Movements {
		m.PetID = u.PetID
		last.movements++
		g.movements = append(g.movements, movementTable.values(l.workspace, &storedMovement{m, last.movements, lastMovement}))
		lastMovement = last.movements
	}
	if len(u.Movements) > 0 { // of a pet that is kept or was deleted
		l.issue(petstore.LedgerRow, &u.PetID, &last.pets)
	}
	if u.Pet != nil {
		u.Pet.ID = u.PetID
		*g.pets.saved(rowID{l.workspace, u.PetID}, true) = storedPet{*u.Pet, lastMovement}
	}
	return nil
}

// change decides a change on the rows as the units before it left them.
func (l *load) change(c *petstore.Change) error {
	m := groupedChange{change: &change{Change: c}, workspace: l.in}
	l.group.decideOne(&m)
	return m.err
}

// issue sets *id to the next id unless it has one, and notes the row.
func (l *load) issue(kind petstore.RowKind, id, last *int64) {
	if assignID(id, last) {
		l.given = append(l.given, id)
	}
	*last = max(*last, *id)
	l.existing[kind][*id] = true
}

// foundRows are ids by the kind of their rows: of those that a batch names, the ones
// that the store has, and then those of the batch itself.
type foundRows [petstore.RowKinds]map[int64]bool

func newFoundRows() (f foundRows) {
	for kind := range f {
		f[kind] = map[int64]bool{}
	}
	return f
}

// findRows are queries, to be followed by a condition, for the ids that a batch names.
var findRows = [petstore.RowKinds]string{
	petstore.CategoryRow: "SELECT id FROM categories WHERE workspace = $1 AND id",
	petstore.PetRow:      "SELECT id FROM pets WHERE workspace = $1 AND id",
	petstore.OrderRow:    "SELECT id FROM orders WHERE workspace = $1 AND id",
	petstore.LedgerRow:   "SELECT pet FROM movements WHERE workspace = $1 AND kind = 'deleted' AND pet", // that of a pet which is there comes with the pet
}

// find adds the statements that lock the workspace, load the rows which changes need, and look
// for the ids which the other units name.
func (l *load) find(b *Batch) {
	for i := range l.batch.Units {
		if u := &l.batch.Units[i]; u.Change != nil {
			l.in.need(u.Change.Needs)
			if u.In != nil {
				l.in.categories = need(l.in.categories, u.In.ID)
			}
		}
	}
	l.group.lock(b)
	l.group.loadRows(b, l.in)
	for kind, named := range l.named() {
		if len(named) == 0 {
			continue
		}
		among, ids := l.store.options.Dialect.Among(slices.Sorted(maps.Keys(named)))
		b.Query(func(row Row) error {
			var id int64
			err := row.Scan(&id)
			l.existing[kind][id] = true
			return err
		}, findRows[kind]+among, l.workspace, ids)
	}
}

// named returns the ids that the batch brings along or refers to.
func (l *load) named() foundRows {
	n := newFoundRows()
	for i := range l.batch.Units {
		u := &l.batch.Units[i]
		switch {
		case u.Change != nil:
			continue
		case u.Category != nil:
			n[petstore.CategoryRow][u.Category.ID] = true
			continue
		case u.Pet != nil && u.In != nil:
			n[petstore.CategoryRow][u.In.ID] = true
		case u.Pet != nil:
			n[petstore.CategoryRow][u.Pet.CategoryID] = true
		}
		n[petstore.PetRow][u.PetID] = true
		n[petstore.LedgerRow][u.PetID] = true
		for _, o := range u.Orders {
			n[petstore.OrderRow][o.ID] = true
		}
	}
	for _, ids := range n {
		delete(ids, 0) // rows that get an id
	}
	return n
}

func (l *load) has(kind petstore.RowKind, id int64) bool { return l.existing[kind][id] }
