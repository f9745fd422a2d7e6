package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"

	"example.com/petstore/internal/petstore"
)

// CheckFeed compares each resource of a shop with the last event about it. It returns the
// differences in words, at most a hundred; none is good. Other calls go on beside it.
func (s *Store) CheckFeed(ctx context.Context, shop int64) (problems []string, err error) {
	c := &feedCheck{shop: shop, last: map[resource]uint64{}, report: reportTo(&problems)}
	err = s.db.Snapshot(ctx, func(tx Tx) error {
		err := Each(tx, "SELECT type, data FROM events WHERE workspace = $1 AND id > (SELECT forgotten FROM counters WHERE workspace = $1) ORDER BY id", c.event, shop)
		if err != nil || len(c.last) == 0 { // as in most of many shops
			return err
		}
		return c.resources(tx)
	})
	return problems, err
}

// A resource is something that events are about.
type resource struct {
	kind string
	id   int64
}

type feedCheck struct {
	shop   int64
	last   map[resource]uint64 // hashes of what the last events say
	report Report
}

var seed = maphash.MakeSeed()

func (c *feedCheck) event(row Row) error {
	var what string
	var data []byte
	if err := row.Scan(&what, &data); err != nil {
		return err
	}
	if petstore.EventType(what) == petstore.WorkspaceReset {
		clear(c.last)
		return nil
	}
	var names struct{ ID, PetID int64 }
	if err := json.Unmarshal(data, &names); err != nil {
		return fmt.Errorf("an event of workspace %d: %w", c.shop, err)
	}
	kind, verb, _ := strings.Cut(what, ".")
	r := resource{kind, names.ID}
	if kind == "inventory" {
		r.id = names.PetID
	}
	switch verb {
	case "deleted", "cancelled":
		delete(c.last, r)
	case "created", "updated", "completed":
		c.last[r] = maphash.Bytes(seed, data)
	}
	return nil
}

// resources compares all resources with their last events.
func (c *feedCheck) resources(tx Tx) error {
	err := errors.Join(
		compareAll(tx, c, dumpedCategories, scanCategory, func(g *petstore.Category) { c.compare("category", g.ID, petstore.JSON(g)) }),
		compareAll(tx, c, dumpedPets, scanStockedPet, func(p *petstore.StockedPet) {
			c.compare("pet", p.ID, petstore.JSON(p.Pet))
			c.compare("inventory", p.ID, petstore.JSON(p.Item()))
		}),
		compareAll(tx, c, dumpedOrders, scanOrder, func(o *petstore.Order) { c.compare("order", o.ID, petstore.JSON(o)) }))
	if err != nil {
		return err
	}
	for r := range c.last {
		c.report("events: workspace %d: the %s %d is not there, as its last event says", c.shop, r.kind, r.id)
	}
	return nil
}

// compareAll calls compare for each row of the shop that a query selects.
func compareAll[T any](tx Tx, c *feedCheck, query string, scan func(Row, *T) error, compare func(*T)) error {
	return Each(tx, query, func(row Row) error {
		var one T
		if err := scan(row, &one); err != nil {
			return err
		}
		compare(&one)
		return nil
	}, c.shop)
}

// compare compares a resource with its last event, if that is known.
func (c *feedCheck) compare(kind string, id int64, data []byte) {
	r := resource{kind, id}
	if last, known := c.last[r]; known && last != maphash.Bytes(seed, data) {
		c.report("events: workspace %d: the %s %d is not as its last event says", c.shop, kind, id)
	}
	delete(c.last, r)
}
