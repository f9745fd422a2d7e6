package sqlite

import "example.com/petstore/internal/petstore"

// lastIDs returns the ids that were issued last, zeros if there is no such workspace.
func (c *conn) lastIDs(workspace int64) (last petstore.LastIDs, err error) {
	for row, err := range c.query("SELECT categories, pets, orders FROM counters WHERE workspace=?", workspace) {
		if err != nil {
			return last, err
		}
		last = petstore.LastIDs{Categories: row.ColumnInt64(0), Pets: row.ColumnInt64(1), Orders: row.ColumnInt64(2)}
	}
	return last, nil
}
