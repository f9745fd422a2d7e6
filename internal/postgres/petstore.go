package postgres

import (
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The columns of each row, in the order in which the scan functions read them.
const (
	petColumns      = "id, name, category, status"
	itemColumns     = "id, quantity, status"
	categoryColumns = "id, name, description"
	orderColumns    = "id, pet, quantity, ship_date, complete"
	movementColumns = "pet, number, kind, order_id, delta, quantity, at"
)

func scanPet(row pgx.Row, p *petstore.Pet) error {
	return row.Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status)
}

func scanItem(row pgx.Row, i *petstore.InventoryItem) error {
	return row.Scan(&i.PetID, &i.Quantity, &i.Status)
}

func scanCategory(row pgx.Row, c *petstore.Category) error {
	return row.Scan(&c.ID, &c.Name, &c.Description)
}

// scanOrder reads an order, and the columns before it into those given.
func scanOrder(row pgx.Row, o *petstore.Order, before ...any) error {
	var shipDate *int64
	err := row.Scan(append(before, &o.ID, &o.PetID, &o.Quantity, &shipDate, &o.Complete)...)
	if shipDate != nil {
		o.ShipDate = petstore.Time{Millis: *shipDate, Valid: true}
	}
	return err
}

func scanOnlyOrder(row pgx.Row, o *petstore.Order) error { return scanOrder(row, o) }

func scanMovement(row pgx.Row, m *petstore.Movement) error {
	var order *int64
	m.At.Valid = true
	err := row.Scan(&m.PetID, &m.Number, &m.Kind, &order, &m.Delta, &m.Quantity, &m.At.Millis)
	if order != nil {
		m.OrderID = *order
	}
	return err
}

// read calls f with a connection on which the workspace's latest commit of this
// node shows. A connection that turns out to be lost is replaced once.
func (db *DB) read(ctx context.Context, workspace int64, f func(*pgxpool.Conn) error) error {
	if db.replica != nil {
		if done, err := db.replica.read(ctx, workspace, f); done {
			db.counted.replica.Add(1)
			return err
		}
	}
	return onPool(ctx, db.readers, f)
}

// onPool calls f with a connection of the pool, again if it was lost: a read
// does no harm twice.
func onPool(ctx context.Context, pool *pgxpool.Pool, f func(*pgxpool.Conn) error) error {
	for n := 0; ; n++ {
		err := pool.AcquireFunc(ctx, f)
		if n == 2 || !lost(err) || pause(ctx, n) != nil {
			return judge(err)
		}
	}
}

// get returns the row that a query of a workspace and an id selects; without
// one it returns missing's error.
func get[T any](ctx context.Context, db *DB, query string, workspace, id int64, scan func(pgx.Row, *T) error, missing func(int64) *petstore.Error) (T, error) {
	var row, none T
	err := db.read(ctx, workspace, func(c *pgxpool.Conn) error {
		row = none
		err := scan(c.QueryRow(ctx, query, workspace, id), &row)
		if errors.Is(err, pgx.ErrNoRows) {
			return missing(id)
		}
		return err
	})
	if err != nil {
		return none, err
	}
	return row, nil
}

const (
	selectPet      = "SELECT " + petColumns + " FROM pets WHERE workspace = $1 AND id = $2"
	selectItem     = "SELECT " + itemColumns + " FROM pets WHERE workspace = $1 AND id = $2"
	selectCategory = "SELECT " + categoryColumns + " FROM categories WHERE workspace = $1 AND id = $2"
	selectOrder    = "SELECT " + orderColumns + " FROM orders WHERE workspace = $1 AND id = $2"
	selectLedger   = "SELECT " + movementColumns + " FROM movements WHERE workspace = $1 AND pet = $2 ORDER BY number"
)

// Pet implements [petstore.Store].
func (db *DB) Pet(ctx context.Context, workspace, id int64) (petstore.Pet, error) {
	return get(ctx, db, selectPet, workspace, id, scanPet, petstore.NoPet)
}

// Category implements [petstore.Store].
func (db *DB) Category(ctx context.Context, workspace, id int64) (petstore.Category, error) {
	return get(ctx, db, selectCategory, workspace, id, scanCategory, petstore.NoCategory)
}

// Order implements [petstore.Store].
func (db *DB) Order(ctx context.Context, workspace, id int64) (petstore.Order, error) {
	return get(ctx, db, selectOrder, workspace, id, scanOnlyOrder, petstore.NoOrder)
}

// InventoryItem implements [petstore.Store].
func (db *DB) InventoryItem(ctx context.Context, workspace, petID int64) (petstore.InventoryItem, error) {
	return get(ctx, db, selectItem, workspace, petID, scanItem, petstore.NoPet)
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

// A querier is a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// collect returns all rows of a query; none is an empty slice.
func collect[T any](ctx context.Context, c querier, scan func(pgx.Row, *T) error, query string, args ...any) ([]T, error) {
	all := []T{}
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return all, err
	}
	defer rows.Close()
	for rows.Next() {
		var row T
		if err := scan(rows, &row); err != nil {
			return all, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
