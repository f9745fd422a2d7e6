package postgres

import (
	"context"
	"slices"

	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

// Keys of advisory locks. A workspace's key is its id beside workspaceLocks.
const (
	migrationLock  int64 = 0x5045_5453_0000_0001
	accessLock     int64 = 0x5045_5453_0000_0002
	workspaceLocks int64 = 0x50 << 56
)

// The statements that load and lock rows. All transactions lock in one order:
// workspaces, orders, pets, categories, each ascending; so none waits for
// another in a circle.
const (
	// lockWorkspaces returns those that are being barred: nobody waits for that.
	// Those that are barred are asked for in a statement after the lock.
	lockWorkspaces = `SELECT w FROM unnest($1::bigint[]) w WHERE NOT pg_try_advisory_xact_lock_shared(w + $2)`

	selectRemovals = `SELECT workspace FROM removals WHERE workspace = ANY ($1::bigint[])`

	lockOrders = `SELECT o.workspace, o.id, o.pet, o.quantity, o.ship_date, o.complete
		FROM unnest($1::bigint[], $2::bigint[]) AS n (workspace, id) JOIN orders o USING (workspace, id)
		ORDER BY o.workspace, o.id FOR UPDATE OF o`

	lockPets = `SELECT p.workspace, p.id, p.name, p.category, p.status, p.quantity, p.open_orders, p.movements, p.last_movement
		FROM unnest($1::bigint[], $2::bigint[]) AS n (workspace, id) JOIN pets p USING (workspace, id)
		ORDER BY p.workspace, p.id FOR UPDATE OF p`

	lockPetsOfOrders = `SELECT p.workspace, p.id, p.name, p.category, p.status, p.quantity, p.open_orders, p.movements, p.last_movement
		FROM (SELECT workspace, id FROM unnest($1::bigint[], $2::bigint[]) AS n (workspace, id)
			UNION SELECT o.workspace, o.pet FROM unnest($3::bigint[], $4::bigint[]) AS n (workspace, id) JOIN orders o USING (workspace, id)) n
		JOIN pets p USING (workspace, id)
		ORDER BY p.workspace, p.id FOR UPDATE OF p`

	// A lock that lets others refer to the category, but not change it.
	lockCategories = `SELECT c.workspace, c.id, c.name, c.description
		FROM unnest($1::bigint[], $2::bigint[]) AS n (workspace, id) JOIN categories c USING (workspace, id)
		ORDER BY c.workspace, c.id FOR NO KEY UPDATE OF c`

	// A lock that waits for those who refer to the category.
	lockCategoryToDrop = `SELECT workspace, id, name, description FROM categories WHERE workspace = $1 AND id = $2 FOR UPDATE`

	// Asked in a statement after the lock, to see who referred meanwhile.
	selectCategoryUse = `SELECT EXISTS (SELECT 1 FROM pets WHERE workspace = $1 AND category = $2)`

	selectReceipts = `SELECT r.workspace, r.operation, r.key, r.fingerprint, r.created_at, r.row_id, r.body
		FROM unnest($1::bigint[], $2::text[], $3::text[]) AS n (workspace, operation, key)
		JOIN receipts r USING (workspace, operation, key)`
)

// keys are the keys of rows, as two columns.
type keys struct{ workspaces, ids []int64 }

// sorted returns keys in their order, each once.
func sorted(of []rowID) (k keys) {
	slices.SortFunc(of, compareRowIDs)
	for _, id := range slices.Compact(of) {
		k.workspaces, k.ids = append(k.workspaces, id.workspace), append(k.ids, id.id)
	}
	return k
}

// keysToLoad are the keys of the rows that a group needs.
type keysToLoad struct {
	workspaces               []int64
	orders, pets, categories []rowID
	receipts                 []receiptID
}

func (g *group) keysToLoad() (w keysToLoad) {
	for i := range g.changes {
		c := g.changes[i].Job.change
		w.workspaces = append(w.workspaces, c.Workspace)
		if id := c.Needs.OrderID; id != 0 {
			w.orders = append(w.orders, rowID{c.Workspace, id})
		}
		if id := c.Needs.PetID; id != 0 {
			w.pets = append(w.pets, rowID{c.Workspace, id})
		}
		if id := c.Needs.CategoryID; id != 0 {
			w.categories = append(w.categories, rowID{c.Workspace, id})
		}
		if c.Idempotency != nil {
			w.receipts = append(w.receipts, idOf(c))
		}
	}
	slices.Sort(w.workspaces)
	w.workspaces = slices.Compact(w.workspaces)
	return w
}

// load begins the transaction and loads and locks what the group needs, in one
// round trip.
func (g *group) load(ctx context.Context, c *pgx.Conn) error {
	w, b := g.keysToLoad(), new(pgx.Batch)
	b.Queue("BEGIN")
	queueBarred(b, w.workspaces, g.busy)
	g.queueOrdersAndPets(b, w)
	g.queueCategories(b, w)
	g.queueReceipts(b, w)
	return c.SendBatch(ctx, b).Close()
}

// queueBarred keeps workspaces from being barred until the commit, and notes those
// that are.
func queueBarred(b *pgx.Batch, workspaces []int64, barred map[int64]bool) {
	note := each(func(row pgx.Rows) error {
		var id int64
		err := row.Scan(&id)
		barred[id] = true
		return err
	})
	b.Queue(lockWorkspaces, workspaces, workspaceLocks).Query(note)
	b.Queue(selectRemovals, workspaces).Query(note)
}

// each calls f for every row.
func each(f func(pgx.Rows) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		for rows.Next() {
			if err := f(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

func (g *group) queueOrdersAndPets(b *pgx.Batch, w keysToLoad) {
	orders, pets := sorted(w.orders), sorted(w.pets)
	if len(orders.ids) > 0 {
		b.Queue(lockOrders, orders.workspaces, orders.ids).Query(each(func(row pgx.Rows) error {
			var workspace int64
			o := new(petstore.Order)
			err := scanOrder(row, o, &workspace) // with the workspace first
			g.orders[rowID{workspace, o.ID}] = o
			return err
		}))
	}
	read := each(func(row pgx.Rows) error {
		var workspace int64
		var last int64
		p := new(petstore.StockedPet)
		err := row.Scan(&workspace, &p.ID, &p.Name, &p.CategoryID, &p.Status, &p.Quantity, &p.OpenOrders, &p.Movements, &last)
		g.pets[rowID{workspace, p.ID}], g.last[rowID{workspace, p.ID}] = p, last
		return err
	})
	switch {
	case len(orders.ids) > 0:
		b.Queue(lockPetsOfOrders, pets.workspaces, pets.ids, orders.workspaces, orders.ids).Query(read)
	case len(pets.ids) > 0:
		b.Queue(lockPets, pets.workspaces, pets.ids).Query(read)
	}
}

func (g *group) queueCategories(b *pgx.Batch, w keysToLoad) {
	read := each(func(row pgx.Rows) error {
		var workspace int64
		c := new(petstore.Category)
		err := row.Scan(&workspace, &c.ID, &c.Name, &c.Description)
		g.categories[rowID{workspace, c.ID}] = c
		return err
	})
	if g.changes[0].Job.alone() {
		c := g.changes[0].Job.change
		id := rowID{c.Workspace, c.Needs.CategoryID}
		b.Queue(lockCategoryToDrop, id.workspace, id.id).Query(read)
		b.Queue(selectCategoryUse, id.workspace, id.id).QueryRow(func(row pgx.Row) error {
			var used bool
			err := row.Scan(&used)
			g.inUse[id] = used
			return err
		})
		return
	}
	if categories := sorted(w.categories); len(categories.ids) > 0 {
		b.Queue(lockCategories, categories.workspaces, categories.ids).Query(read)
	}
}

func (g *group) queueReceipts(b *pgx.Batch, w keysToLoad) {
	if len(w.receipts) == 0 {
		return
	}
	workspaces, operations, texts := make([]int64, len(w.receipts)), make([]string, len(w.receipts)), make([]string, len(w.receipts))
	for i, r := range w.receipts {
		workspaces[i], operations[i], texts[i] = r.workspace, r.operation, r.key
	}
	b.Queue(selectReceipts, workspaces, operations, texts).Query(each(func(row pgx.Rows) error {
		var (
			id          receiptID
			stored      storedReceipt
			fingerprint []byte
		)
		stored.created.Valid = true
		err := row.Scan(&id.workspace, &id.operation, &id.key, &fingerprint, &stored.created.Millis, &stored.ID, &stored.Body)
		copy(stored.fingerprint[:], fingerprint)
		g.receipts[id] = stored
		return err
	}))
}
