package petstore

import "context"

// An Amendment says what becomes of a pet and its stock at once. Its zero value changes nothing.
type Amendment struct {
	PetPatch
	Quantity Optional[int64] // cannot be null
}

// An Amended pet is one before and after a change.
type Amended struct{ Before, After StockedPet }

// Changed reports whether the pet or its stock is another than before.
func (a *Amended) Changed() bool {
	return a.Before.Pet != a.After.Pet || a.Before.Quantity != a.After.Quantity
}

// Amend returns a change of a pet, for [Bulk.Amend]: to decides on it by what the pet is in the transaction, and done says
// afterwards what became of it. The category that to may choose is known before; 0 is none. The stock is set first, and the
// status follows it, as [Service.UpdateInventory] says; then comes the patch, as [Service.UpdatePet] says. What changes nothing
// writes nothing.
func Amend(ctx context.Context, workspace, id, categoryID int64, to func(StockedPet) (Amendment, error), done *Amended) *Change {
	request, by := originOf(ctx)
	return &Change{Workspace: workspace, RequestID: request, By: by, Needs: Needs{PetID: id, CategoryID: categoryID}, Decide: func(f Facts) (Effects, error) {
		*done = Amended{}
		if f.Pet == nil {
			return Effects{}, NoPet(id)
		}
		a, err := to(*f.Pet)
		if err != nil {
			return Effects{}, err
		}
		if a.CategoryID.Present && (f.Category == nil || f.Category.ID != a.CategoryID.Value) {
			return Effects{}, unknown("/categoryId", "category", a.CategoryID.Value)
		}
		if err := Invalid(append(a.PetPatch.Check(), CheckQuantity(a.Quantity.value())...)); err != nil {
			return Effects{}, err
		}
		p := *f.Pet
		m, err := p.amend(a, f.Now)
		if err != nil {
			return Effects{}, err
		}
		*done = Amended{*f.Pet, p}
		if !done.Changed() {
			return Effects{}, nil
		}
		return Effects{SavePet: &p, Movement: m}, nil
	}}
}

func (p *StockedPet) amend(a Amendment, now Time) (m *Movement, err error) {
	if a.Quantity.Present && a.Quantity.Value != p.Quantity {
		if m = p.count(a.Quantity.Value, now); a.Status.value() == Sold && p.Quantity > 0 {
			return nil, Errorf(CodeValidationFailed, "A pet that is sold has no stock; this one would have %d.", p.Quantity)
		}
	}
	sold, err := p.patch(a.PetPatch, now)
	if sold != nil {
		m = sold
	}
	return m, err
}
