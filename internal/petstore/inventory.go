package petstore

import (
	"context"
	"fmt"
)

// InventoryItem returns the stock of one pet.
func (s *Service) InventoryItem(ctx context.Context, workspace, petID int64) (InventoryItem, error) {
	p, err := s.Pet(ctx, workspace, petID)
	return p.Item(), err
}

// Inventory returns the stock of the pets that a query selects.
func (s *Service) Inventory(ctx context.Context, workspace int64, q PetQuery) ([]InventoryItem, error) {
	pets, err := s.Pets(ctx, workspace, q)
	items := make([]InventoryItem, len(pets))
	for i := range pets {
		items[i] = pets[i].Item()
	}
	return items, err
}

// UpdateInventory sets how many units of a pet can still be ordered; the units in open
// orders are not among them. The status follows the stock, as [StockedPet.updateStatus]
// says.
func (s *Service) UpdateInventory(ctx context.Context, workspace, petID, quantity int64, c Condition) (InventoryItem, error) {
	if err := Invalid(CheckQuantity(quantity)); err != nil {
		return InventoryItem{}, err
	}
	var done Amended
	_, err := s.Do(ctx, Amend(ctx, workspace, petID, func(now StockedPet) (Amendment, error) {
		return Amendment{Quantity: Some(quantity)}, c.Check(now.Item())
	}, &done))
	return done.After.Item(), err
}

// AddStock adds units to the stock of a pet that can still be ordered; a negative
// number takes some away. With once it does so at most once. The status follows the
// stock, as [StockedPet.updateStatus] says.
func (s *Service) AddStock(ctx context.Context, workspace, petID, units int64, once *Idempotency) (Created, error) {
	var done Amended
	change := Amend(ctx, workspace, petID, func(now StockedPet) (Amendment, error) {
		return Amendment{Quantity: Some(now.Quantity + units)}, now.checkUnits(units)
	}, &done)
	change.Idempotency = once
	return s.create(ctx, nil, change, func() (int64, any) { return petID, done.After.Item() })
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
