package postgres

import (
	"maps"
	"slices"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/accesssql"
	"example.com/petstore/internal/petstore"
	"github.com/jackc/pgx/v5"
)

// A set is a set of ids.
type set map[int64]bool

func (s set) sorted() []int64 { return slices.Sorted(maps.Keys(s)) }

// found are the ids, of those that a batch names, that the store has; and then
// those of the batch's own rows.
type found struct{ categories, pets, orders, ledgers set }

// What a load asks of the ids that its batch names. The categories are locked
// against being deleted.
const (
	findOrders = `SELECT id FROM orders WHERE workspace = $1 AND id = ANY ($2::bigint[])`
	findPets   = `SELECT id FROM pets WHERE workspace = $1 AND id = ANY ($2::bigint[])`

	findLedgers = `SELECT n.pet FROM unnest($2::bigint[]) AS n (pet)
		WHERE EXISTS (SELECT 1 FROM movements m WHERE m.workspace = $1 AND m.pet = n.pet)`

	findCategories = `SELECT id FROM categories WHERE workspace = $1 AND id = ANY ($2::bigint[]) ORDER BY id FOR KEY SHARE`
)

// look finds out which ids are there already, in one round trip.
func (l *load) look(x *txn) error {
	named := l.named()
	b := new(pgx.Batch)
	barred := map[int64]bool{}
	queueBarred(b, []int64{l.workspace}, barred)
	exists := false
	b.Queue("SELECT EXISTS (SELECT 1 FROM workspaces WHERE id = $1)", l.workspace).QueryRow(func(row pgx.Row) error {
		return row.Scan(&exists)
	})
	for _, q := range []struct {
		query      string
		named, has set
	}{
		{findOrders, named.orders, l.there.orders},
		{findPets, named.pets, l.there.pets},
		{findLedgers, named.ledgers, l.there.ledgers},
		{findCategories, named.categories, l.there.categories},
	} {
		if len(q.named) == 0 {
			continue
		}
		b.Queue(q.query, l.workspace, q.named.sorted()).Query(each(func(row pgx.Rows) error {
			var id int64
			err := row.Scan(&id)
			q.has[id] = true
			return err
		}))
	}
	err := x.SendBatch(x.ctx, b).Close()
	switch {
	case err != nil:
		return err
	case !exists:
		return accesssql.NoWorkspace(l.workspace)
	case barred[l.workspace]:
		return access.Resetting()
	}
	return nil
}

// named returns the ids that the batch brings along or refers to.
func (l *load) named() found {
	n := found{categories: set{}, pets: set{}, orders: set{}, ledgers: set{}}
	add := func(to set, id int64) {
		if id != 0 {
			to[id] = true
		}
	}
	for i := range l.batch.Units {
		u := &l.batch.Units[i]
		switch {
		case u.Category != nil:
			add(n.categories, u.Category.ID)
			continue
		case u.Pet != nil && u.In != nil:
			add(n.categories, u.In.ID)
		case u.Pet != nil:
			add(n.categories, u.Pet.CategoryID)
		}
		add(n.pets, u.PetID)
		add(n.ledgers, u.PetID)
		for _, o := range u.Orders {
			add(n.orders, o.ID)
		}
	}
	return n
}

// judge returns why a unit cannot be kept, and where, in the order in which its
// rows would be written.
func (l *load) judge(u *petstore.Unit) (petstore.Place, error) {
	if c := u.Category; c != nil {
		return petstore.Place{}, free(l.there.categories, c.ID, "There is a category with the id %d already.")
	}
	if err := l.judgePet(u); err != nil {
		return petstore.Place{}, err
	}
	own := set{}
	for i, o := range u.Orders {
		if l.there.orders[o.ID] || own[o.ID] {
			return petstore.Place{Order: i + 1}, clash("There is an order with the id %d already.", o.ID)
		}
		own[o.ID] = true
	}
	if len(u.Movements) > 0 && l.there.ledgers[u.PetID] {
		return petstore.Place{Movement: 1}, clash("The pet %d has a ledger already: it was deleted, and its id is not used again.", u.PetID)
	}
	return petstore.Place{}, nil
}

func (l *load) judgePet(u *petstore.Unit) error {
	if u.Pet == nil {
		return free(l.there.pets, u.PetID, "There is a pet with the id %d already; its orders and its ledger can only come with it.")
	}
	if err := free(l.there.pets, u.PetID, "There is a pet with the id %d already."); err != nil {
		return err
	}
	category := u.Pet.CategoryID
	if u.In != nil {
		category = u.In.ID
	}
	if !l.there.categories[category] {
		return petstore.NoCategory(category)
	}
	return nil
}

// free returns an error if the id is there already; a row without one gets a
// new one.
func free(there set, id int64, format string) error {
	if id != 0 && there[id] {
		return clash(format, id)
	}
	return nil
}

func clash(format string, id int64) error {
	return petstore.Errorf(petstore.CodeValidationFailed, format, id)
}
