package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/postgrestest"
)

// What is measured of growth: up to three real nodes, which share a core with PostgreSQL and Redis.
const (
	realNodes   = 3
	workspaces  = 1000
	petsEach    = 20
	growCallers = 64 // of each node
)

// A growthLoad is what the callers ask for.
type growthLoad struct {
	words            string
	orders           float64 // the share of the requests that place an order; the others read a pet
	workspaces, pets int     // pets of each workspace; some workspaces have much more of the load than others, their pets are alike
}

func growthLoads() []growthLoad {
	return []growthLoad{
		{"an order in twenty requests, the others read a pet", .05, workspaces, petsEach},
		{"orders alone", 1, workspaces, petsEach},
		{"orders alone, all of one workspace", 1, 1, petsEach},
	}
}

// An installation is PostgreSQL, Redis and nodes, with many workspaces.
type installation struct {
	*bench
	database *postgrestest.Server
	redis    *process
	nodes    []*process
	work     *workload
}

// measureGrowth compares one, two and three real nodes with a simulation of them, and has that say how many more go on.
func (b *bench) measureGrowth(ctx context.Context) error {
	in := &installation{bench: b}
	if err := in.open(ctx); err != nil {
		return err
	}
	c, err := in.calibrate(ctx)
	if err != nil {
		return err
	}
	b.add(c.section())
	if err := in.compare(ctx, c); err != nil {
		return err
	}
	b.add(forecast(c))
	return nil
}

// open starts everything on the core of what is measured.
func (in *installation) open(ctx context.Context) (err error) {
	say("filling %d workspaces", workspaces)
	if err := onCores(func() (err error) {
		in.database, err = postgrestest.Open()
		return err
	}, serverCore); err != nil {
		return err
	}
	in.atEnd(in.database.Close)
	name, err := in.database.Create(ctx, "")
	if err != nil {
		return err
	}
	if in.work, err = fillWorkspaces(ctx, in.database, name); err != nil {
		return err
	}
	addr, err := processtest.FreeAddr()
	if err != nil {
		return err
	}
	_, port, _ := strings.Cut(addr, ":")
	in.redis, err = in.start(ctx, addr, "redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--maxmemory-policy", "noeviction")
	if err != nil {
		return err
	}
	for range realNodes {
		p, err := in.startServer(ctx, in.database.URL(name), "--redis", "redis://"+addr)
		if err != nil {
			return err
		}
		in.nodes = append(in.nodes, p)
	}
	return nil
}

