package postgres

import (
	"context"
	"math"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	movementColumns = "pet, number, kind, order_id, delta, quantity, at" // as scanMovement reads them
	selectLedger    = "SELECT " + movementColumns + " FROM movements WHERE workspace = $1 AND pet = $2 AND number <= $3 ORDER BY number DESC LIMIT $4"
)

func scanMovement(row pgx.Row, m *petstore.Movement) error {
	var order *int64
	m.At.Valid = true
	err := row.Scan(&m.PetID, &m.Number, &m.Kind, &order, &m.Delta, &m.Quantity, &m.At.Millis)
	if order != nil {
		m.OrderID = *order
	}
	return err
}

// Movements implements [petstore.Store]. A place is the number of the movement there.
func (db *DB) Movements(ctx context.Context, workspace, petID, from int64, limit int) (page []petstore.Movement, next int64, err error) {
	if from == 0 {
		from = math.MaxInt64
	}
	err = db.read(ctx, func(c *pgxpool.Conn) error {
		page, err = collect(ctx, c, scanMovement, selectLedger, workspace, petID, from, limit)
		return err
	})
	switch {
	case err != nil:
		return nil, 0, err
	case len(page) == 0:
		return nil, 0, petstore.NoPet(petID)
	}
	return page, page[len(page)-1].Number - 1, nil
}

const insertMovements = `INSERT INTO movements (workspace, pet, number, delta, quantity, at, order_id, kind)
	SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[])`

// movements are columns of the ledger.
type movements struct {
	workspaces, pets, numbers, deltas, quantities, ats []int64
	orders                                             []*int64
	kinds                                              []string
}

func (c *movements) add(workspace int64, m *petstore.Movement) {
	c.workspaces, c.pets, c.numbers = append(c.workspaces, workspace), append(c.pets, m.PetID), append(c.numbers, m.Number)
	c.deltas, c.quantities, c.ats = append(c.deltas, m.Delta), append(c.quantities, m.Quantity), append(c.ats, m.At.Millis)
	c.orders, c.kinds = append(c.orders, optional(m.OrderID, m.OrderID != 0)), append(c.kinds, string(m.Kind))
}

func (c *movements) queue(b *pgx.Batch) {
	if len(c.pets) > 0 {
		b.Queue(insertMovements, c.workspaces, c.pets, c.numbers, c.deltas, c.quantities, c.ats, c.orders, c.kinds)
	}
}
