package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/sqlite"
)

// ordersPerPet is how many orders each pet of a grown shop has: two sales, and
// one that is open.
const ordersPerPet = 3

// grown compares a big shop with a small one. Sizes are in bytes.
type grown struct {
	Date       string     `json:"date"`
	Pets       [2]int     `json:"pets"`
	FileMiB    float64    `json:"fileMiB"`
	FillSecs   float64    `json:"fillSeconds"`
	Start      spread     `json:"startMillis"`
	Idle       float64    `json:"idleMiB"`
	Loaded     float64    `json:"loadedMiB"`
	Order      float64    `json:"bytesPerOrder"`      // of the big file: the order, its indexes and its movement
	Ledger     float64    `json:"ledgerPerOrder"`     // the movement among them
	LiveOrder  float64    `json:"liveBytesPerOrder"`  // the growth of the small file by orders of any pets
	LiveLedger float64    `json:"liveLedgerPerOrder"` // the movements among it
	Sound      bool       `json:"sound"`              // as doctor checks it
	Loose      bool       `json:"loose,omitempty"`    // the kernel may have given away parts of the files meanwhile
	Rows       []grownRow `json:"rows"`
}

// A grownRow is one operation's cost at both sizes: the processor time of one
// among those of all callers, and what a caller waits for one that is alone.
type grownRow struct {
	Name  string  `json:"name"`
	Small float64 `json:"smallCPUMicros"`
	Big   float64 `json:"bigCPUMicros"`
	Ratio float64 `json:"ratio"`
	P99   float64 `json:"bigP99Micros"`
	Rate  spread  `json:"bigRateOfSmall"`

	SmallAlone float64 `json:"smallAloneP50Micros"`
	BigAlone   float64 `json:"bigAloneP50Micros"`
	OfAlone    spread  `json:"aloneRatio"` // of the rounds' medians
}

