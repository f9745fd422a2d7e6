package petstore

import (
	"context"
	"fmt"
)

// UpdateInventory sets how many units of a pet can still be ordered; the units in open
// orders are not among them. The status follows the stock, as [StockedPet.updateStatus]
// says.
func (s *Service) UpdateInventory(ctx context.Context, workspace, petID, quantity int64, c Condition) (InventoryItem, error) {
	if err := Invalid(CheckQuantity(quantity)); err != nil {
		return InventoryItem{}, err
	}
	var after InventoryItem
	err := s.change(ctx, workspace, Needs{PetID: petID}, func(f Facts) (Effects, error) {
		if f.Pet == nil {
			return Effects{}, NoPet(petID)
		}
		if err := c.Check(f.Pet.Item()); err != nil {
			return Effects{}, err
		}
		m := f.Pet.count(quantity, f.Now)
		after = f.Pet.Item()
		return Effects{SavePet: f.Pet, Movement: m}, nil
	})
	return after, err
}

// AddStock adds units to the stock of a pet that can still be ordered; a negative
// number takes some away. With once it does so at most once. The status follows the
// stock, as [StockedPet.updateStatus] says.
func (s *Service) AddStock(ctx context.Context, workspace, petID, units int64, once *Idempotency) (Created, error) {
	var after InventoryItem
	return s.create(ctx, nil, &Change{
		Workspace: workspace, Needs: Needs{PetID: petID}, Idempotency: once,
		Decide: func(f Facts) (Effects, error) {
			if f.Pet == nil {
				return Effects{}, NoPet(petID)
			}
			if err := f.Pet.checkUnits(units); err != nil {
				return Effects{}, err
			}
			m := f.Pet.count(f.Pet.Quantity+units, f.Now)
			after = f.Pet.Item()
			return Effects{SavePet: f.Pet, Movement: m}, nil
		},
	}, func() (int64, any) { return petID, after })
}

// checkUnits returns why units cannot be added to the stock of a pet, or nil.
func (p *StockedPet) checkUnits(units int64) error {
	var why string
	switch {
	case units == 0:
		why = "units must not be 0."
	case units > MaxQuantity-p.Quantity:
		why = fmt.Sprintf("The stock can be %d at most.", MaxQuantity)
	case units < -p.Quantity:
		why = fmt.Sprintf("Only %d can be taken away.", p.Quantity)
	default:
		return nil
	}
	return Invalid([]Field{{Pointer: "/units", Code: OutOfRange, Message: why}})
}
