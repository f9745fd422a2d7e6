package sqlite

import (
	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

const (
	categoryColumns = "id, name, description" // as scanCategory reads them
	selectCategory  = "SELECT " + categoryColumns + " FROM categories WHERE workspace=?1 AND id=?2"
	selectInUse     = "SELECT 1 FROM pets WHERE workspace=?1 AND category=?2 LIMIT 1"
)

func scanCategory(row *sqlite.Stmt) petstore.Category {
	c := petstore.Category{ID: row.ColumnInt64(0), Name: row.ColumnText(1)}
	if !row.ColumnIsNull(2) {
		description := row.ColumnText(2)
		c.Description = &description
	}
	return c
}

func (c *conn) saveCategory(workspace int64, row *petstore.Category) (err error) {
	query := "UPDATE categories SET name=?3, folded=?4, description=?5 WHERE workspace=?1 AND id=?2"
	if row.ID == 0 {
		query = "INSERT INTO categories (workspace, id, name, folded, description) VALUES (?1, ?2, ?3, ?4, ?5)"
		if row.ID, err = c.nextID(workspace, categoryID); err != nil {
			return err
		}
	}
	var description any
	if row.Description != nil {
		description = *row.Description
	}
	return c.exec(query, workspace, row.ID, row.Name, petstore.Fold(row.Name), description)
}
