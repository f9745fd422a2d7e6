package petstore

import "context"

// CreateCategory adds a category. Names need not be unique.
func (s *Service) CreateCategory(ctx context.Context, workspace int64, n NewCategory, once *Idempotency) (Created, error) {
	if err := Invalid(n.Check()); err != nil {
		return Created{}, err
	}
	var made *Category
	return s.create(ctx, []RowKind{CategoryRow}, &Change{
		Workspace:   workspace,
		Idempotency: once,
		Decide: func(Facts) (Effects, error) {
			made = &Category{Name: n.Name, Description: n.Description}
			return Effects{SaveCategory: made}, nil
		},
	}, func() (int64, any) { return made.ID, *made })
}

// ReplaceCategory gives the category new members; an absent description is
// removed.
func (s *Service) ReplaceCategory(ctx context.Context, workspace, id int64, n NewCategory, c Condition) (Category, error) {
	p := CategoryPatch{Name: Some(n.Name), Description: Null[string]()}
	if n.Description != nil {
		p.Description = Some(*n.Description)
	}
	return s.UpdateCategory(ctx, workspace, id, p, c)
}

// UpdateCategory changes the members that the patch names.
func (s *Service) UpdateCategory(ctx context.Context, workspace, id int64, p CategoryPatch, c Condition) (Category, error) {
	if err := Invalid(p.Check()); err != nil {
		return Category{}, err
	}
	var after Category
	err := s.change(ctx, workspace, Needs{CategoryID: id}, func(f Facts) (Effects, error) {
		if f.Category == nil {
			return Effects{}, NoCategory(id)
		}
		if err := c.Check(*f.Category); err != nil {
			return Effects{}, err
		}
		f.Category.patch(p)
		after = *f.Category
		return Effects{SaveCategory: f.Category}, nil
	})
	return after, err
}

func (c *Category) patch(p CategoryPatch) {
	if p.Name.Present {
		c.Name = p.Name.Value
	}
	switch {
	case p.Description.Null:
		c.Description = nil
	case p.Description.Present:
		description := p.Description.Value
		c.Description = &description
	}
}

// DeleteCategory removes the category. It returns category_in_use while any pet
// belongs to it.
func (s *Service) DeleteCategory(ctx context.Context, workspace, id int64, c Condition) error {
	return s.change(ctx, workspace, Needs{CategoryID: id, CategoryUse: true}, func(f Facts) (Effects, error) {
		if f.Category == nil {
			return Effects{}, NoCategory(id)
		}
		if err := c.Check(*f.Category); err != nil {
			return Effects{}, err
		}
		if f.CategoryInUse {
			return Effects{}, Errorf(CodeCategoryInUse, "The category %d still has pets.", id)
		}
		return Effects{DropCategory: id}, nil
	})
}
