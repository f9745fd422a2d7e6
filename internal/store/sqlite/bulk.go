package sqlite

import (
	"context"
	"errors"
	"fmt"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// Load implements [petstore.Bulk].
func (db *DB) Load(ctx context.Context, workspace int64, b *petstore.Batch) ([]petstore.Refusal, error) {
	l := &load{db: db, workspace: workspace, batch: b}
	err := db.changeMuch(ctx, anything, func(c *conn) error {
		l.conn = c
		return l.run()
	})
	if errors.Is(err, petstore.ErrRefused) {
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
	movement  int64            // the id of the ledger's next
	refused   []petstore.Refusal
}

func (l *load) run() error {
	if err := l.ready(l.workspace); err != nil {
		return err
	}
	if err := l.reserve(); err != nil {
		return err
	}
	var err error
	if l.refused, err = l.batch.Sift(l.has, l.keep); err != nil {
		return err
	}
	if l.batch.File != "" {
		if err := store.Reach(accessTx{l.conn}, l.workspace, l.batch.File, l.batch.Through); err != nil {
			return err
		}
	}
	if l.batch.Imported == nil {
		return nil
	}
	l.grown = append(l.grown, l.workspace)
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
	for row, err := range l.query(`UPDATE counters SET categories=max(categories, ?2)+?3, pets=max(pets, ?4)+?5, orders=max(orders, ?6),
		movements=movements+?7 WHERE workspace=?1 RETURNING categories, pets, orders, movements`,
		l.workspace, last.Categories, needed.Categories, last.Pets, needed.Pets, last.Orders, movements) {
		if err != nil {
			return err
		}
		end := petstore.LastIDs{Categories: row.ColumnInt64(0), Pets: row.ColumnInt64(1), Orders: row.ColumnInt64(2)}
		if max(end.Categories, end.Pets, end.Orders) > petstore.MaxID {
			return fmt.Errorf("workspace %d has used up its ids", l.workspace)
		}
		l.next = petstore.LastIDs{Categories: end.Categories - needed.Categories + 1, Pets: end.Pets - needed.Pets + 1}
		l.movement = row.ColumnInt64(3) - int64(movements) + 1
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

// byID finds a row of each kind by the workspace and the id.
var byID = [petstore.RowKinds]string{
	petstore.CategoryRow: "SELECT 1 FROM categories WHERE workspace=?1 AND id=?2",
	petstore.PetRow:      "SELECT 1 FROM pets WHERE workspace=?1 AND id=?2",
	petstore.OrderRow:    "SELECT 1 FROM orders WHERE workspace=?1 AND id=?2",
	petstore.LedgerRow:   selectDeleted, // that of a pet which is there comes with the pet
}

func (l *load) has(kind petstore.RowKind, id int64) (bool, error) {
	found, err := find(l.conn, byID[kind], l.workspace, id, scanInt)
	return found != nil, err
}

// keep writes the rows of a unit.
func (l *load) keep(u *petstore.Unit) (err error) {
	switch {
	case u.Category != nil:
		return l.addCategory(u.Category)
	case u.Pet != nil:
		err = l.addPet(u)
	}
	for i := 0; err == nil && i < len(u.Orders); i++ {
		err = l.writeOrder(insertOrder, l.workspace, &u.Orders[i])
	}
	before := int64(0)
	for i := 0; err == nil && i < len(u.Movements); i++ {
		m := u.Movements[i]
		m.PetID = u.PetID
		err = l.saveMovement(l.workspace, l.movement, before, m)
		before = l.movement
		l.movement++
	}
	return err
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
	return l.exec("INSERT INTO categories (workspace, id, name, folded, description) VALUES (?1, ?2, ?3, ?4, ?5)",
		l.workspace, row.ID, row.Name, petstore.Fold(row.Name), description)
}

func (l *load) addPet(u *petstore.Unit) error {
	p := u.Pet
	if u.PetID == 0 {
		issue(&u.PetID, &l.next.Pets)
		p.ID = u.PetID
	}
	last := int64(0)
	if n := len(u.Movements); n > 0 {
		last = l.movement + int64(n) - 1
	}
	if err := l.rename(l.workspace, p.ID, "", petstore.Fold(p.Name)); err != nil {
		return err
	}
	return l.writePet(insertPet, l.workspace, p, last)
}
