package postgres

import (
	"context"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	movementColumns = "pet, number, kind, order_id, delta, quantity, at" // as scanMovement reads them
	selectLedger    = "SELECT " + movementColumns + " FROM movements WHERE workspace = $1 AND pet = $2 ORDER BY number"
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

// Movements implements [petstore.Store]. It returns the error of NoPet for a
// pet that there never was.
func (db *DB) Movements(ctx context.Context, workspace, petID int64) (all []petstore.Movement, err error) {
	err = db.read(ctx, workspace, func(c *pgxpool.Conn) error {
		all, err = collect(ctx, c, scanMovement, selectLedger, workspace, petID)
		return err
	})
	if err == nil && len(all) == 0 {
		return nil, petstore.NoPet(petID)
	}
	return all, err
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
