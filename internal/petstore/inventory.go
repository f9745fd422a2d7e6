package petstore

import "context"

// UpdateInventory sets what can still be ordered of a pet; the units in
// open orders have left it already. The status settles.
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
