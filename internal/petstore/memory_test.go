package petstore

import (
	"context"
	"sync"
	"time"
)

// memory is a Store in maps under a mutex, without lists and receipts.
type memory struct {
	Store

	now func() time.Time

	mu    sync.Mutex
	shops map[int64]*rows
	asked int // how often a Decide was asked
}

type rows struct {
	pets       map[int64]StockedPet
	categories map[int64]Category
	orders     map[int64]Order
	ledger     map[int64][]Movement
	lastID     int64
}

func newMemory(now func() time.Time) *memory {
	return &memory{now: now, shops: map[int64]*rows{}}
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
	r := m.shop(c.Workspace)
	m.asked++
	e, err := c.Ask(r.load(c.Needs, At(m.now())))
	if err == nil {
		r.keep(e)
	}
	return nil, err
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
