package console

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

func stockSource(v *visit) source[petstore.InventoryItem] {
	query := v.R.URL.Query()
	q := petstore.InventoryQuery{}
	if s := petstore.Status(query.Get("status")); s.Valid() {
		q.Statuses = []petstore.Status{s}
	}
	if most, err := strconv.ParseInt(query.Get("max"), 10, 64); err == nil && most >= 0 {
		q.MaxQuantity = &most
	}
	return source[petstore.InventoryItem]{
		id: func(i petstore.InventoryItem) int64 { return i.PetID },
		fetch: func(ctx context.Context, p petstore.Page) ([]petstore.InventoryItem, error) {
			q.Page = p
			return v.Service.Inventory(ctx, v.who.Workspace.ID, q)
		},
	}
}

func showStock(v *visit) error {
	query := v.R.URL.Query()
	pet, choices, err := filteredPet(v, "/console/stock")
	if err != nil {
		return err
	}
	if pet > 0 && pet != noPet {
		return v.Redirect("/console/stock/" + page.Text(pet))
	}
	l := page.List{
		Title: "Stock", Lead: "How many units of each pet can still be ordered. Units in open orders are not counted.",
		Columns: []string{"Pet", "Name", "Quantity", "Status", ""}, Numbers: map[int]bool{2: true},
		Choices: choices,
		Filters: []page.Field{
			petField("Pet", query.Get("petId"), false),
			{Name: "max", Label: "At most", Kind: "number", Value: query.Get("max"), Hint: "any"},
			{Name: "status", Label: "Status", Kind: "select", Options: statusOptions("Any status", query.Get("status"))},
		},
		Empty: "There is no stock yet. Add a pet, and it has stock.",
	}
	var items []petstore.InventoryItem
	if pet != noPet {
		if items, err = stockSource(v).read(v, &l); err != nil {
			return err
		}
	}
	names, err := petNames(v, items, petOfItem)
	if err != nil {
		return err
	}
	for _, i := range items {
		l.Rows = append(l.Rows, []page.Cell{
			{Text: page.Text(i.PetID)}, {Text: names[i.PetID], Name: true, URL: "/console/pets/" + page.Text(i.PetID)}, {Text: page.Number(i.Quantity)}, statusCell(i.Status),
			{Links: []page.Link{{Title: "Change stock", URL: "/console/stock/" + page.Text(i.PetID)}}},
		})
	}
	return v.List(l, nil)
}

func stockCSV(v *visit) error {
	return stockSource(v).csv(v, []string{"petId", "quantity", "status"}, func(i petstore.InventoryItem) []string {
		return []string{page.Text(i.PetID), page.Text(i.Quantity), string(i.Status)}
	})
}

// A sheetPage is one thing, with forms that change it and tables of what is known of it.
type sheetPage struct {
	Title, Lead string
	Back        page.Link
	Links       []page.Link
	Forms       []page.Form
	Sheets      []page.List
	Facts       []page.Fact
	Wide        bool   // the tables have the page's whole width
	Sent        string // what is posted, of the page of a delivery
}

// stockPage reads the page of the pet in the path: the forms that change its stock, and what has changed it.
func stockPage(v *visit) (sheetPage, petstore.InventoryItem, error) {
	i, err := inPath(v, v.Service.InventoryItem)
	if err != nil {
		return sheetPage{}, i, err
	}
	pet, err := inPath(v, v.Service.Pet)
	if err != nil {
		return sheetPage{}, i, err
	}
	id := i.PetID
	history, err := stockHistory(v, i)
	return sheetPage{
		Title: "Stock of " + pet.Name, Lead: "How many units can still be ordered. Units in open orders are not counted.",
		Back: page.Link{Title: "Stock", URL: "/console/stock"}, Forms: stockForms(v, i), Sheets: []page.List{history},
		Facts: []page.Fact{
			{Title: "Pet", Cell: page.Cell{Text: pickName(pet), Name: true, URL: "/console/pets/" + page.Text(id)}}, {Title: "Status", Cell: statusCell(i.Status)},
			{Title: "Stock", Cell: page.Cell{Text: page.Number(i.Quantity)}}, {Title: "Orders", Cell: page.Cell{Text: "Orders of this pet", URL: "/console/orders?petId=" + page.Text(id)}},
		},
	}, i, err
}

// The forms of the page of a pet's stock.
const (
	formToSet = iota
	formToAdd
)

