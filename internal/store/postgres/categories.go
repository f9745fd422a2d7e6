package postgres

import (
	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

const categoryColumns = "id, name, description" // as scanCategory reads them

func scanCategory(row pgx.Row, c *petstore.Category) error {
	return row.Scan(&c.ID, &c.Name, &c.Description)
}
