package store

import (
	"cmp"
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
)

// largeImport is after how many rows tables are tidied.
const largeImport = 10_000

// Load implements [petstore.Bulk]. Other writes to the workspace wait for the end of its
// transaction.
func (s *Store) Load(ctx context.Context, workspace int64, b *petstore.Batch) ([]petstore.Refusal, error) {
	l := &load{Group: s.group(nil), shop: workspace, batch: b}
	err := s.db.WriteBulk(ctx, workspace, l.run)
	switch {
	case errors.Is(err, petstore.ErrRefused):
		return l.refused, nil
	case err != nil:
		return nil, err
	}
	l.notify()
	if i := b.Imported; i != nil && i.Categories+i.Pets+i.Orders >= largeImport {
		for more := true; more && err == nil; { // what fails, the database does by itself some time
			err = s.db.WriteBulk(ctx, 0, func(tx Tx) (err error) {
				more, err = s.dialect.Tidy(tx)
				return err
			})
		}
	}
	return l.refused, nil
}

// A load stores one batch.
type load struct {
	*Group
	shop  int64
	batch *petstore.Batch
	last  counters // of a dry run: with the ids that earlier batches were given

	in      *groupedWorkspace
	given   []*int64 // ids that were written into the batch, and are void if it is tried again
	taken   takenIDs
	refused []petstore.Refusal
}

// run carries out the load in a transaction. It may be called again.
func (l *load) run(tx Tx) error {
	l.taken = takenIDs{}
	if err := l.insert(tx); err != nil {
		return err
	}
	if l.batch.File != "" {
		if err := rememberImport(tx, l.shop, l.batch.File, l.batch.Through); err != nil {
			return err
		}
	}
	if i := l.batch.Imported; i != nil {
		l.addEvents(l.in, petstore.Event{Type: petstore.CatalogueImported, CreatedAt: l.now, Data: petstore.JSON(*i)})
	}
	var b Batch
	l.write(&b)
	return tx.Run(&b)
}

// insert forgets an earlier try, locks the workspace, loads what the batch names, and decides
// one unit after the other. It writes nothing.
func (l *load) insert(tx Tx) error {
	for _, id := range l.given {
		*id = 0
	}
	l.given = nil
	l.begin()
	l.in = l.workspace(l.shop)
	var b Batch
	l.find(&b)
	if err := tx.Run(&b); err != nil {
		return err
	}
	if !l.in.open {
		return CheckShop(tx, l.shop, "")
	}
	addAll(l.taken, petstore.CategoryRow, l.categories)
	addAll(l.taken, petstore.PetRow, l.pets)
	addAll(l.taken, petstore.OrderRow, l.orders)
	last, before := &l.in.last, &l.batch.Last
	last.categories = max(last.categories, l.last.categories, before.Categories)
	last.pets = max(last.pets, l.last.pets, before.Pets)
	last.orders = max(last.orders, l.last.orders, before.Orders)
	var err error
	l.refused, err = l.batch.Insert(l.taken.has, l.keep)
	return cmp.Or(err, l.in.usedUp())
}

// keep gives a unit its ids and puts its rows among those to write.
func (l *load) keep(u *petstore.Unit) error {
	last := &l.in.last
	if u.Change != nil {
		return l.change(u.Change)
	}
	if c := u.Category; c != nil {
		l.issue(petstore.CategoryRow, &c.ID, &last.categories)
		*l.categories.saved(rowID{l.shop, c.ID}) = *c
		return nil
	}
	if u.Pet != nil {
		l.issue(petstore.PetRow, &u.PetID, &last.pets)
	}
	for i := range u.Orders {
		o := &u.Orders[i]
		l.issue(petstore.OrderRow, &o.ID, &last.orders)
		l.orders.saved(rowID{l.shop, o.ID}).Order = *o
	}
	lastMovement := int64(0)
	for _, m := range u.Movements {
		m.PetID = u.PetID
		last.movements++
		l.movements = append(l.movements, movementTable.values(l.shop, &storedMovement{m, last.movements, lastMovement}))
		lastMovement = last.movements
	}
	if len(u.Movements) > 0 { // of a pet that is kept or was deleted
		l.issue(petstore.LedgerRow, &u.PetID, &last.pets)
	}
	if u.Pet != nil {
		if u.Pet.ID != u.PetID { // the catalogues of sandboxes are shared, and have their ids
			u.Pet.ID = u.PetID
		}
		*l.pets.saved(rowID{l.shop, u.PetID}) = storedPet{*u.Pet, lastMovement}
	}
	return nil
}

// change decides a change on the rows as the units before it left them. In a dry run only the
// id is known of a category that an earlier batch added.
func (l *load) change(c *petstore.Change) error {
	if id := c.Needs.CategoryID; l.taken.has(petstore.CategoryRow, id) {
		l.categories.saved(rowID{l.shop, id}).ID = id
	}
	w := &change{Change: c, workspace: l.in}
	l.decideOne(w)
	return w.err
}

// issue sets *id to the next id unless it has one, and notes the row.
func (l *load) issue(kind petstore.RowKind, id, last *int64) {
	if assignID(id, last) {
		l.given = append(l.given, id)
	}
	*last = max(*last, *id)
	l.taken.add(kind, *id)
}

// selectDeleted selects the pets that were deleted and have left a ledger, and is followed by a
// condition for their ids. The ledger of a pet that is there comes with the pet.
const selectDeleted = "SELECT pet FROM movements WHERE workspace = $1 AND kind = 'deleted' AND pet"

// find adds the statements that lock the workspace, and load the rows that the batch names.
func (l *load) find(b *Batch) {
	w := l.in
	for i := range l.batch.Units {
		u := &l.batch.Units[i]
		w.pets = append(w.pets, u.PetID)
		for _, o := range u.Orders {
			w.orders = append(w.orders, o.ID)
		}
		switch {
		case u.Change != nil:
			w.need(u.Change.Needs)
		case u.Category != nil:
			w.categories = append(w.categories, u.Category.ID)
		case u.Pet != nil:
			w.categories = append(w.categories, u.Pet.CategoryID)
		}
		if u.In != nil {
			w.categories = append(w.categories, u.In.ID)
		}
	}
	l.lock(b)
	l.loadRows(b, w)
	among, ids := l.store.dialect.InList(w.pets)
	b.Query(func(row Row) error {
		var id int64
		err := row.Scan(&id)
		l.taken.add(petstore.LedgerRow, id)
		return err
	}, selectDeleted+among, l.shop, ids)
}

// takenIDs are those of rows that the workspace has, or that were loaded into it. They have
// a bit for each id, 64 to a word: most ids follow each other.
type takenIDs map[idWord]uint64

type idWord struct {
	kind petstore.RowKind
	id   int64 // of the first, divided by 64
}

func (t takenIDs) add(kind petstore.RowKind, id int64) { t[idWord{kind, id >> 6}] |= 1 << (id & 63) }

func (t takenIDs) has(kind petstore.RowKind, id int64) bool {
	return t[idWord{kind, id >> 6}]>>(id&63)&1 == 1
}

func addAll[T comparable](t takenIDs, kind petstore.RowKind, rows rows[T]) {
	for key := range rows {
		t.add(kind, key.id)
	}
}
