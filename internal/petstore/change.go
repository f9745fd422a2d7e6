package petstore

import (
	"cmp"
	"context"
)

// Created is the outcome of a creation.
type Created struct {
	Receipt
	Replayed bool // it happened before, under the same Idempotency-Key
}

// create carries out a change that makes a row of each of the kinds, at most once for an
// idempotency key. made returns the id and the row that answer the request, and is called
// after the change.
func (s *Service) create(ctx context.Context, kinds []RowKind, c *Change, made func() (int64, any)) (Created, error) {
	if limit, ok := ctx.Value(rowLimitKey{}).(RowLimit); ok {
		var full error
		for _, kind := range kinds {
			release, err := limit(ctx, kind)
			defer release()
			full = cmp.Or(full, err)
		}
		if decide := c.Decide; full != nil { // but what was made before is answered again
			c.Decide = func(f Facts) (Effects, error) {
				if _, err := decide(f); err != nil {
					return Effects{}, err
				}
				return Effects{}, full
			}
		}
	}
	end, err := s.running.start(c.Workspace, c.Idempotency)
	if err != nil {
		return Created{}, err
	}
	defer end()
	c.RequestID, c.By = originOf(ctx)
	c.Receipt = func() Receipt {
		id, row := made()
		return Receipt{ID: id, Body: JSON(row)}
	}
	before, err := s.Do(ctx, c)
	if err != nil {
		return Created{}, err
	}
	if before != nil {
		return Created{Receipt: *before, Replayed: true}, nil
	}
	return Created{Receipt: c.Receipt()}, nil
}

// change carries out a change that makes no row.
func (s *Service) change(ctx context.Context, workspace int64, needs Needs, decide func(Facts) (Effects, error)) error {
	request, by := originOf(ctx)
	_, err := s.Do(ctx, &Change{Workspace: workspace, RequestID: request, By: by, Needs: needs, Decide: decide})
	return err
}

// A Change is a write in a form that every store can carry out, alone or in a
// group with others. A store, in one transaction,
//
//  1. returns the receipt kept under Idempotency, if it has one that
//     Idempotency.Replay accepts, or Replay's error;
//  2. loads and locks the rows that Needs names;
//  3. asks Decide by [Change.Ask]. It may change the loaded rows in place and
//     nothing else: it may be asked again, with rows loaded again, if the transaction is
//     tried again, and its error undoes nothing but this change;
//  4. keeps the Effects: gives each new row the workspace's next id, calls
//     Effects.Link, writes, and adds Effects.Events to the workspace's feed;
//  5. keeps Receipt's answer under Idempotency, and commits.
type Change struct {
	Workspace   int64
	RequestID   string // of the request that asks for it; "" for a command
	By          string // the id of the API key that asks for it; "" for a command
	Needs       Needs
	Decide      func(Facts) (Effects, error)
	Idempotency *Idempotency   // nil if the client sent no key
	Receipt     func() Receipt // what to replay; asked after the ids are known
}

// Ask calls Decide, and keeps a copy of the rows as they were in the effects, for
// [Effects.Events].
func (c *Change) Ask(f Facts) (Effects, error) {
	var was before
	if f.Pet != nil {
		was.pet = *f.Pet
	}
	if f.Category != nil {
		was.category = *f.Category
	}
	if f.Order != nil {
		was.order = *f.Order
	}
	e, err := c.Decide(f)
	e.was = was
	return e, err
}

// Needs names the rows that a change is decided from; 0 names none. An order
// brings its pet along.
type Needs struct {
	PetID       int64
	CategoryID  int64
	OrderID     int64
	CategoryUse bool // whether any pet is in the category
}

// Facts are the loaded rows; nil for a row that the workspace does not have.
// An order's pet is nil if it was deleted since.
type Facts struct {
	Now           Time
	Pet           *StockedPet
	Category      *Category
	Order         *Order
	CategoryInUse bool
}

// Effects are what a change writes. A saved row whose ID is 0 is new. An order that
// is new, has become complete, or is dropped comes with its pet, saved as well.
type Effects struct {
	SavePet      *StockedPet
	SaveCategory *Category
	SaveOrder    *Order
	DropPet      int64 // the id of a pet to delete; 0 for none
	DropCategory int64
	DropOrder    int64
	Movement     *Movement

	was before
}

// Link fills in the ids that were not known when the change was decided. A
// store calls it once, when every new row has its id.
func (e *Effects) Link() {
	if e.SavePet != nil && e.SavePet.CategoryID == 0 && e.SaveCategory != nil {
		e.SavePet.CategoryID = e.SaveCategory.ID
	}
	if e.Movement == nil {
		return
	}
	if e.SavePet != nil {
		e.Movement.PetID = e.SavePet.ID
	}
	if e.SaveOrder != nil {
		e.Movement.OrderID = e.SaveOrder.ID
	}
}

// before are rows as a change found them; those with the id 0 were not there.
type before struct {
	pet      StockedPet
	category Category
	order    Order
}
