package interchange_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
)

// A keeper is a store of either engine.
type keeper interface {
	petstore.Store
	petstore.Bulk
	access.Store
	Check(ctx context.Context) ([]string, error)
}

// engines calls f with a store of each engine, and the part of many tries that a server is fast enough for.
func engines(t *testing.T, f func(t *testing.T, db keeper, part int)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, openStore(t), 1)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := shared.Server(t)
		name, err := server.Create(t.Context(), "")
		must(t, err)
		db, err := postgres.Open(t.Context(), server.URL(name), postgres.Options{Now: func() time.Time { return noon }, Readers: 2})
		must(t, err)
		t.Cleanup(func() { must(t, db.Close()) })
		f(t, db, 5)
	})
}

// A row is a pet as its row of CSV has it, with what it stands on.
type row struct {
	petstore.StockedPet
	category string
}

// A shelf collects the pets of a workspace.
type shelf struct {
	categories map[int64]string
	pets       map[int64]row
}

func (s *shelf) Begin(petstore.LastIDs) error { return nil }
func (s *shelf) Category(c petstore.Category) error {
	s.categories[c.ID] = c.Name
	return nil
}

func (s *shelf) Pet(p petstore.StockedPet) error {
	p.Movements = 0
	s.pets[p.ID] = row{p, s.categories[p.CategoryID]}
	return nil
}
func (s *shelf) Order(petstore.Order) error       { return nil }
func (s *shelf) Movement(petstore.Movement) error { return nil }

// shelfOf returns a workspace as it is.
func shelfOf(t failer, db keeper, workspace int64) *shelf {
	s := &shelf{map[int64]string{}, map[int64]row{}}
	must(t, db.Dump(context.Background(), workspace, s))
	return s
}

// saved returns rows as some spreadsheet saves them.
func saved(t *rapid.T, rows [][]string) string {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.Comma = rapid.SampledFrom([]rune(",;\t")).Draw(t, "separator")
	if rapid.Bool().Draw(t, "says") {
		fmt.Fprintf(&out, "sep=%c\n", w.Comma)
	}
	wide := rapid.IntRange(0, 2).Draw(t, "empty columns")
	for _, r := range rows {
		must(t, w.Write(append(slices.Clone(r), make([]string, wide)...)))
	}
	w.Flush()
	text := strings.ReplaceAll(out.String(), "\n", rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "line end"))
	return rapid.SampledFrom([]string{"", interchange.ByteOrderMark}).Draw(t, "mark") + text
}

// shopNames are names that spreadsheets and folding confuse.
var shopNames = []string{"Dogs", "dogs", "Dogs", " Birds", "Birds", "Straße", "STRASSE", "=1+1", "a;-b", "'quoted", "00123", "1e5", "猫\u3000"}

// A merge is one try of the property.
type merge struct {
	*rapid.T
	was, now *shelf
	rows     [][]string
	wrong    bool // the import must refuse it
}

// edit changes some cells of the rows.
func (m *merge) edit() {
	for _, r := range m.rows[1:] {
		for column, values := range [][]string{
			1: append(slices.Clone(shopNames), "Other", ""), 2: append(slices.Clone(shopNames), "New", "new", ""),
			3: {"available", "PENDING", "sold", ""}, 4: {"0", "1", "5", "9", ""},
		} {
			if len(values) > 0 && rapid.IntRange(0, 5).Draw(m.T, "edit") == 0 {
				r[column] = interchange.Escape(rapid.SampledFrom(values).Draw(m.T, "value"))
			}
		}
	}
}

