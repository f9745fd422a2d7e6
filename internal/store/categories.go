package store

import (
	"context"

	"example.com/petstore/internal/petstore"
)

const (
	categoryColumns = "id, name, description"
	selectCategory  = "SELECT " + categoryColumns + " FROM categories WHERE workspace = $1 AND id = $2"
)

func scanCategory(row Row, c *petstore.Category) error {
	return row.Scan(&c.ID, &c.Name, &c.Description)
}

// Category implements [petstore.Store].
func (s *Store) Category(ctx context.Context, workspace, id int64) (petstore.Category, error) {
	return get(ctx, s, selectCategory, workspace, id, scanCategory, petstore.NoCategory)
}

// Categories implements [petstore.Store].
func (s *Store) Categories(ctx context.Context, workspace int64, q petstore.CategoryQuery) ([]petstore.Category, error) {
	return categoryList(&s.options.Dialect, workspace, &q).read(ctx, s)
}

func categoryList(d *Dialect, workspace int64, q *petstore.CategoryQuery) *list[petstore.Category] {
	l := &list[petstore.Category]{dialect: d, table: "categories", columns: categoryColumns, scan: scanCategory, workspace: workspace, page: q.Page}
	if !storable(q.Name) {
		l.page.Limit = 0 // no category has such a name
	}
	if q.Name != "" {
		l.tests = []condition{{d.Contains, q.Name}}
	}
	return l
}

var categoryTable = newTable("categories", "name, folded, description", func(workspace int64, c *petstore.Category) []any {
	var description any
	if c.Description != nil {
		description = *c.Description
	}
	return []any{c.Name, petstore.Fold(c.Name), description, c.ID, workspace}
})