func stockForms(v *visit, i petstore.InventoryItem) []page.Form {
	at := "/console/stock/" + page.Text(i.PetID)
	return []page.Form{
		v.Ready(page.Form{Heading: "Set the stock", Action: at, Submit: "Set the stock", Fields: []page.Field{
			{Name: "quantity", Label: "Quantity", Kind: "number", Value: page.Text(i.Quantity), Required: true}, page.VersionField(i),
		}}),
		v.Ready(page.Form{Heading: "Add to the stock", Action: at + "/add", Submit: "Add the units", Fields: []page.Field{
			{Name: "units", Label: "Units to add", Kind: "number", Required: true, Hint: "A negative number, such as -2, takes units away."},
		}}),
	}
}

func stockForm(v *visit, which int) (page.Form, petstore.InventoryItem, error) {
	p, item, err := stockPage(v)
	if err != nil {
		return page.Form{}, item, err
	}
	f := p.Forms[which]
	f.Page = func(status int, f page.Form) error {
		p.Forms[which] = f
		return v.Render(status, "sheets", p.Title, p)
	}
	return f, item, nil
}

func setStock(v *visit) (page.Form, error) {
	f, item, err := stockForm(v, formToSet)
	f.Send = func(in *page.Input) error {
		_, err := v.Service.UpdateInventory(v.R.Context(), v.who.Workspace.ID, item.PetID, in.Number("quantity"), in.Condition())
		return v.Then(f.Action, "The stock was set.", err)
	}
	return f, err
}

func addStock(v *visit) (page.Form, error) {
	f, item, err := stockForm(v, formToAdd)
	f.Send = func(in *page.Input) error {
		_, err := v.Service.AddStock(v.R.Context(), v.who.Workspace.ID, item.PetID, in.Number("units"), v.Once())
		return v.Then("/console/stock/"+page.Text(item.PetID), "The units were added.", err)
	}
	return f, err
}

// stockHistory returns the movements of the stock that the query asks for, the newest first.
func stockHistory(v *visit, i petstore.InventoryItem) (page.List, error) {
	l := page.NewList("Why is it "+page.Number(i.Quantity)+"?", "", "", "What happened", "When", "Change", "Left")
	l.Numbers = map[int]bool{2: true, 3: true}
	moves, next, err := v.Service.Movements(v.R.Context(), v.who.Workspace.ID, i.PetID, page.PlaceIn(v.R.URL.Query(), "from"), page.PageSize)
	cancelled := map[int64]bool{}
	for i := range moves {
		m := &moves[i]
		cancelled[m.OrderID] = cancelled[m.OrderID] || m.Kind == petstore.MovedCancelled
		l.Rows = append(l.Rows, moveCells(m, cancelled[m.OrderID]))
	}
	l.Turn(&url.URL{Path: "/console/stock/" + page.Text(i.PetID), RawQuery: v.R.URL.RawQuery}, "from", page.Text(next), next != 0)
	return l, err
}

// maxLedgerPages is how many pages of a ledger are searched for an order.
const maxLedgerPages = 50

// movesOf returns the movements of an order, the oldest first: those from the newest of
// its pet down to the one that placed it, as far back as mostPages reach.
func movesOf(v *visit, o petstore.Order) (moves []petstore.Movement, err error) {
	from := int64(0)
	for n := 1; ; n++ {
		moved, next, err := v.Service.Movements(v.R.Context(), v.who.Workspace.ID, o.PetID, from, petstore.MaxPage)
		if err != nil {
			return nil, err
		}
		for _, m := range moved {
			if m.OrderID != o.ID {
				continue
			}
			if moves = append(moves, m); m.Kind == petstore.MovedPlaced || m.Kind == petstore.MovedSale {
				next = 0
			}
		}
		if from = next; next == 0 || n == maxLedgerPages {
			slices.Reverse(moves)
			return moves, nil
		}
	}
}

// moveCells returns a movement as a row. A cancelled order has no page any more.
func moveCells(m *petstore.Movement, cancelled bool) []page.Cell {
	what := page.Cell{Text: moved(m)}
	if m.OrderID > 0 && !cancelled {
		what.URL = "/console/orders/" + page.Text(m.OrderID)
	}
	change := page.Number(m.Delta)
	if m.Delta > 0 {
		change = "+" + change
	}
	return []page.Cell{what, timeCell(m.At), {Text: change}, {Text: page.Number(m.Quantity)}}
}

func moved(m *petstore.Movement) string {
	order := "Order " + page.Text(m.OrderID)
	switch m.Kind {
	case petstore.MovedCreated:
		return "Pet added"
	case petstore.MovedPlaced:
		return order + " placed"
	case petstore.MovedSale:
		return order + " placed, complete at once"
	case petstore.MovedCompleted:
		return order + " completed"
	case petstore.MovedCancelled:
		return order + " cancelled"
	case petstore.MovedSold:
		return "Pet marked as sold"
	case petstore.MovedDeleted:
		return "Pet deleted"
	}
	return "Stock set to " + page.Number(m.Quantity)
}
