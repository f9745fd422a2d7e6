package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"github.com/jackc/pgx/v5"
)

var _ petstore.Bulk = (*DB)(nil)

// Load implements [petstore.Bulk]. Nodes go on beside it: it locks nothing of
// theirs but the categories that it refers to, against being deleted. A commit
// whose answer was lost is looked up, so that an error means that nothing of the
// batch was kept, unless it says that this is not known.
func (db *DB) Load(ctx context.Context, workspace int64, b *petstore.Batch) ([]petstore.Refusal, error) {
	l := &load{db: db, workspace: workspace, batch: b}
	err := db.change(ctx, func(x *txn) error {
		if err := l.reserve(ctx); err != nil {
			return err
		}
		l.begin()
		return l.run(x)
	})
	if l.committed(ctx, db, err) {
		err = nil
	}
	switch {
	case errors.Is(err, petstore.ErrRefused):
		return l.refused, nil
	case err != nil:
		return nil, err
	}
	db.written(workspace)
	db.analyze(ctx, int64(len(b.Units)))
	return l.refused, nil
}

// analyze gathers the planner's statistics each time that ten times as much was loaded,
// after so many units. A minute later autovacuum does; until then reads would keep plans
// that were made for small tables.
func (db *DB) analyze(ctx context.Context, units int64) {
	loaded := db.loaded.Add(units)
	for enough := int64(10_000); enough <= loaded; enough *= 10 {
		if loaded-units < enough {
			if _, err := db.writer.Exec(ctx, "ANALYZE categories, pets, orders, movements"); err != nil {
				db.log.Warn("statistics were not gathered after a load", "database", db.name, "err", err)
			}
		}
	}
}

// A load is one batch on its way into the store.
type load struct {
	db        *DB
	workspace int64
	batch     *petstore.Batch
	first     demand // the ids before those that were issued for it

	next     demand
	issued   []*int64 // where an id was written that is void if the batch is tried again
	refused  []petstore.Refusal
	existing found
	rows     writes
	xid      string // of the transaction whose outcome counts
}

// begin forgets an earlier try, and takes back its ids.
func (l *load) begin() {
	for _, id := range l.issued {
		*id = 0
	}
	l.issued = nil
	l.next, l.refused, l.rows, l.xid = l.first, nil, writes{}, ""
	l.existing = newFound()
}

// reserve takes the ids that new rows need from the counters, in a transaction
// of its own: nobody waits at a counter for the batch.
func (l *load) reserve(ctx context.Context) error {
	var need demand
	for i := range l.batch.Units {
		u := &l.batch.Units[i]
		need.movements += int64(len(u.Movements))
		switch {
		case u.Category != nil && u.Category.ID == 0:
			need.categories++
		case u.Category == nil && u.PetID == 0:
			need.pets++
		}
	}
	if need == (demand{}) {
		return nil
	}
	issued, err := issue(ctx, l.db.issuers, map[int64]*demand{l.workspace: &need})
	if err != nil {
		return err
	}
	first := issued[l.workspace]
	if first == nil {
		return hasWorkspace(ctx, l.db.issuers, l.workspace)
	}
	if max(first.categories+need.categories, first.pets+need.pets, first.movements+need.movements) > petstore.MaxID {
		return usedUp(l.workspace)
	}
	l.first = *first
	return nil
}

func usedUp(workspace int64) error {
	return &ownError{fmt.Sprintf("workspace %d has used up its ids", workspace)}
}

func (l *load) run(x *txn) error {
	if err := l.loadExisting(x); err != nil {
		return err
	}
	var err error
	if l.refused, err = l.batch.Sift(l.has, l.keep); err != nil {
		return err
	}
	if l.batch.File != "" {
		if err := store.Reach(accessTx{x.ctx, x}, l.workspace, l.batch.File, l.batch.Through); err != nil {
			return err
		}
	}
	return l.write(x)
}