// growShop fills a database with pets and their orders, in the order of their
// ids, each order with its movement, so that the ledger adds up.
func growShop(ctx context.Context, path string, pets int) (*shop, error) {
	s, err := fill(ctx, path, 0)
	if err != nil {
		return nil, err
	}
	s.pets = pets
	conn, err := driver.OpenConn(path, driver.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetInterrupt(ctx.Done())
	for _, pragma := range []string{"PRAGMA synchronous=OFF", "PRAGMA cache_size=-262144"} {
		if err := sqlitex.ExecuteTransient(conn, pragma, nil); err != nil {
			return nil, err
		}
	}
	if err := conn.CreateFunction("orders_of", &driver.FunctionImpl{NArgs: 1, Deterministic: true, Scalar: ordersOf}); err != nil {
		return nil, err
	}
	const part = 200_000 // pets in a transaction: what it writes is in the log until it ends
	for from := 0; from < pets; from += part {
		if err := growPart(conn, from+1, min(from+part, pets)); err != nil {
			return nil, fmt.Errorf("pets from %d on: %w", from+1, err)
		}
	}
	if err := indexNames(ctx, path); err != nil {
		return nil, err
	}
	return s, sqlitex.ExecuteTransient(conn, "PRAGMA wal_checkpoint(TRUNCATE)", nil)
}

// ordersOf returns what the row of a pet says of its orders, as growPart writes
// them.
func ordersOf(_ driver.Context, pet []driver.Value) (driver.Value, error) {
	first := (pet[0].Int64()-1)*ordersPerPet + 1
	column, ok := sqlite.AppendRecent(nil, petstore.Order{ID: first, Complete: true}, petstore.Order{ID: first + 1, Complete: true}, petstore.Order{ID: first + 2})
	if !ok {
		return driver.Value{}, errors.New("the orders of a pet have no room in its row")
	}
	return driver.BlobValue(column), nil
}

// growPart writes the pets from first to last, of workspace 1.
func growPart(conn *driver.Conn, first, last int) (err error) {
	defer sqlitex.Transaction(conn)(&err)
	const numbers = "WITH RECURSIVE n (i) AS (SELECT :first UNION ALL SELECT i+1 FROM n WHERE i < :last), k (k) AS (VALUES (0), (1), (2), (3)) "
	now := time.Now().UnixMilli()
	for _, part := range []struct {
		query string
		more  map[string]any
	}{
		{numbers + `INSERT INTO pets (workspace, id, name, category, status, quantity, open_orders, movements, last_entry, level, folded, recent)
			SELECT 1, i, printf('Beagle %07d', i), 1 + i % :categories, CASE i % 10 WHEN 3 THEN 'pending' ELSE 'available' END,
				:stock - 3, 1, 4, i*4, :level, printf('beagle %07d', i), orders_of(i) FROM n`, map[string]any{":categories": categories, ":stock": stock, ":level": sqlite.LevelOf(stock - ordersPerPet)}},
		{numbers + `INSERT INTO movements (workspace, entry, before, pet, number, kind, order_id, delta, quantity, at)
			SELECT 1, (i-1)*4 + k+1, iif(k=0, 0, (i-1)*4 + k), i, k+1, CASE k WHEN 0 THEN 'created' WHEN 3 THEN 'placed' ELSE 'sale' END,
				iif(k=0, NULL, (i-1)*3 + k), iif(k=0, :stock, -1), :stock - k, :now FROM n, k`, map[string]any{":stock": stock, ":now": now}},
		{numbers + `INSERT INTO orders (workspace, id, pet, quantity, ship_date, complete)
			SELECT 1, (i-1)*3 + k, i, 1, iif(k=3, NULL, :now + i), k<3 FROM n, k WHERE k>0`, map[string]any{":now": now}},
		{"UPDATE counters SET pets = :last, orders = :last * 3, entries = :last * 4 WHERE workspace = 1 AND :first > 0", nil},
	} {
		named := map[string]any{":first": first, ":last": last}
		for name, value := range part.more {
			named[name] = value
		}
		if err := sqlitex.ExecuteTransient(conn, part.query, &sqlitex.ExecOptions{Named: named}); err != nil {
			return err
		}
	}
	return nil
}

// grow makes both shops, measures and prints.
func grow(ctx context.Context, s *settings) error {
	dir, err := os.MkdirTemp(s.dir, "petstore-bench-")
	if err != nil {
		return err
	}
	b := &bench{settings: s, dir: dir}
	g, err := b.measureGrown(ctx)
	if err == nil {
		g.table().text(os.Stdout) // what comes now takes minutes
		say("checking the ledger, as doctor does")
		g.Sound, err = sound(ctx, b.bigShop())
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return err
	}
	if !g.Sound {
		return errors.New("the ledger of the large shop is not sound")
	}
	for _, note := range g.notes() {
		say("%s", note)
	}
	return keepGrown(s.results, g)
}

// bigShop is the file of the large shop.
func (b *bench) bigShop() string { return filepath.Join(b.dir, "big.db") }

// measureGrown compares a shop of s.grown pets with one of 10,000.
func (b *bench) measureGrown(ctx context.Context) (g *grown, err error) {
	if b.binary, err = build(ctx, b.settings, b.dir); err != nil {
		return nil, err
	}
	g = &grown{Pets: [2]int{alonePets, b.grown}}
	small, err := growShop(ctx, filepath.Join(b.dir, "small.db"), g.Pets[0])
	if err != nil {
		return nil, err
	}
	say("filling %d pets and %d orders", b.grown, b.grown*ordersPerPet)
	began := time.Now()
	big, err := growShop(ctx, b.bigShop(), b.grown)
	if err != nil {
		return nil, err
	}
	g.FillSecs = time.Since(began).Seconds()
	if g.FileMiB, err = fileMiB(big.path); err != nil {
		return nil, err
	}
	if g.Order, g.Ledger, err = perOrder(big.path, b.grown*ordersPerPet); err != nil {
		return nil, err
	}
	if g.Start, g.Idle, err = b.startsOf(ctx, big); err != nil {
		return nil, err
	}
	if err := b.compareGrown(ctx, g, small, big); err != nil {
		return nil, err
	}
	g.LiveOrder, g.LiveLedger, err = b.live(ctx, small)
	return g, err
}

// compareGrown has both shops take turns in every row.
func (b *bench) compareGrown(ctx context.Context, g *grown, small, big *shop) (err error) {
	var sides []*side
	for _, s := range []*shop{small, big} {
		release, held, failed := hold(s.path)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, release()) }()
		g.Loose = g.Loose || !held
		p, _, failed := startServer(ctx, b.binary, s.path)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, p.stop()) }()
		w, failed := newWorld(ctx, p, s)
		if failed != nil {
			return failed
		}
		sides = append(sides, &side{name: fmt.Sprintf("%d pets", s.pets), process: p, world: w})
	}
	for _, r := range grownRows() {
		if !b.rows.MatchString(r.name) {
			continue
		}
		say("%s", r.name)
		row, err := b.compareRow(ctx, &r, sides)
		if err != nil {
			return err
		}
		g.Rows = append(g.Rows, *row)
	}
	_, most, err := sides[1].process.memory()
	g.Loaded = mib(most)
	return err
}

