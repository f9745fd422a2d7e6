package sqlite

import (
	"context"
	"errors"
	"fmt"

	"example.com/petstore/internal/accesssql"
	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// errRefused rolls a batch back of which a unit was refused.
var errRefused = errors.New("a unit was refused")

// Load implements [petstore.Bulk].
func (db *DB) Load(ctx context.Context, workspace int64, b *petstore.Batch) ([]petstore.Refusal, error) {
	l := &load{db: db, workspace: workspace, batch: b}
	err := db.changeMuch(ctx, anything, func(c *conn) error {
		l.conn = c
		return l.run()
	})
	if errors.Is(err, errRefused) {
		err = nil
	}
	return l.refused, err
}

// A load is one batch on its way into the store.
type load struct {
	*conn
	db        *DB
	workspace int64
	batch     *petstore.Batch
	next      petstore.LastIDs // the ids to issue next
	entry     int64            // the ledger's next
	refused   []petstore.Refusal
}

func (l *load) run() error {
	if err := l.ready(l.workspace); err != nil {
		return err
	}
	if err := l.reserve(); err != nil {
		return err
	}
	for i := range l.batch.Units {
		if err := l.unit(i); err != nil {
			return err
		}
	}
	if l.batch.File != "" {
		if err := accesssql.Reach(accessTx{l.conn}, l.workspace, l.batch.File, l.batch.Through); err != nil {
			return err
		}
	}
	if l.batch.Imported == nil {
		return nil
	}
	l.told = append(l.told, l.workspace)
	return l.db.Tell(accessTx{l.conn}, l.workspace, petstore.CatalogueImported, l.batch.Imported.AppendJSON(nil))
}

// reserve raises the counters over the ids that the batch brings along and over
// those that it needs.
func (l *load) reserve() error {
	last, needed, movements := l.batch.Last, petstore.LastIDs{}, 0
	for i := range l.batch.Units {
		u := &l.batch.Units[i]
		if u.Category != nil {
			count(u.Category.ID, &last.Categories, &needed.Categories)
			continue
		}
		count(u.PetID, &last.Pets, &needed.Pets)
		movements += len(u.Movements)
		for _, o := range u.Orders {
			last.Orders = max(last.Orders, o.ID)
		}
	}
	var end petstore.LastIDs
	err := l.each(`UPDATE counters SET categories=max(categories, ?2)+?3, pets=max(pets, ?4)+?5, orders=max(orders, ?6),
		entries=entries+?7 WHERE workspace=?1 RETURNING categories, pets, orders, entries`, func(row *sqlite.Stmt) {
		end = petstore.LastIDs{Categories: row.ColumnInt64(0), Pets: row.ColumnInt64(1), Orders: row.ColumnInt64(2)}
		l.next = petstore.LastIDs{Categories: end.Categories - needed.Categories + 1, Pets: end.Pets - needed.Pets + 1}
		l.entry = row.ColumnInt64(3) - int64(movements) + 1
	}, l.workspace, last.Categories, needed.Categories, last.Pets, needed.Pets, last.Orders, movements)
	switch {
	case err != nil:
		return err
	case max(end.Categories, end.Pets, end.Orders) > petstore.MaxID:
		return fmt.Errorf("workspace %d has used up its ids", l.workspace)
	}
	return nil
}

// count notes an id that is given, or that one is needed.
func count(id int64, last, needed *int64) {
	if id == 0 {
		*needed++
	}
	*last = max(*last, id)
}

// unit keeps a unit, or notes why it cannot.
func (l *load) unit(i int) error {
	skip := l.batch.SkipRefused
	if skip {
		if err := l.exec("SAVEPOINT unit"); err != nil {
			return err
		}
	}
	u := &l.batch.Units[i]
	place, err := l.keepUnit(u)
	if err == nil && u.Pet != nil {
		l.renamed(l.workspace, u.PetID, "", petstore.Fold(u.Pet.Name))
	}
	switch {
	case err == nil && skip:
		return l.exec("RELEASE unit")
	case err == nil:
		return nil
	case petstore.CodeOf(err) == "":
		return err
	}
	l.refused = append(l.refused, petstore.Refusal{Unit: i, Place: place, Err: err})
	if !skip {
		return errRefused
	}
	if err := l.exec("ROLLBACK TO unit"); err != nil {
		return err
	}
	return l.exec("RELEASE unit")
}

func (l *load) keepUnit(u *petstore.Unit) (petstore.Place, error) {
	if u.Category != nil {
		return petstore.Place{}, l.addCategory(u.Category)
	}
	if u.Pet != nil {
		if err := l.addPet(u); err != nil {
			return petstore.Place{}, err
		}
	} else if err := l.isGone(u.PetID); err != nil {
		return petstore.Place{}, err
	}
	for i, o := range u.Orders {
		if err := l.addOrder(o); err != nil {
			return petstore.Place{Order: i + 1}, err
		}
	}
	return l.addLedger(u)
}

const hasLedger = "The pet %d has a ledger already: it was deleted, and its id is not used again."

// addLedger writes the movements of a unit, whose pet names the last of them.
func (l *load) addLedger(u *petstore.Unit) (petstore.Place, error) {
	if len(u.Movements) == 0 {
		return petstore.Place{}, nil
	}
	if err := l.saveDepartedOf(u); err != nil {
		return petstore.Place{Movement: 1}, l.clash(err, hasLedger, u.PetID)
	}
	before := int64(0)
	for i, m := range u.Movements {
		m.PetID = u.PetID
		if err := l.saveMovement(l.workspace, l.entry, before, m); err != nil {
			return petstore.Place{Movement: i + 1}, err
		}
		before = l.entry
		l.entry++
	}
	return petstore.Place{}, nil
}

// saveDepartedOf notes where the ledger of a unit without a pet will end. An
// pet that is there must not have had one before.
func (l *load) saveDepartedOf(u *petstore.Unit) error {
	if u.Pet == nil {
		return l.saveDeparted(l.workspace, u.PetID, l.lastEntry(u))
	}
	gone, err := find(l.conn, selectDeparted, l.workspace, u.PetID, scanInt)
	if err == nil && gone != nil {
		err = petstore.Errorf(petstore.CodeValidationFailed, hasLedger, u.PetID)
	}
	return err
}

// lastEntry returns the last entry of the ledger that a unit will have, 0 if none.
func (l *load) lastEntry(u *petstore.Unit) int64 {
	if len(u.Movements) == 0 {
		return 0
	}
	return l.entry + int64(len(u.Movements)) - 1
}

// issue writes the next id to *id unless there is one.
func issue(id, next *int64) {
	if *id == 0 {
		*id = *next
		*next++
	}
}

func (l *load) addCategory(row *petstore.Category) error {
	issue(&row.ID, &l.next.Categories)
	var description any
	if row.Description != nil {
		description = *row.Description
	}
	err := l.exec("INSERT INTO categories (workspace, id, name, folded, description) VALUES (?1, ?2, ?3, ?4, ?5)",
		l.workspace, row.ID, row.Name, petstore.Fold(row.Name), description)
	return l.clash(err, "There is a category with the id %d already.", row.ID)
}

func (l *load) addPet(u *petstore.Unit) error {
	p := u.Pet
	if u.In != nil {
		p.CategoryID = u.In.ID
	}
	if u.PetID == 0 {
		issue(&u.PetID, &l.next.Pets)
		p.ID = u.PetID
	}
	stmt, err := l.ints(`INSERT INTO pets (workspace, id, quantity, open_orders, movements, last_entry, category, status, name, folded)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`, // and all of its orders in pet_orders
		l.workspace, p.ID, p.Quantity, p.OpenOrders, p.Movements, l.lastEntry(u), p.CategoryID)
	if err != nil {
		return err
	}
	stmt.BindText(8, string(p.Status))
	stmt.BindText(9, p.Name)
	stmt.BindText(10, petstore.Fold(p.Name))
	_, err = stmt.Step()
	if sqlite.ErrCode(err) == sqlite.ResultConstraintForeignKey {
		return petstore.NoCategory(p.CategoryID)
	}
	return l.clash(err, "There is a pet with the id %d already.", p.ID)
}

// isGone returns an error if there is a pet with the id.
func (l *load) isGone(id int64) error {
	found, err := find(l.conn, selectPet, l.workspace, id, scanPet)
	if err == nil && found != nil {
		err = petstore.Errorf(petstore.CodeValidationFailed, "There is a pet with the id %d already; its orders and its ledger can only come with it.", id)
	}
	return err
}

func (l *load) addOrder(o petstore.Order) error {
	if err := l.writeOrder(insertOrder, l.workspace, &o); err != nil {
		return l.clash(err, "There is an order with the id %d already.", o.ID)
	}
	return l.exec(insertEarlier, l.workspace, o.PetID, o.ID, o.Complete)
}

// clash puts the error of a key that is taken in words.
func (l *load) clash(err error, format string, id int64) error {
	if sqlite.ErrCode(err) == sqlite.ResultConstraintPrimaryKey {
		return petstore.Errorf(petstore.CodeValidationFailed, format, id)
	}
	return err
}
