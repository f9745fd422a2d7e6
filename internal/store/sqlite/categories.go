package sqlite

import (
	"context"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

const (
	categoryColumns = "id, name, description" // as scanCategory reads them
	selectCategory  = "SELECT " + categoryColumns + " FROM categories WHERE workspace=?1 AND id=?2"
)

func scanCategory(row *sqlite.Stmt) petstore.Category {
	c := petstore.Category{ID: row.ColumnInt64(0), Name: row.ColumnText(1)}
	if !row.ColumnIsNull(2) {
		description := row.ColumnText(2)
		c.Description = &description
	}
	return c
}

// Category implements [petstore.Store].
func (db *DB) Category(ctx context.Context, workspace, id int64) (petstore.Category, error) {
	return get(ctx, db, selectCategory, workspace, id, scanCategory, petstore.NoCategory)
}

// Categories implements [petstore.Store].
func (db *DB) Categories(ctx context.Context, workspace int64, q petstore.CategoryQuery) ([]petstore.Category, error) {
	return categoryList(workspace, q).read(ctx, db)
}

func categoryList(workspace int64, q petstore.CategoryQuery) *list[petstore.Category] {
	l := &list[petstore.Category]{columns: categoryColumns, table: "categories", workspace: workspace, page: q.Page, scan: scanCategory}
	if q.Name != "" {
		l.tests = []filter{{byName, q.Name}}
	}
	return l
}
