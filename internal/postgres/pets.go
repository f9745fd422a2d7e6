package postgres

import (
	"context"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

const (
	petColumns = "id, name, category, status" // as scanPet reads them
	selectPet  = "SELECT " + petColumns + " FROM pets WHERE workspace = $1 AND id = $2"
)

func scanPet(row pgx.Row, p *petstore.Pet) error {
	return row.Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status)
}

// Pet implements [petstore.Store].
func (db *DB) Pet(ctx context.Context, workspace, id int64) (petstore.Pet, error) {
	return get(ctx, db, selectPet, workspace, id, scanPet, petstore.NoPet)
}

// Pets implements [petstore.Store].
func (db *DB) Pets(ctx context.Context, workspace int64, q petstore.PetQuery) ([]petstore.Pet, error) {
	return petList(workspace, q).read(ctx, db)
}

func petList(workspace int64, q petstore.PetQuery) *list[petstore.Pet] {
	l := &list[petstore.Pet]{columns: petColumns, table: "pets", workspace: workspace, page: q.Page, scan: scanPet}
	category, pattern := byCategory, trigramPattern(q.Name)
	if q.Name != "" {
		l.filters = append(l.filters, filter{byName, q.Name})
	}
	switch {
	case len(q.IDs) > 0:
		category = besideIDsOf
		l.filters = append(l.filters, filter{byID, q.IDs})
		if len(q.Statuses) > 0 {
			l.filters = append(l.filters, filter{besideIDsStatus, texts(q.Statuses)})
		}
	case pattern != "":
		l.far = true
		l.filters = append(l.filters, filter{byTrigrams, pattern})
		if len(q.Statuses) > 0 {
			l.filters = append(l.filters, filter{byStatuses, texts(q.Statuses)})
		}
	default:
		l.lanes = statusLanes(q.Statuses, q.CategoryID != 0)
	}
	if q.CategoryID != 0 {
		l.filters = append(l.filters, filter{category, q.CategoryID})
	}
	return l
}

func texts(statuses []petstore.Status) []string {
	t := make([]string, len(statuses))
	for i, s := range statuses {
		t[i] = string(s)
	}
	return t
}

// The statements that write: one for all rows of a kind.
const (
	insertPets = `INSERT INTO pets (workspace, id, category, quantity, open_orders, movements, status, name, folded)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[])`

	updatePets = `UPDATE pets p SET category = n.category, quantity = n.quantity, open_orders = n.open_orders,
			movements = n.movements, status = n.status, name = n.name, folded = n.folded
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[])
			AS n (workspace, id, category, quantity, open_orders, movements, status, name, folded)
		WHERE p.workspace = n.workspace AND p.id = n.id`

	dropPets = `DELETE FROM pets p USING unnest($1::bigint[], $2::bigint[]) AS n (workspace, id) WHERE p.workspace = n.workspace AND p.id = n.id`
)

func queuePets(b *pgx.Batch, query string, rows map[rowID]*petstore.StockedPet) {
	if len(rows) == 0 {
		return
	}
	type row = petstore.StockedPet
	ids, k := inOrder(rows)
	b.Queue(query, k.workspaces, k.ids,
		column(rows, ids, func(a *row) int64 { return a.CategoryID }),
		column(rows, ids, func(a *row) int64 { return a.Quantity }),
		column(rows, ids, func(a *row) int64 { return a.OpenOrders }),
		column(rows, ids, func(a *row) int64 { return a.Movements }),
		column(rows, ids, func(a *row) string { return string(a.Status) }),
		column(rows, ids, func(a *row) string { return a.Name }),
		column(rows, ids, func(a *row) string { return petstore.Fold(a.Name) }))
}
