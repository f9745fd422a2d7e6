package petstore

import "context"

// An Amendment is a change of a pet and of its stock in one step. Its zero value changes
// nothing.
type Amendment struct {
	PetPatch
	Quantity Optional[int64] // cannot be null
}

// An Amended has a pet as it was before a change and as it is after it.
type Amended struct{ Before, After StockedPet }

// Changed reports whether the change made the pet or its stock different.
func (a *Amended) Changed() bool {
	return a.Before.Pet != a.After.Pet || a.Before.Quantity != a.After.Quantity
}

// Amend returns a change of the pet with the id, which may be that of a [Unit]. decide gets the pet as it is in the
// transaction and returns the amendment; result then has the pet before and after it. If the amendment moves the pet to
// another category, the change must need that. First the stock is set, and the status follows it as [StockedPet.updateStatus]
// says; then the patch is applied.
func Amend(ctx context.Context, workspace, id int64, decide func(StockedPet) (Amendment, error), result *Amended) *Change {
	request, by := originOf(ctx)
	c := &Change{Workspace: workspace, RequestID: request, By: by, Needs: Needs{PetID: id}}
	c.Decide = func(f Facts) (Effects, error) {
		*result = Amended{}
		if c.Needs.CategoryID != 0 && f.Category == nil {
			return Effects{}, unknown("/categoryId", "category", c.Needs.CategoryID)
		}
		if f.Pet == nil {
			return Effects{}, NoPet(id)
		}
		a, err := decide(*f.Pet)
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
		*result = Amended{*f.Pet, p}
		return Effects{SavePet: &p, Movement: m}, nil
	}
	return c
}

func (p *StockedPet) amend(a Amendment, now Time) (m *Movement, err error) {
	if a.Quantity.Present {
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
