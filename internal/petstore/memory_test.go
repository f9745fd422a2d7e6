package petstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// memory is a Store in maps under a mutex: the model of what a store must do.
type memory struct {
	now func() time.Time

	mu       sync.Mutex
	shops    map[int64]*rows
	receipts map[receiptKey]keptReceipt
	asked    int // how often a Decide was asked
}

type rows struct {
	pets       map[int64]StockedPet
	categories map[int64]Category
	orders     map[int64]Order
	ledger     map[int64][]Movement
	lastID     int64
}

type receiptKey struct {
	workspace      int64
	operation, key string
}

type keptReceipt struct {
	Receipt
	fingerprint [32]byte
	at          Time
}

var _ Store = (*memory)(nil)

func newMemory(now func() time.Time) *memory {
	return &memory{now: now, shops: map[int64]*rows{}, receipts: map[receiptKey]keptReceipt{}}
}

// shop returns the rows of a workspace; m.mu is held.
func (m *memory) shop(workspace int64) *rows {
	if m.shops[workspace] == nil {
		m.shops[workspace] = &rows{
			pets: map[int64]StockedPet{}, categories: map[int64]Category{},
			orders: map[int64]Order{}, ledger: map[int64][]Movement{},
		}
	}
	return m.shops[workspace]
}

// view runs f on the rows of a workspace.
func (m *memory) view(workspace int64, f func(*rows)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m.shop(workspace))
}

func (m *memory) Do(ctx context.Context, c *Change) (*Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := At(m.now())
	before, err := m.replay(c, now)
	if before != nil || err != nil {
		return before, err
	}
	r := m.shop(c.Workspace)
	m.asked++
	e, err := c.Ask(r.load(c.Needs, now))
	if err != nil {
		return nil, err
	}
	r.keep(e)
	if i := c.Idempotency; i != nil {
		m.receipts[receiptKey{c.Workspace, i.Operation, i.Key}] = keptReceipt{c.Receipt(), i.Fingerprint, now}
	}
	return nil, nil
}

func (m *memory) replay(c *Change, now Time) (*Receipt, error) {
	i := c.Idempotency
	if i == nil {
		return nil, nil
	}
	kept, found := m.receipts[receiptKey{c.Workspace, i.Operation, i.Key}]
	if !found {
		return nil, nil
	}
	again, err := i.Replay(kept.fingerprint, kept.at, now)
	if err != nil || !again {
		return nil, err
	}
	return &kept.Receipt, nil
}

// load returns copies of the rows that are needed.
func (r *rows) load(n Needs, now Time) Facts {
	f := Facts{Now: now}
	if o, ok := r.orders[n.OrderID]; ok {
		f.Order = &o
		n.PetID = o.PetID
	}
	if p, ok := r.pets[n.PetID]; ok {
		f.Pet = &p
	}
	if c, ok := r.categories[n.CategoryID]; ok {
		f.Category = &c
	}
	if n.CategoryUse {
		for _, p := range r.pets {
			f.CategoryInUse = f.CategoryInUse || p.CategoryID == n.CategoryID
		}
	}
	return f
}

// keep writes the effects.
func (r *rows) keep(e Effects) {
	if p := e.SavePet; p != nil {
		r.number(&p.ID)
	}
	if c := e.SaveCategory; c != nil {
		r.number(&c.ID)
		r.categories[c.ID] = *c
	}
	if o := e.SaveOrder; o != nil {
		r.number(&o.ID)
		r.orders[o.ID] = *o
	}
	e.Link()
	if p := e.SavePet; p != nil {
		r.pets[p.ID] = *p
	}
	if v := e.Movement; v != nil {
		r.ledger[v.PetID] = append(r.ledger[v.PetID], *v)
	}
	delete(r.pets, e.DropPet)
	delete(r.categories, e.DropCategory)
	delete(r.orders, e.DropOrder)
}

// number gives a new row the next id.
func (r *rows) number(id *int64) {
	if *id == 0 {
		r.lastID++
		*id = r.lastID
	}
}

func (m *memory) Pet(_ context.Context, workspace, id int64) (Pet, error) {
	p, err := find(m, workspace, id, func(r *rows) map[int64]StockedPet { return r.pets }, NoPet)
	return p.Pet, err
}

func (m *memory) InventoryItem(_ context.Context, workspace, petID int64) (InventoryItem, error) {
	p, err := find(m, workspace, petID, func(r *rows) map[int64]StockedPet { return r.pets }, NoPet)
	return p.Item(), err
}

