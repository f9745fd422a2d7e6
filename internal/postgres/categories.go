package postgres

import (
	"context"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

const (
	categoryColumns = "id, name, description" // as scanCategory reads them
	selectCategory  = "SELECT " + categoryColumns + " FROM categories WHERE workspace = $1 AND id = $2"
)

func scanCategory(row pgx.Row, c *petstore.Category) error {
	return row.Scan(&c.ID, &c.Name, &c.Description)
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
	l := &list[petstore.Category]{
		columns: categoryColumns, table: "categories", workspace: workspace, page: q.Page, scan: scanCategory,
	}
	if q.Name != "" {
		l.filters = append(l.filters, filter{byName, q.Name})
	}
	return l
}

// The statements that write: one for all rows of a kind.
const (
	insertCategories = `INSERT INTO categories (workspace, id, name, folded, description)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[])`

	updateCategories = `UPDATE categories c SET name = n.name, folded = n.folded, description = n.description
		FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[]) AS n (workspace, id, name, folded, description)
		WHERE c.workspace = n.workspace AND c.id = n.id`

	dropCategories = `DELETE FROM categories c USING unnest($1::bigint[], $2::bigint[]) AS n (workspace, id) WHERE c.workspace = n.workspace AND c.id = n.id`
)

func queueCategories(b *pgx.Batch, query string, rows map[rowID]*petstore.Category) {
	if len(rows) == 0 {
		return
	}
	type row = petstore.Category
	ids, k := inOrder(rows)
	b.Queue(query, k.workspaces, k.ids,
		column(rows, ids, func(c *row) string { return c.Name }),
		column(rows, ids, func(c *row) string { return petstore.Fold(c.Name) }),
		column(rows, ids, func(c *row) *string { return c.Description }))
}
