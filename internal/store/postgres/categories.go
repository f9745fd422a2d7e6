package postgres

import (
	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

const categoryColumns = "id, name, description" // as scanCategory reads them

func scanCategory(row pgx.Row, c *petstore.Category) error {
	return row.Scan(&c.ID, &c.Name, &c.Description)
}

var categoryTable = newTable("categories", "workspace, id, name, folded, description",
	func(workspace int64, c *petstore.Category) []any {
		return []any{workspace, c.ID, c.Name, petstore.Fold(c.Name), c.Description}
	})
