package sqlite

import (
	"fmt"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"zombiezen.com/go/sqlite"
)

const (
	movementColumns = "pet, number, kind, order_id, delta, quantity, at" // as scanMovement reads them

	selectMovement = "SELECT " + movementColumns + " FROM movements WHERE workspace=?1 AND id=?2"
)

func scanMovement(row *sqlite.Stmt) petstore.Movement {
	return petstore.Movement{PetID: row.ColumnInt64(0), Number: row.ColumnInt64(1), Kind: petstore.MovementKind(row.ColumnText(2)),
		OrderID: row.ColumnInt64(3), Delta: row.ColumnInt64(4), Quantity: row.ColumnInt64(5), At: scanTime(row, 6)}
}

// ledger gives the movements of a pet to take, the oldest first. It holds no more of
// them than their ids.
func (c *conn) ledger(workspace, pet int64, take func(petstore.Movement) error) error {
	var ids []int64
	before := int64(0)
	for row, err := range c.query(store.SelectLedger, workspace, pet, 0) {
		if err != nil {
			return err
		}
		before, ids = row.ColumnInt64(7), append(ids, row.ColumnInt64(8))
	}
	if before != 0 {
		return fmt.Errorf("the ledger of pet %d of workspace %d lacks the movement %d", pet, workspace, before)
	}
	for i := len(ids) - 1; i >= 0; i-- {
		m, err := find(c, selectMovement, workspace, ids[i], scanMovement)
		if err != nil {
			return err
		}
		if err := take(*m); err != nil {
			return err
		}
	}
	return nil
}
