package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// issueIDs advances the counters of workspaces by what is needed of each kind
// ($2 to $5), and returns where they stood before.
const issueIDs = `UPDATE counters c SET pets = c.pets + d.pets, categories = c.categories + d.categories, orders = c.orders + d.orders, movements = c.movements + d.movements
	FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS d (workspace, pets, categories, orders, movements)
	WHERE c.workspace = d.workspace
	RETURNING c.workspace, c.pets - d.pets, c.categories - d.categories, c.orders - d.orders, c.movements - d.movements`

// A demand is a number for each kind of row: how many ids, or one of them.
type demand struct{ pets, categories, orders, movements int64 }

// issue takes ids from the counters, and returns for each workspace that exists
// the ids before the first that may be used. They are lost if the caller does
// not use them.
//
// It is a transaction of its own: in the caller's, the counter's row would
// be locked until that is on the disk, and all groups of a workspace would wait
// for each other, on all nodes. The pool is not that of the callers: they hold its
// connections while they wait for this one. The workspaces are in order, so that
// nodes do not wait for each other in a circle; if they did, the server would end
// that, and the group would be tried again.
func issue(ctx context.Context, pool *pgxpool.Pool, demands map[int64]*demand) (map[int64]*demand, error) {
	issued := make(map[int64]*demand, len(demands))
	if len(demands) == 0 {
		return issued, nil
	}
	workspaces := slices.Sorted(maps.Keys(demands))
	var pets, categories, orders, movements []int64
	for _, w := range workspaces {
		d := demands[w]
		pets, categories, orders = append(pets, d.pets), append(categories, d.categories), append(orders, d.orders)
		movements = append(movements, d.movements)
	}
	rows, err := pool.Query(ctx, issueIDs, workspaces, pets, categories, orders, movements)
	if err != nil {
		return nil, err
	}
	var (
		workspace int64
		before    demand
	)
	_, err = pgx.ForEachRow(rows, []any{&workspace, &before.pets, &before.categories, &before.orders, &before.movements}, func() error {
		last := before
		issued[workspace] = &last
		return nil
	})
	return issued, err
}