// keep gives a unit its ids and puts its rows among those to write.
func (l *load) keep(u *petstore.Unit) error {
	if c := u.Category; c != nil {
		l.issue(&c.ID, &l.next.categories)
		l.existing[petstore.CategoryRow][c.ID] = true
		l.rows.categories.save(rowID{l.workspace, c.ID}, c, true)
		return nil
	}
	if p := u.Pet; p != nil {
		if u.PetID == 0 {
			l.issue(&u.PetID, &l.next.pets)
			p.ID = u.PetID
			l.issued = append(l.issued, &p.ID)
		}
		l.existing[petstore.PetRow][u.PetID] = true
		last := l.next.movements + int64(len(u.Movements))
		l.rows.pets.save(rowID{l.workspace, p.ID}, &storedPet{*p, last}, true)
	}
	for i := range u.Orders {
		o := &u.Orders[i]
		l.existing[petstore.OrderRow][o.ID] = true
		l.rows.orders.save(rowID{l.workspace, o.ID}, o, true)
	}
	before := int64(0)
	for _, m := range u.Movements {
		m.PetID = u.PetID
		l.next.movements++
		l.existing[petstore.LedgerRow][u.PetID] = true
		l.rows.movements = append(l.rows.movements, movementTable.values(l.workspace, &storedMovement{m, l.next.movements, before}))
		before = l.next.movements
	}
	return nil
}

// issue writes the next id to *id unless there is one.
func (l *load) issue(id, last *int64) {
	if issueTo(id, last) {
		l.issued = append(l.issued, id)
	}
}

// raiseCounters keeps ids that a batch brought along from being issued again.
// Where they stand above them already, nobody's counter is locked.
const raiseCounters = `UPDATE counters SET categories = greatest(categories, $2), pets = greatest(pets, $3), orders = greatest(orders, $4)
	WHERE workspace = $1 AND (categories < $2 OR pets < $3 OR orders < $4)`

func (l *load) write(x *txn) error {
	last := l.batch.Last
	for id := range l.rows.categories.made {
		last.Categories = max(last.Categories, id.id)
	}
	for id := range l.existing[petstore.PetRow] {
		last.Pets = max(last.Pets, id)
	}
	for id := range l.existing[petstore.LedgerRow] { // of deleted pets too
		last.Pets = max(last.Pets, id)
	}
	for id := range l.rows.orders.made {
		last.Orders = max(last.Orders, id.id)
	}
	if max(last.Categories, last.Pets, last.Orders) > petstore.MaxID {
		return usedUp(l.workspace)
	}
	for _, fill := range []func() error{
		func() error { return categoryTable.fill(x.ctx, x, categoryTable.rows(l.rows.categories.made)) },
		func() error { return petTable.fill(x.ctx, x, petTable.rows(l.rows.pets.made)) },
		func() error { return orderTable.fill(x.ctx, x, orderTable.rows(l.rows.orders.made)) },
		func() error { return movementTable.fill(x.ctx, x, l.rows.movements) },
	} {
		if err := fill(); err != nil {
			return err
		}
	}
	b := new(pgx.Batch)
	b.Queue(raiseCounters, l.workspace, last.Categories, last.Pets, last.Orders)
	b.Queue("SELECT pg_current_xact_id()::text").QueryRow(func(row pgx.Row) error { return row.Scan(&l.xid) })
	if err := x.SendBatch(x.ctx, b).Close(); err != nil || l.batch.Imported == nil {
		return err
	}
	return l.db.Tell(accessTx{x.ctx, x}, l.workspace, petstore.CatalogueImported, l.batch.Imported.AppendJSON(nil))
}

// settleTimeout is how long a server that was lost at a commit is waited for.
const settleTimeout = 5 * time.Second

// committed reports whether the transaction is known to have been committed,
// though err came back: the server keeps its outcome.
func (l *load) committed(ctx context.Context, db *DB, err error) bool {
	unknown := petstore.CodeOf(err) == petstore.CodeServiceUnavailable && !errors.Is(err, errUnconfirmed)
	if !unknown || l.xid == "" || ctx.Err() != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for n := 0; ; n++ {
		var outcome *string
		err := db.writer.QueryRow(ctx, "SELECT pg_xact_status($1::text::xid8)", l.xid).Scan(&outcome)
		if err == nil && outcome != nil && *outcome != "in progress" {
			return *outcome == "committed"
		}
		if err != nil && !lost(err) || pause(ctx, min(n, 4)) != nil {
			return false
		}
	}
}
