package interchange

import (
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
)

// Try does what Run does on a store that keeps nothing, for a file of CSV: what it reports would be kept, changed or
// left, and its faults are those of Run, unless somebody changes the workspace meanwhile.
func (i *Import) Try(ctx context.Context) (Report, error) {
	dry := *i
	store := &rehearsal{Store: i.Service.Store, now: petstore.At(i.Now()), categories: map[int64]petstore.Category{}}
	dry.To, dry.Service, dry.File = store, petstore.NewService(store), ""
	return dry.Run(ctx)
}

// A rehearsal is a store that decides on what is there and keeps it to itself.
type rehearsal struct {
	petstore.Store
	now        petstore.Time
	categories map[int64]petstore.Category
	last       *petstore.StockedPet // the pet that was changed last, as it was left: no file names one twice
}

var errRehearsal = errors.New("a rehearsal keeps nothing that could be read")

// Dump implements petstore.Bulk.
func (*rehearsal) Dump(context.Context, int64, petstore.Sink) error { return errRehearsal }

// Reached implements petstore.Bulk.
func (*rehearsal) Reached(context.Context, int64, string) (int, error) { return 0, errRehearsal }

// Load gives new categories an id that no other has.
func (r *rehearsal) Load(_ context.Context, _ int64, b *petstore.Batch) ([]petstore.Refusal, error) {
	for i := range b.Units {
		if c := b.Units[i].Category; c != nil && c.ID == 0 {
			c.ID = petstore.MaxID - int64(len(r.categories))
			r.categories[c.ID] = *c
		}
	}
	return nil, nil
}

// Do decides on a change of a pet.
func (r *rehearsal) Do(ctx context.Context, c *petstore.Change) (*petstore.Receipt, error) {
	f := petstore.Facts{Now: r.now}
	var err error
	if f.Pet, err = r.pet(ctx, c.Workspace, c.Needs.PetID); err != nil {
		return nil, err
	}
	if f.Category, err = r.category(ctx, c.Workspace, c.Needs.CategoryID); err != nil {
		return nil, err
	}
	e, err := c.Decide(f)
	if err == nil && e.SavePet != nil {
		r.last = e.SavePet
	}
	return nil, err
}

// pet returns a copy of a pet as it was left, or nil.
func (r *rehearsal) pet(ctx context.Context, workspace, id int64) (*petstore.StockedPet, error) {
	if id == 0 {
		return nil, nil
	}
	if r.last != nil && r.last.ID == id {
		left := *r.last
		return &left, nil
	}
	p, err := r.Pet(ctx, workspace, id)
	if petstore.CodeOf(err) == petstore.CodePetNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	item, err := r.InventoryItem(ctx, workspace, id)
	if err != nil {
		return nil, err
	}
	open, err := r.Orders(ctx, workspace, petstore.OrderQuery{Page: petstore.Page{Limit: petstore.MaxPage}, PetID: id, Complete: new(bool)})
	return &petstore.StockedPet{Pet: p, Quantity: item.Quantity, OpenOrders: int64(len(open))}, err
}

func (r *rehearsal) category(ctx context.Context, workspace, id int64) (*petstore.Category, error) {
	if id == 0 {
		return nil, nil
	}
	if c, made := r.categories[id]; made {
		return &c, nil
	}
	c, err := r.Category(ctx, workspace, id)
	if petstore.CodeOf(err) == petstore.CodeCategoryNotFound {
		return nil, nil
	}
	return &c, err
}