// want returns what the merge of the rows must be, by the cells alone and by the rules of the shop.
func (m *merge) want() map[int64]row {
	want := maps.Clone(m.now.pets)
	for _, cells := range m.rows[1:] {
		id, _ := strconv.ParseInt(cells[0], 10, 64)
		was, now := m.was.pets[id], m.now.pets[id]
		name, category, status, stock := interchange.Unescape(cells[1]), interchange.Unescape(cells[2]), petstore.Status(strings.ToLower(cells[3])), cells[4]
		setsName, setsCategory := name != "" && name != was.Name, category != "" && category != was.category
		setsStatus, setsStock := status != "" && status != was.Status, stock != "" && stock != strconv.FormatInt(was.Quantity, 10)
		if now.ID == 0 {
			m.wrong = m.wrong || setsName || setsCategory || setsStatus || setsStock
			continue
		}
		after, quantity := now, int64(0)
		if setsStock {
			quantity, _ = strconv.ParseInt(stock, 10, 64)
			if (status == petstore.Available) && quantity == 0 || status == petstore.Sold && quantity > 0 {
				setsStatus = false
			}
		}
		if setsName && name != now.Name && !sameNumber(name, now.Name) {
			m.wrong = m.wrong || now.Name != was.Name
			after.Name = name
		}
		if setsCategory && category != now.category && !sameNumber(category, now.category) {
			if to := m.category(category, now); to != now.category {
				m.wrong = m.wrong || now.CategoryID != was.CategoryID
				after.category = to
			}
		}
		if setsStatus && status != now.Status {
			m.wrong = m.wrong || now.Status != was.Status
		}
		if setsStock && quantity != now.Quantity {
			m.wrong = m.wrong || now.Quantity != was.Quantity
			after.Quantity, after.Status = quantity, settled(now, quantity)
		}
		if setsStatus && after.Status != status {
			m.wrong = m.wrong || status == petstore.Available && after.Quantity == 0 || status == petstore.Sold && now.OpenOrders > 0
			if after.Status = status; status == petstore.Sold {
				after.Quantity = 0
			}
		}
		want[id] = after
	}
	return want
}

func sameNumber(a, b string) bool {
	return a == "00123" && b == "00123" || a == "1e5" && b == "1e5"
}

func alike(name string) string { return petstore.Fold(strings.TrimSpace(name)) }

// category returns the name of the category that a cell means.
func (m *merge) category(cell string, now row) string {
	var exact, near []string
	for _, name := range m.now.categories {
		if name == cell {
			exact = append(exact, name)
		}
		if alike(name) == alike(cell) {
			near = append(near, name)
		}
	}
	switch {
	case len(near) == 0:
		return alike(cell) // made, and written as in its first row
	case len(near) == 1:
		return near[0]
	case len(exact) == 1:
		return cell
	case alike(now.category) == alike(cell):
		return now.category
	}
	m.wrong = true
	return ""
}

func settled(p row, quantity int64) petstore.Status {
	switch {
	case quantity > 0 && p.Quantity == 0:
		return petstore.Available
	case quantity > 0:
		return p.Status
	case p.OpenOrders > 0:
		return petstore.Pending
	}
	return petstore.Sold
}

// change changes the shop at random; refusals are part of it.
func (m *merge) change(shop *petstore.Service, workspace int64, steps int) {
	ctx := context.Background()
	names, id := rapid.SampledFrom(shopNames), func(label string) int64 { return rapid.Int64Range(1, 6).Draw(m.T, label) }
	for range rapid.IntRange(0, steps).Draw(m.T, "steps") {
		switch rapid.IntRange(0, 8).Draw(m.T, "step") {
		case 0:
			shop.UpdatePet(ctx, workspace, id("pet"), petstore.PetPatch{Name: petstore.Some(names.Draw(m.T, "name"))}, petstore.Condition{})
		case 1:
			shop.UpdatePet(ctx, workspace, id("pet"), petstore.PetPatch{CategoryID: petstore.Some(id("category"))}, petstore.Condition{})
		case 2:
			shop.UpdatePet(ctx, workspace, id("pet"), petstore.PetPatch{Status: petstore.Some(rapid.SampledFrom(petstore.Statuses()).Draw(m.T, "mark"))}, petstore.Condition{})
		case 3:
			shop.UpdateInventory(ctx, workspace, id("pet"), rapid.Int64Range(0, 9).Draw(m.T, "stock"), petstore.Condition{})
		case 4, 5:
			shop.CreateOrder(ctx, workspace, petstore.NewOrder{PetID: id("pet"), Quantity: rapid.Int64Range(1, 5).Draw(m.T, "units"), Complete: rapid.Bool().Draw(m.T, "complete")}, nil)
		case 6:
			shop.CancelOrder(ctx, workspace, id("order"), petstore.Condition{})
		case 7:
			shop.DeletePet(ctx, workspace, id("gone"), petstore.Condition{})
		case 8:
			shop.UpdateCategory(ctx, workspace, id("category"), petstore.CategoryPatch{Name: petstore.Some(names.Draw(m.T, "renamed"))}, petstore.Condition{})
		}
	}
}

