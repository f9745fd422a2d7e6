package sqlite

import (
	"fmt"

	"example.com/petstore/internal/petstore"
)

const (
	selectIDs = "SELECT pets, categories, orders, movements FROM counters WHERE workspace=?"
	updateIDs = "UPDATE counters SET pets=?2, categories=?3, orders=?4, movements=?5 WHERE workspace=?1"
)

// nextID issues an id. It is kept by saveIDs.
func (c *conn) nextID(workspace int64, kind int) (int64, error) {
	last, ok := c.issued[workspace]
	if !ok {
		stmt, err := c.ints(selectIDs, workspace)
		if err != nil {
			return 0, err
		}
		found, err := stmt.Step()
		if err != nil {
			return 0, err
		}
		if !found { // it was deleted while the request was on its way
			return 0, petstore.Unavailable(fmt.Errorf("there is no workspace %d", workspace))
		}
		for i := range last {
			last[i] = stmt.ColumnInt64(i)
		}
		if err := stmt.Reset(); err != nil {
			return 0, err
		}
	}
	last[kind]++
	if last[kind] > petstore.MaxID {
		return 0, fmt.Errorf("workspace %d has used up its ids", workspace)
	}
	if c.issued == nil {
		c.issued = make(map[int64]ids)
	}
	c.issued[workspace] = last
	return last[kind], nil
}

// saveIDs writes the counters from which ids were issued.
func (c *conn) saveIDs() error {
	for workspace, last := range c.issued {
		stmt, err := c.ints(updateIDs, workspace, last[petID], last[categoryID], last[orderID], last[movementID])
		if err != nil {
			return err
		}
		if _, err := stmt.Step(); err != nil {
			return err
		}
	}
	clear(c.issued)
	return nil
}

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