func (m *memory) Category(_ context.Context, workspace, id int64) (Category, error) {
	return find(m, workspace, id, func(r *rows) map[int64]Category { return r.categories }, NoCategory)
}

func (m *memory) Order(_ context.Context, workspace, id int64) (Order, error) {
	return find(m, workspace, id, func(r *rows) map[int64]Order { return r.orders }, NoOrder)
}

func find[T any](m *memory, workspace, id int64, of func(*rows) map[int64]T, missing func(int64) *Error) (row T, err error) {
	m.view(workspace, func(r *rows) {
		var ok bool
		if row, ok = of(r)[id]; !ok {
			err = missing(id)
		}
	})
	return row, err
}

func (m *memory) Pets(_ context.Context, workspace int64, q PetQuery) ([]Pet, error) {
	return list(m, workspace, q.Page, func(r *rows) []Pet {
		var pets []Pet
		for _, pet := range r.pets {
			if (len(q.IDs) == 0 || slices.Contains(q.IDs, pet.ID)) &&
				(len(q.Statuses) == 0 || slices.Contains(q.Statuses, pet.Status)) &&
				(q.CategoryID == 0 || q.CategoryID == pet.CategoryID) &&
				strings.Contains(Fold(pet.Name), q.Name) {
				pets = append(pets, pet.Pet)
			}
		}
		return pets
	}, func(p Pet) int64 { return p.ID }), nil
}

func (m *memory) Categories(_ context.Context, workspace int64, q CategoryQuery) ([]Category, error) {
	return list(m, workspace, q.Page, func(r *rows) []Category {
		return slices.DeleteFunc(slices.Collect(maps.Values(r.categories)), func(c Category) bool {
			return !strings.Contains(Fold(c.Name), q.Name)
		})
	}, func(c Category) int64 { return c.ID }), nil
}

func (m *memory) Orders(_ context.Context, workspace int64, q OrderQuery) ([]Order, error) {
	return list(m, workspace, q.Page, func(r *rows) []Order {
		return slices.DeleteFunc(slices.Collect(maps.Values(r.orders)), func(o Order) bool {
			return q.PetID != 0 && q.PetID != o.PetID ||
				q.Complete != nil && *q.Complete != o.Complete ||
				q.ShipDateFrom.Valid && (!o.ShipDate.Valid || o.ShipDate.Millis < q.ShipDateFrom.Millis) ||
				q.ShipDateTo.Valid && (!o.ShipDate.Valid || o.ShipDate.Millis > q.ShipDateTo.Millis)
		})
	}, func(o Order) int64 { return o.ID }), nil
}

func (m *memory) Inventory(_ context.Context, workspace int64, q InventoryQuery) ([]InventoryItem, error) {
	return list(m, workspace, q.Page, func(r *rows) []InventoryItem {
		var items []InventoryItem
		for _, p := range r.pets {
			if (len(q.Statuses) == 0 || slices.Contains(q.Statuses, p.Status)) &&
				(q.MaxQuantity == nil || p.Quantity <= *q.MaxQuantity) {
				items = append(items, p.Item())
			}
		}
		return items
	}, func(i InventoryItem) int64 { return i.PetID }), nil
}

// list returns the page of what is chosen, in the order of ids.
func list[T any](m *memory, workspace int64, p Page, choose func(*rows) []T, id func(T) int64) (page []T) {
	m.view(workspace, func(r *rows) {
		page = slices.DeleteFunc(choose(r), func(row T) bool { return !p.Has(id(row)) })
		slices.SortFunc(page, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
		if p.Newest {
			slices.Reverse(page)
		}
		page = page[:min(len(page), p.Limit)]
	})
	return page
}

func (m *memory) Movements(_ context.Context, workspace, petID, from int64, limit int) (page []Movement, next int64, _ error) {
	m.view(workspace, func(r *rows) {
		ledger := r.ledger[petID]
		if from == 0 {
			from = int64(len(ledger))
		}
		for next = from; next > 0 && len(page) < limit; next-- {
			page = append(page, ledger[next-1])
		}
	})
	return page, next, nil
}

func (m *memory) Forget(context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.receipts)
	maps.DeleteFunc(m.receipts, func(_ receiptKey, r keptReceipt) bool { return r.at.Millis < m.now().Add(-KeepReceipts).UnixMilli() })
	return n - len(m.receipts), nil
}