// compare fails the test unless the pets after the import are as wanted.
func (m *merge) compare(after *shelf, want map[int64]row, text string) {
	for id, got := range after.pets {
		w := want[id]
		if made := m.now.categories[got.CategoryID] == "" && !m.wrong; made {
			got.category = alike(got.category)
		}
		if got.Name != w.Name || got.category != w.category || got.Status != w.Status || got.Quantity != w.Quantity {
			m.Errorf("pet %d is %+v, want %+v\nbefore: %+v\nexported: %+v\nfile:\n%s", id, got, w, m.now.pets[id], m.was.pets[id], text)
		}
	}
	if len(after.pets) != len(m.now.pets) {
		m.Errorf("there are %d pets, want %d", len(after.pets), len(m.now.pets))
	}
}

// TestMerge: whatever the shop, the edits of a file and what the shop did since the export, the result is the merge, cell by
// cell; or, if a cell was changed by both or a rule is broken, nothing. The trial says the same before.
func TestMerge(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db keeper, part int) {
		shop, runs := petstore.NewService(db), 0
		rapid.Check(t, func(r *rapid.T) {
			if rapid.IntRange(1, part).Draw(r, "part") > 1 {
				return
			}
			runs++
			workspace := newWorkspace(r, db, fmt.Sprint("shop ", runs))
			m := &merge{T: r}
			for range 5 {
				shop.CreateCategory(context.Background(), workspace, petstore.NewCategory{Name: rapid.SampledFrom(shopNames).Draw(r, "category")}, nil)
				shop.CreatePet(context.Background(), workspace, petstore.NewPet{Name: rapid.SampledFrom(shopNames).Draw(r, "pet"), CategoryID: 1}, nil)
			}
			m.change(shop, workspace, 10)
			m.rows, m.was = rowsOf(r, db, workspace), shelfOf(r, db, workspace)
			m.change(shop, workspace, 10)
			m.now = shelfOf(r, db, workspace)
			if rapid.IntRange(0, 4).Draw(r, "edited") > 0 {
				m.edit()
			}
			want := m.want()
			text := saved(r, m.rows)
			tried, tryErr := run(r, db, workspace, text, "", (*interchange.Import).DryRun)
			after := shelfOf(r, db, workspace)
			if fmt.Sprint(after) != fmt.Sprint(m.now) {
				r.Fatalf("the trial changed\n%v to\n%v", m.now, after)
			}
			kept, err := run(r, db, workspace, text, "", (*interchange.Import).Run)
			after = shelfOf(r, db, workspace)
			if (err != nil) != m.wrong || (tryErr != nil) != m.wrong || err != nil && err.Error() != tryErr.Error() {
				r.Fatalf("import of\n%sgives %v, its trial %v; it must be refused: %v", text, err, tryErr, m.wrong)
			}
			if m.wrong {
				want = m.now.pets
			} else if kept.Changed != tried.Changed || kept.Left != tried.Left || kept.Categories != tried.Categories {
				r.Errorf("the import reports %+v, its trial %+v", kept, tried)
			}
			m.compare(after, want, text)
		})
		if problems, err := db.Check(t.Context()); err != nil || len(problems) > 0 {
			t.Errorf("Check() = %v, %v, want none", problems, err)
		}
	})
}
