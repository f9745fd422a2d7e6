package store

import (
	"context"
	"errors"
	"maps"
	"slices"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// Load implements [petstore.Bulk]. While it runs, others can write anything, except that
// they cannot delete the categories that it refers to.
func (s *Store) Load(ctx context.Context, workspace int64, b *petstore.Batch) ([]petstore.Refusal, error) {
	l := &Load{store: s, workspace: workspace, batch: b}
	switch err := s.db.Load(ctx, l); {
	case errors.Is(err, petstore.ErrRefused):
		return l.refused, nil
	case err != nil:
		return nil, err
	}
	if b.Imported != nil {
		s.options.Written(workspace)
	}
	return l.refused, nil
}

// A Load stores one batch. An engine carries it out as [DB.Load] says.
type Load struct {
	store     *Store
	workspace int64
	batch     *petstore.Batch
	last      *groupedWorkspace // the ids that were issued for it

	next     idCounts         // the ids that were given last
	highest  petstore.LastIDs // of the batch
	given    []*int64         // ids that were written into the batch, and are void if it is tried again
	refused  []petstore.Refusal
	existing foundRows

	categories, pets, orders, movements [][]any
	names                               Batch
}

// Workspace returns where the batch goes.
func (l *Load) Workspace() int64 { return l.workspace }

// Imported returns how many rows came with the import that the batch ends, 0 if it ends none.
func (l *Load) Imported() int64 {
	if i := l.batch.Imported; i != nil {
		return i.Categories + i.Pets + i.Orders
	}
	return 0
}

// Issue adds the statement that raises the counters by the ids that new rows need. It
// clears the ids of an earlier try.
func (l *Load) Issue(b *Batch) {
	for _, id := range l.given {
		*id = 0
	}
	l.given = nil
	need := idCounts{}
	for i := range l.batch.Units {
		u := &l.batch.Units[i]
		need.movements += int64(len(u.Movements))
		switch {
		case u.Category != nil && u.Category.ID == 0:
			need.categories++
		case u.Category == nil && u.PetID == 0:
			need.pets++
		}
	}
	l.last = &groupedWorkspace{id: l.workspace, needs: need, issued: new(idCounts)}
	issueIDs(b, l.last)
}

// Run carries out the load in one transaction.
func (l *Load) Run(tx Tx) error {
	var b Batch
	l.Issue(&b)
	if err := tx.Run(&b); err != nil {
		return err
	}
	return l.Keep(tx)
}

// Keep writes the batch in a transaction, after Issue. If the transaction fails, both
// may be called again.
func (l *Load) Keep(tx Tx) error {
	l.refused, l.next, l.highest = nil, *l.last.issued, l.batch.Last
	l.existing = newFoundRows()
	l.categories, l.pets, l.orders, l.movements = nil, nil, nil, nil
	l.names.Reset()
	if err := l.loadExisting(tx); err != nil {
		return err
	}
	needs := l.last.needs
	if max(l.next.categories+needs.categories, l.next.pets+needs.pets, l.next.movements+needs.movements) > petstore.MaxID {
		return usedUp(l.workspace)
	}
	var err error
	if l.refused, err = l.batch.Insert(l.has, l.keep); err != nil {
		return err
	}
	if l.batch.File != "" {
		if err := rememberImport(tx, l.workspace, l.batch.File, l.batch.Through); err != nil {
			return err
		}
	}
	if err := l.write(tx); err != nil || l.batch.Imported == nil {
		return err
	}
	return l.store.AddEvent(tx, l.workspace, petstore.CatalogueImported, petstore.JSON(*l.batch.Imported))
}

// keep gives a unit its ids and puts its rows among those to write.
func (l *Load) keep(u *petstore.Unit) error {
	if c := u.Category; c != nil {
		l.issue(&c.ID, &l.next.categories)
		l.add(petstore.CategoryRow, c.ID, &l.highest.Categories)
		l.categories = append(l.categories, categoryTable.values(l.workspace, c))
		return nil
	}
	if u.Pet != nil {
		l.keepPet(u)
	}
	for i := range u.Orders {
		o := &u.Orders[i]
		l.add(petstore.OrderRow, o.ID, &l.highest.Orders)
		l.orders = append(l.orders, orderTable.values(l.workspace, o))
	}
	before := int64(0)
	for _, m := range u.Movements {
		m.PetID = u.PetID
		l.next.movements++
		l.add(petstore.LedgerRow, u.PetID, &l.highest.Pets)
		l.movements = append(l.movements, movementTable.values(l.workspace, &storedMovement{m, l.next.movements, before}))
		before = l.next.movements
	}
	return nil
}

func (l *Load) keepPet(u *petstore.Unit) {
	p := u.Pet
	if u.PetID == 0 {
		l.issue(&u.PetID, &l.next.pets)
		p.ID = u.PetID
		l.given = append(l.given, &p.ID)
	}
	l.add(petstore.PetRow, p.ID, &l.highest.Pets)
	row := storedPet{StockedPet: *p}
	if n := int64(len(u.Movements)); n > 0 {
		row.lastMovement = l.next.movements + n
	}
	l.pets = append(l.pets, petTable.values(l.workspace, &row))
	name := petstore.Fold(p.Name)
	if add := l.store.options.Dialect.AddName; add != nil {
		add(&l.names, l.workspace, p.ID, name)
	}
}

// add notes a row of the batch.
func (l *Load) add(kind petstore.RowKind, id int64, highest *int64) {
	l.existing[kind][id] = true
	*highest = max(*highest, id)
}

// issue sets *id to the next id unless it has one.
func (l *Load) issue(id, last *int64) {
	if assignID(id, last) {
		l.given = append(l.given, id)
	}
}

// write writes the rows, and raises the counters above the ids that the batch brought
// along, so that these are not issued again.
func (l *Load) write(tx Tx) error {
	if max(l.highest.Categories, l.highest.Pets, l.highest.Orders) > petstore.MaxID {
		return usedUp(l.workspace)
	}
	for _, t := range []struct {
		name    string
		columns []string
		rows    [][]any
	}{
		{categoryTable.name, categoryTable.columns, l.categories},
		{petTable.name, petTable.columns, l.pets},
		{orderTable.name, orderTable.columns, l.orders},
		{movementTable.name, movementTable.columns, l.movements},
	} {
		if err := tx.Fill(t.name, t.columns, t.rows); err != nil {
			return err
		}
	}
	raiseTo(&l.names, l.workspace, l.highest)
	return tx.Run(&l.names)
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

// loadExisting finds out which ids exist already, in one round trip. It locks the
// categories against deletion.
func (l *Load) loadExisting(tx Tx) error {
	dialect, closing := &l.store.options.Dialect, false
	var b Batch
	if dialect.LockOpen != nil {
		dialect.LockOpen(&b, []int64{l.workspace}, func(Row) error {
			closing = true
			return nil
		})
	}
	l.find(&b, dialect.LockNamed)
	if err := tx.Run(&b); err != nil {
		return err
	}
	if closing {
		return access.Resetting()
	}
	return CheckWorkspace(tx, l.workspace)
}

// find adds the statements that look for the ids which the batch names. Those of categories end with lock.
func (l *Load) find(b *Batch, lock string) {
	for kind, named := range l.named() {
		if len(named) == 0 {
			continue
		}
		condition, arg := l.store.options.Dialect.Among(slices.Sorted(maps.Keys(named)))
		if petstore.RowKind(kind) == petstore.CategoryRow {
			condition += lock
		}
		b.Query(func(row Row) error {
			var id int64
			err := row.Scan(&id)
			l.existing[kind][id] = true
			return err
		}, findRows[kind]+condition, l.workspace, arg)
	}
}

// named returns the ids that the batch brings along or refers to.
func (l *Load) named() foundRows {
	n := newFoundRows()
	for i := range l.batch.Units {
		u := &l.batch.Units[i]
		switch {
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

func (l *Load) has(kind petstore.RowKind, id int64) bool { return l.existing[kind][id] }
