package httpapi

import "example.com/petstore/internal/petstore"

func listCategories(a *API, x *exchange) error {
	l, err := x.listing()
	if err != nil {
		return err
	}
	q := petstore.CategoryQuery{Name: l.query.part("name")}
	if q.Page, err = l.page(); err != nil {
		return err
	}
	categories, err := a.Shop.Categories(x.r.Context(), x.entry.Workspace.ID, q)
	if err != nil {
		return err
	}
	return list(l, categories, func(c petstore.Category) int64 { return c.ID })
}

func createCategory(a *API, x *exchange) error {
	once, err := x.onceOf()
	if err != nil {
		return err
	}
	n, err := readNewCategory(x.body, 0)
	if err != nil {
		return err
	}
	c, err := a.Shop.CreateCategory(x.r.Context(), x.entry.Workspace.ID, n, once)
	if err != nil {
		return err
	}
	return x.created(c)
}

func getCategory(a *API, x *exchange) error {
	c, err := a.Shop.Category(x.r.Context(), x.entry.Workspace.ID, x.param)
	if err != nil {
		return err
	}
	return sendResource(x, c)
}

func replaceCategory(a *API, x *exchange) error {
	cond, err := x.conditionOf()
	if err != nil {
		return err
	}
	n, err := readNewCategory(x.body, x.param)
	if err != nil {
		return err
	}
	c, err := a.Shop.ReplaceCategory(x.r.Context(), x.entry.Workspace.ID, x.param, n, cond)
	if err != nil {
		return err
	}
	return x.changed(c)
}

func updateCategory(a *API, x *exchange) error {
	cond, err := x.conditionOf()
	if err != nil {
		return err
	}
	patch, err := readCategoryPatch(x.body, x.param)
	if err != nil {
		return err
	}
	c, err := a.Shop.UpdateCategory(x.r.Context(), x.entry.Workspace.ID, x.param, patch, cond)
	if err != nil {
		return err
	}
	return x.changed(c)
}

func deleteCategory(a *API, x *exchange) error {
	c, err := x.conditionOf()
	if err != nil {
		return err
	}
	return x.deleted(a.Shop.DeleteCategory(x.r.Context(), x.entry.Workspace.ID, x.param, c))
}
