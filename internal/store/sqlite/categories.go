package sqlite

import (
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
