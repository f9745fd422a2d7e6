package sqlite

import "example.com/petstore/internal/petstore"

const (
	selectDeleted  = "SELECT id FROM movements WHERE workspace=?1 AND pet=?2 AND kind='deleted'"
	insertMovement = `INSERT INTO movements (workspace, id, before, pet, number, delta, quantity, at, kind, order_id)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`
)

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
