package sqlite

import (
	"context"
	"fmt"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

const (
	movementColumns = "pet, number, kind, order_id, delta, quantity, at" // as scanMovement reads them

	selectLastEntry = "SELECT last_entry FROM pets WHERE workspace=?1 AND id=?2" +
		" UNION ALL SELECT last_entry FROM departed WHERE workspace=?1 AND pet=?2"
	selectBefore   = "SELECT before FROM movements WHERE workspace=?1 AND entry=?2 AND pet=?3"
	selectMovement = "SELECT " + movementColumns + " FROM movements WHERE workspace=?1 AND entry=?2"
	selectMoved    = "SELECT " + movementColumns + ", before FROM movements WHERE workspace=?1 AND entry=?2 AND pet=?3"
	selectDeparted = "SELECT 1 FROM departed WHERE workspace=?1 AND pet=?2"
)

func scanMovement(row *sqlite.Stmt) petstore.Movement {
	return petstore.Movement{PetID: row.ColumnInt64(0), Number: row.ColumnInt64(1), Kind: petstore.MovementKind(row.ColumnText(2)),
		OrderID: row.ColumnInt64(3), Delta: row.ColumnInt64(4), Quantity: row.ColumnInt64(5), At: scanTime(row, 6)}
}

// ledger gives the movements of a pet to take, oldest first. It finds them
// from the last entry back, and holds no more of them than where they are.
func (c *conn) ledger(workspace, pet, last int64, take func(petstore.Movement) error) error {
	var entries []int64
	for entry := last; entry != 0; {
		entries = append(entries, entry)
		var before int64
		found, err := c.one(selectBefore, func(row *sqlite.Stmt) { before = scanInt(row) }, workspace, entry, pet)
		if err != nil {
			return err
		}
		if !found || before >= entry {
			return fmt.Errorf("the ledger of pet %d of workspace %d lacks the entry %d", pet, workspace, entry)
		}
		entry = before
	}
	for i := len(entries) - 1; i >= 0; i-- {
		m, err := find(c, selectMovement, workspace, entries[i], scanMovement)
		if err != nil {
			return err
		}
		if err := take(*m); err != nil {
			return err
		}
	}
	return nil
}

// saveMovement writes an entry after the one before it of the same pet, which
// is 0 for the first.
func (c *conn) saveMovement(workspace, entry, before int64, m petstore.Movement) error {
	stmt, err := c.ints(`INSERT INTO movements (workspace, entry, before, pet, number, delta, quantity, at, kind, order_id)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`, workspace, entry, before, m.PetID, m.Number, m.Delta, m.Quantity, m.At.Millis)
	if err != nil {
		return err
	}
	stmt.BindText(9, string(m.Kind))
	if m.OrderID != 0 {
		stmt.BindInt64(10, m.OrderID)
	}
	_, err = stmt.Step()
	return err
}

// saveDeparted notes where the ledger of a pet ends that is gone.
func (c *conn) saveDeparted(workspace, pet, last int64) error {
	return c.exec("INSERT INTO departed (workspace, pet, last_entry) VALUES (?1, ?2, ?3)", workspace, pet, last)
}

// Movements implements [petstore.Store]. A place is the entry there.
func (db *DB) Movements(ctx context.Context, workspace, petID, from int64, limit int) (page []petstore.Movement, next int64, err error) {
	err = db.read(ctx, snapshot(func(c *conn) error {
		page, next = nil, from
		if from == 0 {
			last, err := find(c, selectLastEntry, workspace, petID, scanInt)
			if err != nil || last == nil {
				return err
			}
			next = *last
		}
		for next != 0 && len(page) < limit {
			var m petstore.Movement
			found, err := c.one(selectMoved, func(row *sqlite.Stmt) {
				m, next = scanMovement(row), row.ColumnInt64(7)
			}, workspace, next, petID)
			if err != nil || !found {
				return err
			}
			page = append(page, m)
		}
		return nil
	}))
	if err == nil && len(page) == 0 {
		return nil, 0, petstore.NoPet(petID)
	}
	return page, next, err
}