// fillWorkspaces makes the workspaces with a key and some pets each.
func fillWorkspaces(ctx context.Context, server *postgrestest.Server, database string) (w *workload, err error) {
	db, err := postgres.Open(ctx, server.URL(database)+"&synchronous_commit=off", postgres.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	w = &workload{dataset: &dataset{pets: petsEach}}
	op := &operator.Local{Store: db, Now: time.Now, By: "bench"}
	for i := range workspaces {
		plan := operator.Plan{Plan: access.Enterprise, Quota: access.Quota{PerMinute: quota, PerDay: quota}}
		workspace, err := op.CreateWorkspace(ctx, operator.NewWorkspace{Name: fmt.Sprint("workspace-", i), Plan: plan})
		if err != nil {
			return nil, err
		}
		key, err := op.CreateKey(ctx, workspace.ID, access.NewKey{Name: "bench", Scopes: access.Read | access.Write})
		if err != nil {
			return nil, err
		}
		w.workspaces = append(w.workspaces, key.Key)
	}
	return w, server.Exec(ctx, database, fmt.Sprintf(`
		INSERT INTO petstore.categories (workspace, id, name, folded) SELECT id, 1, 'Dogs', 'dogs' FROM petstore.workspaces;
		INSERT INTO petstore.pets (workspace, id, name, category, status, quantity, open_orders, movements, folded)
			SELECT id, n, 'Rex', 1, 'available', %d, 0, 0, 'rex' FROM petstore.workspaces, generate_series(1, %d) n;
		UPDATE petstore.counters SET categories = 1, pets = %[2]d;
		ANALYZE`, stock, petsEach))
}

// row is a load as requests.
func (l growthLoad) row(callers int) *row {
	return &row{name: l.words, callers: callers, request: func(dst []byte, w *workload, r *rand.Rand) []byte {
		w.key = w.workspaces[popular(r, l.workspaces)]
		if r.Float64() < l.orders {
			return order(dst, w, w.anyPet(r))
		}
		return getPet(dst, w, r)
	}}
}

// spent is what a run took.
type spent struct {
	*sample
	node, redis, database float64 // processor time of a request, in microseconds
	group                 float64 // orders in a group
}

// spend has the first nodes carry a load together, and says what that took.
func (in *installation) spend(ctx context.Context, nodes int, l growthLoad, callers int, long time.Duration) (*spent, error) {
	p := in.nodes[0]
	p.twins = in.nodes[1:nodes]
	before, err := in.meters(ctx)
	if err != nil {
		return nil, err
	}
	got, err := load(ctx, p, in.work, l.row(callers), long)
	if err != nil {
		return nil, err
	}
	after, err := in.meters(ctx)
	if err != nil {
		return nil, err
	}
	each := func(i int) float64 { return (after[i] - before[i]) / float64(max(1, got.all)) }
	return &spent{got, each(0), each(1), each(2), (after[4] - before[4]) / max(1, after[3]-before[3])}, nil
}

// meters reads the processor time of the first node, Redis and PostgreSQL, and the first node's groups and writes.
func (in *installation) meters(ctx context.Context) ([5]float64, error) {
	node, err1 := in.nodes[0].cpu()
	redis, err2 := in.redis.cpu()
	database, err3 := familyTime(in.database.PID())
	groups, err4 := in.nodes[0].metric(ctx, "petstore_store_groups_total")
	writes, err5 := in.nodes[0].metric(ctx, "petstore_store_writes_total")
	return [5]float64{micros(node), micros(redis), micros(database), groups, writes}, errors.Join(err1, err2, err3, err4, err5)
}

// calibrate measures what one of each takes, with one node: what a group takes apart from its orders shows in groups of
// different size.
func (in *installation) calibrate(ctx context.Context) (c costs, err error) {
	say("what a request takes")
	var measured [3]*spent
	for i, l := range []struct {
		words   string
		orders  float64
		callers int
	}{{"reads", 0, growCallers}, {"orders", 1, growCallers}, {"few orders", 1, 4}} {
		if measured[i], err = in.spend(ctx, 1, growthLoad{l.words, l.orders, workspaces, petsEach}, l.callers, 3*in.round); err != nil {
			return c, err
		}
	}
	reads, many, few := measured[0], measured[1], measured[2]
	best := 0.0 // of the disk, while others leave it alone
	for range in.rounds {
		appends, err := in.appends(ctx)
		if err != nil {
			return c, err
		}
		best = max(best, appends)
	}
	c = costs{nodeRead: reads.node, nodeOrder: many.node, decision: reads.redis, databaseRead: reads.database, sync: 1e6 / best}
	c.databaseGroup = max(0, (few.database-many.database)/(1/few.group-1/many.group))
	c.databaseOrder = max(0, many.database-c.databaseGroup/many.group)
	return c, nil
}

func (c costs) section() section {
	s := section{title: "What a request takes, in microseconds of processor time", table: table{"part | µs"}}
	for _, part := range []struct {
		words string
		value float64
	}{
		{"a GET of a pet, on the node", c.nodeRead}, {"an order, on the node", c.nodeOrder}, {"a decision of the limiter, in Redis", c.decision},
		{"a GET of a pet, in PostgreSQL", c.databaseRead}, {"a group of orders, in PostgreSQL", c.databaseGroup}, {"each order in it", c.databaseOrder},
		{"a sync of the disk, by the clock", c.sync},
	} {
		s.table.add("%s | %.0f", part.words, part.value)
	}
	return s
}

// compare measures one, two and three nodes in turns, and simulates them.
func (in *installation) compare(ctx context.Context, c costs) error {
	s := section{title: "Real nodes, PostgreSQL and Redis on one core together",
		table: table{"load | nodes | requests/s | × one node | simulated requests/s | × one node"}}
	for _, l := range growthLoads() {
		say("real nodes: %s", l.words)
		rates := make([][]float64, realNodes)
		for range in.rounds {
			for n := range realNodes {
				got, err := in.spend(ctx, n+1, l, growCallers*(n+1), in.round)
				if err != nil {
					return err
				}
				rates[n] = append(rates[n], got.perSecond())
			}
		}
		var first outcome
		for n := range realNodes {
			o := simulate(model{costs: c, growthLoad: l, nodes: n + 1, callers: growCallers, cores: 1, together: true, trip: 50}, 2)
			if n == 0 {
				first = o
			}
			s.table.add("%s | %d | %s | %s | %.0f | %.2f", l.words, n+1, spreadOf(rates[n]).ranged("%.0f"), spreadOf(quotients(rates[n], rates[0])).ranged("%.2f"),
				o.perSecond, o.perSecond/first.perSecond)
		}
	}
	in.add(s)
	return nil
}

// forecast simulates nodes of two cores, PostgreSQL on eight and Redis on one, a quarter of a millisecond from each other.
func forecast(c costs) section {
	s := section{title: "Simulated: nodes with 2 cores, PostgreSQL with 8, Redis with 1, each on a machine of its own",
		table: table{"load | nodes | requests/s | × one node | nodes busy | PostgreSQL busy | Redis busy | waits for locks | bound"}}
	for _, l := range growthLoads() {
		var first outcome
		linear := 0
		for n := 1; n <= 16; n++ {
			o := simulate(model{costs: c, growthLoad: l, nodes: n, callers: 2 * growCallers, cores: 2, databaseCores: 8, trip: 250}, .5)
			if n == 1 {
				first = o
			}
			if linear == n-1 && o.perSecond >= .9*float64(n)*first.perSecond {
				linear = n
			}
			if n == 1 || n == 4 || n == 16 {
				s.table.add("%s | %d | %.0f | %.1f | %.0f %% | %.0f %% | %.0f %% | %.0f %% | %s", l.words, n, o.perSecond, o.perSecond/first.perSecond,
					100*o.node, 100*o.database, 100*o.redis, 100*o.locked, o.bound())
			}
		}
		s.table.add("%s | linear up to %d", l.words, linear)
	}
	return s
}
