package interchange

import (
	"context"

	"example.com/petstore/internal/petstore"
)

// An Edit is what a row of CSV with an id says of that pet. What it leaves empty
// stays as it is.
type Edit struct {
	ID     int64
	Name   string
	Status petstore.Status
	Stock  *int64
}

// apply makes the pet what the edit and the category say, and reports whether it
// was not yet. Where status and stock contradict each other, the stock decides,
// so that applying an edit again changes nothing.
func (e *Edit) apply(ctx context.Context, service *petstore.Service, workspace int64, in *petstore.Category) (changed bool, err error) {
	pet, err := service.Pet(ctx, workspace, e.ID)
	if err != nil {
		return false, err
	}
	patch := petstore.PetPatch{}
	if e.Name != "" && e.Name != pet.Name {
		patch.Name = petstore.Some(e.Name)
	}
	if in != nil && in.ID != pet.CategoryID {
		patch.CategoryID = petstore.Some(in.ID)
	}
	if e.Stock != nil {
		item, err := service.InventoryItem(ctx, workspace, e.ID)
		if err != nil {
			return false, err
		}
		if item.Quantity != *e.Stock {
			if item, err = service.UpdateInventory(ctx, workspace, e.ID, *e.Stock, petstore.Condition{}); err != nil {
				return false, err
			}
			pet.Status, changed = item.Status, true
		}
	}
	if s := e.status(); s != "" && s != pet.Status {
		patch.Status = petstore.Some(s)
	}
	if patch == (petstore.PetPatch{}) {
		return changed, nil
	}
	_, err = service.UpdatePet(ctx, workspace, e.ID, patch, petstore.Condition{})
	return true, err
}

// status returns the status to set, or "" if the stock decides.
func (e *Edit) status() petstore.Status {
	if e.Stock != nil && (e.Status == petstore.Available && *e.Stock == 0 || e.Status == petstore.Sold && *e.Stock > 0) {
		return ""
	}
	return e.Status
}

// Check brings the name into normal form and returns what is wrong with it.
func (e *Edit) check() error {
	if e.Name == "" {
		return nil
	}
	p := petstore.PetPatch{Name: petstore.Some(e.Name)}
	fields := p.Check()
	e.Name = p.Name.Value
	return petstore.Invalid(fields)
}
