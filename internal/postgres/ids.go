package postgres

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// How ids are issued. A node takes them from the counters in a transaction of
// its own: inside of the group's, the counter's row would be locked until that
// is on the disk, and all groups of a workspace would wait for each other, on
// all nodes. A busy node takes some more than it needs and spares the next
// groups the round trip, but uses them for a moment only: an order is never
// much younger than one with a greater id, whichever nodes they came from.
const (
	leaseTime   = 100 * time.Millisecond
	leaseAhead  = 8    // groups as the present one that a lease should last
	leaseAtMost = 1024 // ids of one kind
)

// issueIDs advances the counters of workspaces, one after the other, by what is
// wanted of each kind ($2 to $4). If nobody else was at a counter since this
// node took ids up to $5 to $7, it goes back first to those that were used, $8
// to $10: a node that is alone leaves no gaps.
const issueIDs = `UPDATE counters c SET
		pets = CASE WHEN c.pets = d.pets_top THEN d.pets_last ELSE c.pets END + d.pets,
		categories = CASE WHEN c.categories = d.categories_top THEN d.categories_last ELSE c.categories END + d.categories,
		orders = CASE WHEN c.orders = d.orders_top THEN d.orders_last ELSE c.orders END + d.orders
	FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])
		AS d (workspace, pets, categories, orders, pets_top, categories_top, orders_top, pets_last, categories_last, orders_last)
	WHERE c.workspace = d.workspace RETURNING c.workspace, c.pets, c.categories, c.orders`

// A demand is a number for each kind of row: how many ids, or one of them.
type demand struct{ pets, categories, orders int64 }

func (d demand) plus(e demand) demand {
	return demand{d.pets + e.pets, d.categories + e.categories, d.orders + e.orders}
}

func (d demand) minus(e demand) demand {
	return demand{d.pets - e.pets, d.categories - e.categories, d.orders - e.orders}
}

// ahead returns how many ids to take for a busy workspace.
func (d demand) ahead() demand {
	more := func(n int64) int64 { return max(n, min(n*leaseAhead, leaseAtMost)) }
	return demand{more(d.pets), more(d.categories), more(d.orders)}
}

// A lease is what a node has taken of a workspace's ids and not used yet: those
// above last, up to top.
type lease struct {
	last, top demand
	at        time.Time
}

// none is the lease of a node that has taken nothing.
func none() lease { return lease{top: demand{-1, -1, -1}} }

func (l lease) covers(d demand) bool {
	rest := l.top.minus(l.last.plus(d))
	return rest.pets >= 0 && rest.categories >= 0 && rest.orders >= 0
}

// An issuer issues ids on a node.
type issuer struct {
	pool *pgxpool.Pool
	now  func() time.Time

	mu     sync.Mutex
	leases map[int64]lease // missing while they are renewed
}

// An application is a lease to be renewed: the ids that are wanted, of which
// some are needed at once.
type application struct {
	lease
	needed, wanted demand
}

// issue returns, for each workspace that exists, the ids before the first that
// may be used.
func (i *issuer) issue(ctx context.Context, demands map[int64]*demand) (map[int64]*demand, error) {
	issued := make(map[int64]*demand, len(demands))
	renew := i.fromLeases(demands, issued)
	if len(renew) == 0 {
		return issued, nil
	}
	rows, err := i.pool.Query(ctx, issueIDs, arguments(renew)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return issued, each(func(row pgx.Rows) error {
		var (
			workspace int64
			top       demand
		)
		err := row.Scan(&workspace, &top.pets, &top.categories, &top.orders)
		a := renew[workspace]
		before := top.minus(a.wanted)
		issued[workspace] = &before
		i.keep(workspace, lease{last: before.plus(a.needed), top: top, at: i.now()})
		return err
	})(rows)
}

// fromLeases issues what leases cover, and takes the others out to be renewed.
func (i *issuer) fromLeases(demands, issued map[int64]*demand) map[int64]application {
	now := i.now()
	i.mu.Lock()
	defer i.mu.Unlock()
	renew := make(map[int64]application)
	for workspace, d := range demands {
		l, held := i.leases[workspace]
		fresh := held && now.Sub(l.at).Abs() < leaseTime
		if fresh && l.covers(*d) {
			before := l.last
			issued[workspace] = &before
			l.last = l.last.plus(*d)
			i.leases[workspace] = l
			continue
		}
		delete(i.leases, workspace)
		a := application{lease: none(), needed: *d, wanted: *d}
		if held {
			a.lease = l
		}
		if fresh {
			a.wanted = d.ahead()
		}
		renew[workspace] = a
	}
	return renew
}

// keep keeps a lease. Those that nobody came back for are dropped now and then.
func (i *issuer) keep(workspace int64, l lease) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.leases == nil || len(i.leases) > 10_000 {
		i.leases = make(map[int64]lease)
	}
	i.leases[workspace] = l
}

// drop forgets the leases of workspaces whose writes failed: after a failover
// the counters may stand where they stood before.
func (i *issuer) drop(demands map[int64]*demand) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for workspace := range demands {
		delete(i.leases, workspace)
	}
}

// arguments returns the columns for issueIDs, in the order of the workspaces.
func arguments(renew map[int64]application) []any {
	workspaces := slices.Sorted(maps.Keys(renew))
	args := []any{workspaces}
	for _, part := range []func(application) demand{
		func(a application) demand { return a.wanted },
		func(a application) demand { return a.top },
		func(a application) demand { return a.last },
	} {
		var pets, categories, orders []int64
		for _, w := range workspaces {
			d := part(renew[w])
			pets, categories, orders = append(pets, d.pets), append(categories, d.categories), append(orders, d.orders)
		}
		args = append(args, pets, categories, orders)
	}
	return args
}
