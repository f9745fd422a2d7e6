package store

import (
	"context"
	"strconv"

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
	return read(ctx, s, categoryList(&s.dialect, workspace, &q).read)
}

// CategorySizes implements [petstore.Store].
func (s *Store) CategorySizes(ctx context.Context, workspace int64, categories []int64, most int) (map[int64]int64, error) {
	among, ids := s.dialect.InList(categories)
	sizes := make(map[int64]int64, len(categories))
	_, err := readRows(ctx, s, func(row Row, size *int64) error {
		var id int64
		err := row.Scan(&id, size)
		sizes[id] = *size
		return err
	}, "SELECT c.id, (SELECT count(*) FROM (SELECT 1 FROM pets p WHERE p.workspace = c.workspace AND p.category = c.id LIMIT "+strconv.Itoa(most)+") counted)"+
		" FROM categories c WHERE c.workspace = $1 AND c.id"+among, workspace, ids)
	return sizes, err
}

func categoryList(d *Dialect, workspace int64, q *petstore.CategoryQuery) *list[petstore.Category] {
	l := &list[petstore.Category]{dialect: d, table: "categories", columns: categoryColumns, scan: scanCategory, workspace: workspace, page: q.Page}
	if q.Name != "" {
		l.tests = []condition{{d.Contains, q.Name}}
	}
	return l
}
