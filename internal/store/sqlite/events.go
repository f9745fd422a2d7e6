package sqlite

import (
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

var _ petstore.Feed = (*DB)(nil)

const insertEvent = "INSERT INTO events (workspace, id, at, type, request, data, previous) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"

// addEvents notes the events of a write. They are written at the transaction's end, so that a
// group of writes raises each feed once.
func (c *conn) addEvents(workspace int64, events []petstore.Event) {
	if c.unsaved == nil {
		c.unsaved = make(map[int64][]petstore.Event)
	}
	c.unsaved[workspace] = append(c.unsaved[workspace], events...)
}

// saveEvents gives the events that were noted their ids, and writes them.
func (c *conn) saveEvents() error {
	for workspace, events := range c.unsaved {
		if len(events) == 0 {
			continue
		}
		last, err := c.number(store.RaiseFeed, workspace, len(events))
		if err != nil {
			return err
		}
		for i := range events {
			if err := c.saveEvent(workspace, last-int64(len(events)-1-i), &events[i]); err != nil {
				return err
			}
		}
		c.grown = append(c.grown, workspace)
	}
	clear(c.unsaved)
	return nil
}

func (c *conn) saveEvent(workspace, id int64, e *petstore.Event) error {
	stmt, err := c.ints(insertEvent, workspace, id, e.CreatedAt.Millis)
	if err != nil {
		return err
	}
	stmt.BindText(4, string(e.Type))
	stmt.BindText(5, e.RequestID)
	stmt.BindText(6, string(e.Data))
	stmt.BindText(7, string(e.Previous))
	_, err = stmt.Step()
	return err
}

// ring wakes those who wait for what was committed just now.
func (db *DB) ring() {
	for _, workspace := range db.writer.grown {
		db.Ring(workspace)
	}
}
