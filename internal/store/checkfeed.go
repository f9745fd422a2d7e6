package store

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"

	"example.com/petstore/internal/petstore"
)

// CheckFeed compares each resource of a workspace with the last event about it. It
// returns the differences in words, at most a hundred; none is good. Writes may happen
// meanwhile.
func CheckFeed(ctx context.Context, store interface {
	petstore.Feed
	petstore.Bulk
}, workspace int64,
) (problems []string, err error) {
	c := &checker{store: store, workspace: workspace, last: make(map[resource]uint64), odd: make(map[resource]string)}
	if err := c.follow(ctx); err != nil || len(c.last) == 0 { // as in most of many workspaces
		return nil, err
	}
	if err := store.Dump(ctx, workspace, c); err != nil {
		return nil, err
	}
	for r := range c.last {
		c.odd[r] = "is not there,"
	}
	if err := c.follow(ctx); err != nil { // a difference may come from a change meanwhile
		return nil, err
	}
	for r, what := range c.odd {
		if len(problems) < maxProblems {
			problems = append(problems, fmt.Sprintf("events: workspace %d: the %s %d %s as its last event says", workspace, r.kind, r.id, what))
		}
	}
	return problems, nil
}

// A resource is something that events are about.
type resource struct {
	kind string
	id   int64
}

// A checker is the [petstore.Sink] of what the workspace has.
type checker struct {
	store     petstore.Feed
	workspace int64
	next      int64 // the last event that was read
	last      map[resource]uint64
	odd       map[resource]string
}

var seed = maphash.MakeSeed()

// follow reads the feed from where it stopped.
func (c *checker) follow(ctx context.Context) error {
	for q := (petstore.EventQuery{After: c.next, Oldest: c.next == 0, Limit: 1000}); ; {
		page, err := c.store.Events(ctx, c.workspace, q)
		if err != nil {
			return err
		}
		for i := range page.Events {
			if err := c.apply(&page.Events[i]); err != nil {
				return err
			}
		}
		q = petstore.EventQuery{After: page.Next, Limit: q.Limit}
		if c.next = page.Next; !page.More {
			return nil
		}
	}
}

func (c *checker) apply(e *petstore.Event) error {
	if e.Type == petstore.WorkspaceReset {
		clear(c.last)
		clear(c.odd)
		return nil
	}
	var names struct{ ID, PetID int64 }
	if err := json.Unmarshal(e.Data, &names); err != nil {
		return fmt.Errorf("event %d of workspace %d: %w", e.ID, c.workspace, err)
	}
	kind, verb, _ := strings.Cut(string(e.Type), ".")
	r := resource{kind, names.ID}
	if kind == "inventory" {
		r.id = names.PetID
	}
	delete(c.odd, r)
	switch verb {
	case "deleted", "cancelled":
		delete(c.last, r)
	case "created", "updated", "completed":
		c.last[r] = maphash.Bytes(seed, e.Data)
	}
	return nil
}

// compare compares a resource with its last event, if that is known.
func (c *checker) compare(kind string, id int64, data []byte) error {
	r := resource{kind, id}
	if last, told := c.last[r]; told && last != maphash.Bytes(seed, data) {
		c.odd[r] = "is not"
	}
	delete(c.last, r)
	return nil
}

// Begin and the methods below implement [petstore.Sink].
func (c *checker) Begin(petstore.LastIDs) error { return nil }

// Category takes a category.
func (c *checker) Category(g petstore.Category) error {
	return c.compare("category", g.ID, g.AppendJSON(nil))
}

// Pet takes a pet with its stock.
func (c *checker) Pet(p petstore.StockedPet) error {
	_ = c.compare("inventory", p.ID, p.Item().AppendJSON(nil)) // it does not fail
	return c.compare("pet", p.ID, p.Pet.AppendJSON(nil))
}

// Order takes an order.
func (c *checker) Order(o petstore.Order) error {
	return c.compare("order", o.ID, o.AppendJSON(nil))
}

// Movement takes a movement, of which there are no events.
func (*checker) Movement(petstore.Movement) error { return nil }