// compareRow measures a row, and then its operation alone.
func (b *bench) compareRow(ctx context.Context, r *row, sides []*side) (*grownRow, error) {
	if err := b.grownTurns(ctx, r, sides, b.round); err != nil {
		return nil, err
	}
	row := &grownRow{Name: r.name, Small: perRequest(sides[0].samples), Big: perRequest(sides[1].samples)}
	row.Ratio = row.Big / max(row.Small, .001)
	row.P99 = spreadOf(each(sides[1].samples, func(s *sample) float64 { return micros(s.quantile(.99)) })).Median
	row.Rate = spreadOf(ratios(sides[1].samples, sides[0].samples))
	if r.callers > 1 {
		single := *r
		single.callers = 1
		if err := b.grownTurns(ctx, &single, sides, b.round/2); err != nil {
			return nil, err
		}
	}
	small, big := each(sides[0].samples, medianMicros), each(sides[1].samples, medianMicros)
	row.SmallAlone, row.BigAlone = spreadOf(small).Median, spreadOf(big).Median
	row.OfAlone = spreadOf(quotients(big, small))
	return row, nil
}

func medianMicros(s *sample) float64 { return micros(s.quantile(.5)) }

// grownTurns has both sides take turns, and empties their logs.
func (b *bench) grownTurns(ctx context.Context, r *row, sides []*side, long time.Duration) error {
	if err := b.haveTurns(ctx, r, sides, b.rounds, long); err != nil {
		return err
	}
	for _, s := range sides {
		if err := s.process.log.Truncate(0); err != nil {
			return err
		}
	}
	return nil
}

