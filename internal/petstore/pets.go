package petstore

import "context"

// CreatePet adds a pet with its inventory item, and its category if n has a new one.
// Without a status and a stock the pet is available with one unit; with a status alone it
// has one unit if it is available, else none; with a stock alone it is available, or sold
// if the stock is 0. CreatePet returns out_of_stock for an available pet without stock,
// and validation_failed for a sold one with stock.
func (s *Service) CreatePet(ctx context.Context, workspace int64, n NewPet, once *Idempotency) (Created, error) {
	if err := Invalid(n.Check()); err != nil {
		return Created{}, err
	}
	kinds := []RowKind{PetRow}
	if n.Category != nil {
		kinds = append(kinds, CategoryRow)
	}
	var made *StockedPet
	return s.create(ctx, kinds, &Change{
		Workspace:   workspace,
		Needs:       Needs{CategoryID: n.CategoryID},
		Idempotency: once,
		Decide: func(f Facts) (Effects, error) {
			if f.Category == nil && n.Category == nil {
				return Effects{}, unknown("/categoryId", "category", n.CategoryID)
			}
			made = &StockedPet{Pet: Pet{Name: n.Name, CategoryID: n.CategoryID, Status: n.Status}}
			e := Effects{SavePet: made}
			if n.Category != nil {
				e.SaveCategory = &Category{Name: n.Category.Name, Description: n.Category.Description}
			}
			stock, err := made.Begin(n.Stock)
			e.Movement = made.move(MovedCreated, stock, f.Now)
			return e, err
		},
	}, func() (int64, any) { return made.ID, made.Pet })
}

// ReplacePet gives the pet new members. Without a status it keeps its own.
func (s *Service) ReplacePet(ctx context.Context, workspace, id int64, n NewPet, c Condition) (Pet, error) {
	p := PetPatch{Name: Some(n.Name), CategoryID: Some(n.CategoryID)}
	if n.Status != "" {
		p.Status = Some(n.Status)
	}
	return s.UpdatePet(ctx, workspace, id, p, c)
}

// UpdatePet changes the members that the patch names. A status set by hand
// follows the rules of [StockedPet.mark]: available needs stock, else out_of_stock;
// sold needs no open orders, else pet_has_open_orders, and clears the stock.
func (s *Service) UpdatePet(ctx context.Context, workspace, id int64, p PetPatch, c Condition) (Pet, error) {
	if err := Invalid(p.Check()); err != nil {
		return Pet{}, err
	}
	var done Amended
	change := Amend(ctx, workspace, id, func(now StockedPet) (Amendment, error) { return Amendment{PetPatch: p}, c.Check(now.Pet) }, &done)
	change.Needs.CategoryID = p.CategoryID.value()
	_, err := s.Do(ctx, change)
	return done.After.Pet, err
}

// patch changes the members that the patch names, all or none. It returns the movement
// of [StockedPet.mark], if there is one.
func (p *StockedPet) patch(with PetPatch, now Time) (m *Movement, err error) {
	switch {
	case with.Status.Null:
		p.release()
	case with.Status.Present:
		if m, err = p.mark(with.Status.Value, now); err != nil {
			return nil, err
		}
	}
	if with.Name.Present {
		p.Name = with.Name.Value
	}
	if with.CategoryID.Present {
		p.CategoryID = with.CategoryID.Value
	}
	return m, nil
}

// DeletePet removes the pet and its inventory item. It returns
// pet_has_open_orders while there are any; completed orders keep its id.
func (s *Service) DeletePet(ctx context.Context, workspace, id int64, c Condition) error {
	return s.change(ctx, workspace, Needs{PetID: id}, func(f Facts) (Effects, error) {
		if f.Pet == nil {
			return Effects{}, NoPet(id)
		}
		if err := c.Check(f.Pet.Pet); err != nil {
			return Effects{}, err
		}
		if f.Pet.OpenOrders > 0 {
			return Effects{}, f.Pet.openOrdersError("first")
		}
		return Effects{DropPet: id, Movement: f.Pet.move(MovedDeleted, 0, f.Now)}, nil
	})
}
