package petstore

import "context"

// CreateOrder takes stock and keeps the order, both or neither. It returns
// pet_not_available or insufficient_stock if it cannot.
func (s *Service) CreateOrder(ctx context.Context, workspace int64, n NewOrder, once *Idempotency) (Created, error) {
	if err := Invalid(n.Check()); err != nil {
		return Created{}, err
	}
	var made *Order
	return s.create(ctx, []RowKind{OrderRow}, &Change{
		Workspace:   workspace,
		Needs:       Needs{PetID: n.PetID},
		Idempotency: once,
		Decide: func(f Facts) (Effects, error) {
			if f.Pet == nil {
				return Effects{}, unknown("/petId", "pet", n.PetID)
			}
			m, err := f.Pet.reserve(n, f.Now)
			if err != nil {
				return Effects{}, err
			}
			made = &Order{PetID: n.PetID, Quantity: n.Quantity, ShipDate: n.ShipDate}
			if n.Complete {
				made.complete(f.Now)
			}
			return Effects{SavePet: f.Pet, SaveOrder: made, Movement: m}, nil
		},
	}, func() (int64, any) { return made.ID, *made })
}

// complete marks the order fulfilled; it ships now unless it has a date.
func (o *Order) complete(now Time) {
	o.Complete = true
	if !o.ShipDate.Valid {
		o.ShipDate = now
	}
}

// UpdateOrder changes the members that the patch names. Completing is final:
// any later change is order_completed.
func (s *Service) UpdateOrder(ctx context.Context, workspace, id int64, p OrderPatch, c Condition) (Order, error) {
	var after Order
	err := s.change(ctx, workspace, Needs{OrderID: id}, func(f Facts) (Effects, error) {
		if err := f.openOrder(id, c); err != nil {
			return Effects{}, err
		}
		o, e := f.Order, Effects{SaveOrder: f.Order}
		if p.ShipDate.Present {
			o.ShipDate = p.ShipDate.value()
		}
		if p.Complete.value() {
			o.complete(f.Now)
			e.SavePet, e.Movement = f.Pet, f.Pet.fulfil(f.Now)
		}
		after = *o
		return e, nil
	})
	return after, err
}

// CancelOrder removes an open order and returns its units. It returns
// order_completed for one that is not open.
func (s *Service) CancelOrder(ctx context.Context, workspace, id int64, c Condition) error {
	return s.change(ctx, workspace, Needs{OrderID: id}, func(f Facts) (Effects, error) {
		if err := f.openOrder(id, c); err != nil {
			return Effects{}, err
		}
		m := f.Pet.putBack(f.Order.Quantity, f.Now)
		m.OrderID = id
		return Effects{SavePet: f.Pet, DropOrder: id, Movement: m}, nil
	})
}

// openOrder returns an error unless the order exists, the condition holds and
// the order is open. An open order always has its pet.
func (f Facts) openOrder(id int64, c Condition) error {
	if f.Order == nil {
		return NoOrder(id)
	}
	if err := c.Check(*f.Order); err != nil {
		return err
	}
	if f.Order.Complete {
		return Errorf(CodeOrderCompleted, "The order %d is complete and cannot change.", id)
	}
	return nil
}