// grownRows returns the operations that are compared. Some pets are more popular
// than others, as in the row of GET one; where all are alike, and in filters that
// match nothing, it is the worst there can be.
func grownRows() []row {
	path := func(text string) func([]byte, *world, *rand.Rand) []byte {
		return func(dst []byte, w *world, _ *rand.Rand) []byte {
			return head(append(append(dst, "GET "...), text...), w.shop.key)
		}
	}
	near := func(text string, id func(*world, *rand.Rand) int64) func([]byte, *world, *rand.Rand) []byte {
		return func(dst []byte, w *world, r *rand.Rand) []byte {
			return head(strconv.AppendInt(append(append(dst, "GET "...), text...), id(w, r), 10), w.shop.key)
		}
	}
	filter := func(name string, f func([]byte, *world, *rand.Rand) []byte) row {
		return row{name: name, callers: 1, want: 200, request: f} // may read the whole shop
	}
	anyOrder := func(w *world, r *rand.Rand) int64 { return 1 + r.Int64N(int64(w.shop.pets)*ordersPerPet) }
	read := func(name string, f func([]byte, *world, *rand.Rand) []byte) row {
		return row{name: name, callers: readers, want: 200, request: f}
	}
	warm := func(name string, f func([]byte, *world, *rand.Rand) []byte) row {
		r := read(name, f)
		r.warm = time.Second
		return r
	}
	return []row{
		warm("getPet", getPopular), read("getPet, all alike", getPet), read("listPets, id", getSuccessor), read("listPets", listFirst), read("listPets, deep", listDeep),
		read("listPets, status", path("/pets?status=pending")), read("listPets, three statuses", path("/pets?status=available&status=pending&status=sold")),
		read("listPets, category and status", path("/pets?categoryId=4&status=pending")),
		read("listPets, category and a status that none has", path("/pets?categoryId=5&status=sold")),
		filter("listPets, name", path("/pets?name=beagle")), filter("listPets, name of one", path("/pets?name=beagle%200009999")),
		filter("listPets, name of none", path("/pets?name=dachshund")),
		read("listCategories", path("/categories")), read("getOrder", near("/store/orders/", anyOrder)),
		read("listOrders", path("/store/orders")), read("listOrders, pet", near("/store/orders?petId=", (*world).anyPet)),
		read("listOrders, complete", path("/store/orders?complete=true")),
		filter("listOrders, ship date", path("/store/orders?shipDateFrom=2020-01-01T00:00:00Z")),
		filter("listOrders, ship date of none", path("/store/orders?shipDateFrom=2090-01-01T00:00:00Z")),
		warm("getInventoryItem", near("/inventory/", (*world).popularPet)), read("getInventoryItem, all alike", near("/inventory/", (*world).anyPet)), read("listInventory", path("/inventory")),
		read("listInventory, status", path("/inventory?status=pending")),
		filter("listInventory, quantity of none", path("/inventory?maxQuantity=1")),
		{name: "createPet", callers: 64, want: 201, request: createPet},
		{name: "createOrder", callers: 64, want: 201, request: orderPopular},
		{name: "createOrder, all alike", callers: 64, want: 201, request: orderEven},
		{name: "updateInventory", callers: 64, want: 200, request: setStock},
		{name: "updatePet, status", callers: 64, want: 200, request: setStatus},
		{name: "updatePet, a digit of the name", callers: 64, want: 200, request: correct},
		{name: "updatePet, name", callers: 64, want: 200, request: rename},
	}
}

// orderEven orders a pet that is available, orderPopular one that is popular, too.
func orderEven(dst []byte, w *world, r *rand.Rand) []byte {
	return order(dst, w, firstOfTen(w.anyPet(r)))
}

func orderPopular(dst []byte, w *world, r *rand.Rand) []byte {
	return order(dst, w, firstOfTen(w.popularPet(r)))
}

// firstOfTen returns the id of a pet that is available, next to another.
func firstOfTen(id int64) int64 { return (id-1)/10*10 + 1 }

func setStock(dst []byte, w *world, r *rand.Rand) []byte {
	return patch(dst, w, "/inventory/", w.anyPet(r), fmt.Sprintf(`{"quantity":%d}`, 900_000_000+r.IntN(1000)))
}

// setStatus makes an animal that nobody orders here pending, or available again.
func setStatus(dst []byte, w *world, r *rand.Rand) []byte {
	id := firstOfTen(w.anyPet(r)) + 1
	status := "pending"
	if w.pending[id] {
		status = "available"
	}
	w.pending[id] = !w.pending[id]
	return patch(dst, w, "/pets/", id, `{"status":"`+status+`"}`)
}

// correct changes one digit of a name.
func correct(dst []byte, w *world, r *rand.Rand) []byte {
	id := w.anyPet(r)
	return patch(dst, w, "/pets/", id, fmt.Sprintf(`{"name":"Beagle %06d%d"}`, id/10, r.IntN(10)))
}

