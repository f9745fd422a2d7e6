package sqlite

import (
	"context"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

const (
	movementColumns = "pet, number, kind, order_id, delta, quantity, at" // as scanMovement reads them

	// selectLedger selects the movements of a pet, the newest first, each with the id of
	// the one before it. They begin at the movement with an id, or at the last one for 0.
	selectLedger = `WITH RECURSIVE ledger AS (
			SELECT * FROM movements WHERE workspace=?1 AND pet=?2 AND id=coalesce(nullif(?3, 0),
				(SELECT last_movement FROM pets WHERE workspace=?1 AND id=?2), (` + selectDeleted + `))
			UNION ALL
			SELECT m.* FROM ledger l JOIN movements m ON m.workspace=l.workspace AND m.id=l.before AND m.pet=l.pet AND m.id<l.id)
		SELECT ` + movementColumns + `, before, id FROM ledger`
	selectDeleted  = "SELECT id FROM movements WHERE workspace=?1 AND pet=?2 AND kind='deleted'"
	selectMovement = "SELECT " + movementColumns + " FROM movements WHERE workspace=?1 AND id=?2"
	insertMovement = `INSERT INTO movements (workspace, id, before, pet, number, delta, quantity, at, kind, order_id)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`
)

func scanMovement(row *sqlite.Stmt) petstore.Movement {
	return petstore.Movement{PetID: row.ColumnInt64(0), Number: row.ColumnInt64(1), Kind: petstore.MovementKind(row.ColumnText(2)),
		OrderID: row.ColumnInt64(3), Delta: row.ColumnInt64(4), Quantity: row.ColumnInt64(5), At: scanTime(row, 6)}
}

// saveMovement writes a movement with an id. before is the id of the pet's movement before
// it, 0 for the first.
func (c *conn) saveMovement(workspace, id, before int64, m petstore.Movement) error {
	stmt, err := c.ints(insertMovement, workspace, id, before, m.PetID, m.Number, m.Delta, m.Quantity, m.At.Millis)
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

// Movements implements [petstore.Store]. A place is the id of the movement there.
func (db *DB) Movements(ctx context.Context, workspace, petID, from int64, limit int) (page []petstore.Movement, next int64, err error) {
	err = db.read(ctx, func(c *conn) error {
		for row, err := range c.query(selectLedger, workspace, petID, from) {
			if err != nil {
				return err
			}
			if len(page) == limit {
				break
			}
			page, next = append(page, scanMovement(row)), row.ColumnInt64(7)
		}
		return nil
	})
	if err == nil && len(page) == 0 {
		return nil, 0, petstore.NoPet(petID)
	}
	return page, next, err
}
