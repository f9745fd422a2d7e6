package store

import (
	"context"
	"slices"

	"example.com/petstore/internal/petstore"
)

const (
	petColumns        = "id, pets.name, category, status" // an index of names may have a name, too
	stockedPetColumns = petColumns + ", quantity, open_orders, movements"
	storedColumns     = stockedPetColumns + ", last_movement"
	selectPet         = "SELECT " + stockedPetColumns + " FROM pets WHERE workspace = $1 AND id = $2"
)

func scanPet(row Row, p *petstore.Pet) error {
	return row.Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status)
}

func scanStockedPet(row Row, p *petstore.StockedPet) error {
	return row.Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status, &p.Quantity, &p.OpenOrders, &p.Movements)
}

// StockedPet returns a pet with its stock, or the error of [petstore.NoPet].
func (s *Store) StockedPet(ctx context.Context, workspace, id int64) (petstore.StockedPet, error) {
	return get(ctx, s, selectPet, workspace, id, scanStockedPet, petstore.NoPet)
}

// Pet implements [petstore.Store].
func (s *Store) Pet(ctx context.Context, workspace, id int64) (petstore.Pet, error) {
	p, err := s.StockedPet(ctx, workspace, id)
	return p.Pet, err
}

// Pets implements [petstore.Store].
func (s *Store) Pets(ctx context.Context, workspace int64, q petstore.PetQuery) ([]petstore.Pet, error) {
	page, err := petList(&s.options.Dialect, workspace, &q, petColumns, scanPet).read(ctx, s)
	return selectPets(&q, page, func(p petstore.Pet) petstore.Pet { return p }), err
}

// StockedPets implements [petstore.Bulk].
func (s *Store) StockedPets(ctx context.Context, workspace int64, q petstore.PetQuery) ([]petstore.StockedPet, error) {
	page, err := petList(&s.options.Dialect, workspace, &q, stockedPetColumns, scanStockedPet).read(ctx, s)
	return selectPets(&q, page, petOf), err
}

// CountPets implements [petstore.Store].
func (s *Store) CountPets(ctx context.Context, workspace int64, q petstore.PetQuery) (int64, error) {
	if len(q.Statuses) == 0 && q.CategoryID == 0 && q.Name == "" {
		q.Statuses = petstore.Statuses() // their index is a tenth of the table
	}
	columns := "id"
	if q.MaxQuantity != nil { // tests are of columns that were read
		columns += ", quantity"
	}
	return petList(&s.options.Dialect, workspace, &q, columns, scanPet).count(ctx, s)
}

func petOf(p petstore.StockedPet) petstore.Pet { return p.Pet }

// selectPets returns what a query selects of the pets that its list found.
func selectPets[T any](q *petstore.PetQuery, page []T, pet func(T) petstore.Pet) []T {
	if len(q.IDs) == 0 {
		return page
	}
	page = slices.DeleteFunc(page, func(row T) bool { return !q.Has(pet(row).ID) || !q.Selects(pet(row)) })
	return page[:min(len(page), max(q.Limit, 0))]
}

func petList[T any](d *Dialect, workspace int64, q *petstore.PetQuery, columns string, scan func(Row, *T) error) *list[T] {
	l := &list[T]{dialect: d, table: "pets", columns: columns, scan: scan, workspace: workspace, page: q.Page}
	if len(q.IDs) > 0 { // they are few: Pets looks at their other columns
		l.ids, l.page.Limit = q.IDs, len(q.IDs)
		return l
	}
	l.column, l.values = "status", statuses(q.Statuses)
	switch {
	case q.CategoryID != 0:
		l.index, l.equal = "pets_by_category", []condition{{"category = ?", q.CategoryID}}
		if len(l.values) == 0 { // the index has the status before the id
			l.values = statuses(petstore.Statuses())
		}
	case len(l.values) > 0:
		l.index = "pets_by_status"
	}
	if !storable(q.Name) {
		l.page.Limit = 0 // no pet has such a name
	}
	if l.atMost(q.MaxQuantity); q.CategoryID != 0 {
		l.find = nil // which does not ask for the category
	}
	if q.Name != "" {
		l.tests, l.tested = append(l.tests, condition{d.Contains, q.Name}), ", folded"
		l.find = func(tx Tx, s *statement) (bool, error) { return findByName(tx, s, l, q.Name) }
	}
	return l
}

// findByName is the find of a list of pets whose names contain a text.
func findByName[T any](tx Tx, s *statement, l *list[T], text string) (found bool, err error) {
	if none, err := noNameHas(tx, l.workspace, text); none || err != nil {
		s.WriteString("SELECT " + l.columns + " FROM pets WHERE FALSE")
		return true, err
	}
	where := l.where(s)
	search, err := l.dialect.Search(tx, l.workspace, l.page.Start(), text, s.arg)
	if err != nil || search == nil {
		return false, err
	}
	where += " AND " + search.Where + s.and(l.tests) + s.and(l.equal)
	if len(l.values) > 0 {
		where += s.in(l.column, l.values)
	}
	s.WriteString("SELECT " + l.columns + " FROM " + search.From + where + " ORDER BY " + search.OrderBy + l.order() + " LIMIT " + s.arg(l.page.Limit))
	return true, nil
}

// statuses returns each of some statuses once, as arguments.
func statuses(some []petstore.Status) (values []any) {
	for _, status := range some {
		if !slices.Contains(values, any(string(status))) {
			values = append(values, string(status))
		}
	}
	return values
}

// A storedPet is a pet with the id of the last movement of its ledger, 0 if there is none.
type storedPet struct {
	petstore.StockedPet
	lastMovement int64
}

func scanStored(row Row, p *storedPet) error {
	return row.Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status, &p.Quantity, &p.OpenOrders, &p.Movements, &p.lastMovement)
}

var petTable = newTable("pets", "quantity, open_orders, movements, last_movement, name text, folded text, status text, category",
	func(workspace int64, p *storedPet) []any {
		return []any{p.Quantity, p.OpenOrders, p.Movements, p.lastMovement, p.Name, petstore.Fold(p.Name), string(p.Status), p.CategoryID, p.ID, workspace}
	})

// stockTable is petTable for a pet of which nothing else has changed: on SQLite an update
// that names a column changes the indexes that have it, whether the value is another or not.
var stockTable = newTable("pets", "quantity, open_orders, movements, last_movement", func(workspace int64, p *storedPet) []any {
	return []any{p.Quantity, p.OpenOrders, p.Movements, p.lastMovement, p.ID, workspace}
})
