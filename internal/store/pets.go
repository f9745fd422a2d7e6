package store

import (
	"context"
	"slices"
	"strings"

	"example.com/petstore/internal/petstore"
)

const (
	petColumns    = "id, pets.name, category, status, quantity, open_orders, movements" // an index of names may have a name, too
	storedColumns = petColumns + ", last_movement"
	selectPet     = "SELECT " + petColumns + " FROM pets WHERE workspace = $1 AND id = $2"
)

func scanStockedPet(row Row, p *petstore.StockedPet) error {
	return row.Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status, &p.Quantity, &p.OpenOrders, &p.Movements)
}

// Pet implements [petstore.Store].
func (s *Store) Pet(ctx context.Context, workspace, id int64) (petstore.StockedPet, error) {
	return get(ctx, s, selectPet, workspace, id, scanStockedPet, petstore.NoPet)
}

// Pets implements [petstore.Store].
func (s *Store) Pets(ctx context.Context, workspace int64, q petstore.PetQuery) ([]petstore.StockedPet, error) {
	page, err := read(ctx, s, petList(&s.dialect, workspace, &q).read)
	if len(q.IDs) > 0 { // they are few: their other columns are looked at here
		page = slices.DeleteFunc(page, func(p petstore.StockedPet) bool { return !q.Has(p.ID) || !q.Selects(p.Pet) })
		page = page[:min(len(page), max(q.Limit, 0))]
	}
	return page, err
}

func petList(d *Dialect, workspace int64, q *petstore.PetQuery) *list[petstore.StockedPet] {
	l := &list[petstore.StockedPet]{dialect: d, table: "pets", columns: petColumns, scan: scanStockedPet, workspace: workspace, page: q.Page}
	if len(q.IDs) > 0 {
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
	if q.MaxQuantity != nil {
		l.tests = []condition{{"quantity <= ?", *q.MaxQuantity}}
	}
	if q.MaxQuantity != nil && *q.MaxQuantity <= lowStock && q.CategoryID == 0 {
		some := l.values
		if len(some) == 0 {
			some = statuses(petstore.Statuses())
		}
		l.findByValue("pets_by_low_stock", "status", some, condition{d.LowStock, *q.MaxQuantity})
	}
	if q.Name != "" {
		l.tests, l.tested = append(l.tests, condition{d.Contains, q.Name}), ", folded"
		l.find = func(tx Tx, s *statement) error { return findByName(tx, s, l, q.Name) }
	}
	return l
}

// lowStock is the greatest quantity in the index of low stock. Pets are tested one by one
// for greater ones: with every quantity in the index, each order would change it.
const lowStock = 100

// findByName is the find of a list of pets whose names contain a text.
func findByName(tx Tx, s *statement, l *list[petstore.StockedPet], text string) error {
	var letters string
	var last int64
	there, err := First(tx, "SELECT letters, pets FROM counters WHERE workspace = $1", func(r Row) error { return r.Scan(&letters, &last) }, l.workspace)
	if err != nil {
		return err
	}
	if there && lettersOf(letters, text) != letters { // no name has one of them
		s.WriteString("SELECT " + l.columns + " FROM pets WHERE FALSE")
		return nil
	}
	search := l.dialect.Search(l.workspace, l.page.Start(), last, text)
	if search == nil {
		s.WriteString(l.rows(s, l.columns, l.tests, 0))
		return nil
	}
	where := l.where(s) + " AND " + s.put(search.Where, search.Args...) + s.and(l.tests) + s.and(l.equal)
	if len(l.values) > 0 {
		where += " AND " + s.in(l.column, l.values)
	}
	s.WriteString("SELECT " + l.columns + " FROM " + search.From + where + " ORDER BY " + search.OrderBy + l.order() + " LIMIT " + s.arg(l.page.Limit))
	return nil
}

// mostLetters is about how many bytes of letters are kept of a workspace: few writing systems
// need more.
const mostLetters = 256

// lettersOf returns the letters and those of a text that are not among them, as long as they
// are fewer than mostLetters.
func lettersOf(letters, text string) string {
	for _, r := range text {
		if len(letters) < mostLetters && !strings.ContainsRune(letters, r) {
			letters += string(r)
		}
	}
	return letters
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