// rename gives a name of any number: its parts are mostly new among the names of
// that block, see the index in internal/sqlite/names.go.
func rename(dst []byte, w *world, r *rand.Rand) []byte {
	return patch(dst, w, "/pets/", w.anyPet(r), fmt.Sprintf(`{"name":"Beagle %07d"}`, r.IntN(1e7)))
}

func patch(dst []byte, w *world, path string, id int64, body string) []byte {
	dst = strconv.AppendInt(append(append(dst, "PATCH "...), path...), id, 10)
	dst = head(dst, w.shop.key, "Content-Type: application/json", "Content-Length: "+strconv.Itoa(len(body)))
	return append(dst, body...)
}

// startsOf measures starts on a shop.
func (b *bench) startsOf(ctx context.Context, s *shop) (spread, float64, error) {
	var starts []float64
	var idle float64
	for range b.starts {
		p, took, err := startServer(ctx, b.binary, s.path)
		if err != nil {
			return spread{}, 0, err
		}
		now, _, err := p.memory()
		if err = errors.Join(err, p.stop()); err != nil {
			return spread{}, 0, err
		}
		idle = mib(now)
		starts = append(starts, float64(took.Microseconds())/1000)
	}
	return spreadOf(starts), idle, nil
}

// live places orders of any pets and returns by how many bytes each made the
// file and the ledger grow.
func (b *bench) live(ctx context.Context, s *shop) (order, ledger float64, err error) {
	before, movements, err := sizes(s.path)
	if err != nil {
		return 0, 0, err
	}
	p, _, err := startServer(ctx, b.binary, s.path)
	if err != nil {
		return 0, 0, err
	}
	w := &world{shop: s}
	got, err := load(ctx, p, w, &row{name: "createOrder", callers: 64, want: 201, request: orderEven}, time.Duration(b.rounds)*b.round)
	if err = errors.Join(err, p.stop()); err != nil {
		return 0, 0, err
	}
	after, more, err := sizes(s.path)
	n := float64(max(1, got.all))
	return (sum(after) - sum(before)) / n, (more - movements) / n, err
}

func sum(all map[string]float64) (total float64) {
	for _, n := range all {
		total += n
	}
	return total
}

// perOrder returns what an order takes in a file that was filled in order.
func perOrder(path string, orders int) (order, ledger float64, err error) {
	all, movements, err := sizes(path)
	ledger = movements * ordersPerPet / (ordersPerPet + 1) / float64(orders)
	column, failed := ordersOf(driver.Context{}, []driver.Value{driver.IntegerValue(int64(orders / ordersPerPet))})
	recent := float64(len(column.Blob())) / ordersPerPet
	return (all["orders"]+all["orders_by_complete"]+all["orders_by_ship_day"])/float64(orders) + recent + ledger, ledger, errors.Join(err, failed)
}

// sizes returns how many bytes the pages of each table and index have, and of
// the ledger.
func sizes(path string) (all map[string]float64, movements float64, err error) {
	conn, err := driver.OpenConn(path, driver.OpenReadOnly)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	all = map[string]float64{}
	err = sqlitex.ExecuteTransient(conn, "SELECT name, pgsize FROM dbstat WHERE aggregate=TRUE", &sqlitex.ExecOptions{
		ResultFunc: func(s *driver.Stmt) error {
			all[s.ColumnText(0)] = s.ColumnFloat(1)
			return nil
		},
	})
	return all, all["movements"], err
}

// sound reports whether doctor would find nothing.
func sound(ctx context.Context, path string) (bool, error) {
	db, err := sqlite.Open(ctx, path, sqlite.Options{NoMigrate: true, LeaveNames: true})
	if err != nil {
		return false, err
	}
	problems, err := db.Check(ctx)
	for _, p := range problems {
		say("%s", p)
	}
	return len(problems) == 0, errors.Join(err, db.Close())
}
