package console

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"example.com/petstore/internal/petstore"
)

func (v *visit) items() source[petstore.InventoryItem] {
	query := v.r.URL.Query()
	q := petstore.InventoryQuery{}
	if s := petstore.Status(query.Get("status")); s.Valid() {
		q.Statuses = []petstore.Status{s}
	}
	if most, err := strconv.ParseInt(query.Get("max"), 10, 64); err == nil && most >= 0 {
		q.MaxQuantity = &most
	}
	return source[petstore.InventoryItem]{
		id: func(i petstore.InventoryItem) int64 { return i.PetID },
		fetch: func(ctx context.Context, page petstore.Page) ([]petstore.InventoryItem, error) {
			q.Page = page
			return v.Service.Inventory(ctx, v.who.Workspace.ID, q)
		},
	}
}

func showStock(v *visit) error {
	query := v.r.URL.Query()
	pet, choices, err := v.filtered("/console/stock")
	if err != nil {
		return err
	}
	if pet > 0 && pet != noPet {
		return v.redirect("/console/stock/" + text(pet))
	}
	l := list{
		Title: "Stock", Lead: "How many units of each pet can still be ordered. Units in open orders are not counted.",
		Columns: []string{"Pet", "Name", "Quantity", "Status", ""}, Numbers: map[int]bool{2: true},
		Choices: choices,
		Filters: []field{
			petField("Pet", query.Get("petId"), false),
			{Name: "max", Label: "At most", Kind: "number", Value: query.Get("max"), Hint: "any"},
			{Name: "status", Label: "Status", Kind: "select", Options: statusOptions("Any status", query.Get("status"))},
		},
		Empty: "There is no stock yet. Add a pet, and it has stock.",
	}
	var items []petstore.InventoryItem
	if pet != noPet {
		if items, err = v.items().page(v, &l); err != nil {
			return err
		}
	}
	names, err := v.petNames(items)
	if err != nil {
		return err
	}
	for _, i := range items {
		l.Rows = append(l.Rows, []cell{
			{Text: text(i.PetID)}, {Text: names[i.PetID], Name: true, URL: "/console/pets/" + text(i.PetID)}, {Text: number(i.Quantity)}, statusCell(i.Status),
			{Links: []link{{Title: "Change stock", URL: "/console/stock/" + text(i.PetID)}}},
		})
	}
	return v.list(l, nil)
}

func stockCSV(v *visit) error {
	return v.items().csv(v, []string{"petId", "quantity", "status"}, func(i petstore.InventoryItem) []string {
		return []string{text(i.PetID), text(i.Quantity), string(i.Status)}
	})
}

// stockPage reads the page of the pet in the path: the forms that change its stock, and what has changed it.
func (v *visit) stockPage() (sheetPage, petstore.InventoryItem, error) {
	id, err := v.number()
	if err != nil {
		return sheetPage{}, petstore.InventoryItem{}, err
	}
	i, err := v.Service.InventoryItem(v.r.Context(), v.who.Workspace.ID, id)
	if err != nil {
		return sheetPage{}, i, err
	}
	pet, err := v.Service.Pet(v.r.Context(), v.who.Workspace.ID, id)
	if err != nil {
		return sheetPage{}, i, err
	}
	history, err := v.history(i)
	return sheetPage{
		Title: "Stock of " + pet.Name, Lead: "How many units can still be ordered. Units in open orders are not counted.",
		Back: link{Title: "Stock", URL: "/console/stock"}, Forms: v.stockForms(i), Sheets: []list{history},
		Facts: []fact{
			{"Pet", cell{Text: pickName(pet), Name: true, URL: "/console/pets/" + text(id)}}, {"Status", statusCell(i.Status)},
			{"Stock", cell{Text: number(i.Quantity)}}, {"Orders", cell{Text: "Orders of this pet", URL: "/console/orders?petId=" + text(id)}},
		},
	}, i, err
}

// The forms of the page of a pet's stock.
const (
	formToSet = iota
	formToAdd
)

func (v *visit) stockForms(i petstore.InventoryItem) []form {
	at := "/console/stock/" + text(i.PetID)
	return []form{
		{Heading: "Set the stock", Action: at, Submit: "Set the stock", Locked: v.locked(), Fields: []field{
			{Name: "quantity", Label: "Quantity", Kind: "number", Value: text(i.Quantity), Required: true}, versionOf(i),
		}},
		{Heading: "Add to the stock", Action: at + "/add", Submit: "Add the units", Locked: v.locked(), Fields: []field{
			{Name: "units", Label: "Units to add", Kind: "number", Required: true, Hint: "A negative number, such as -2, takes units away."},
		}},
	}
}

// stockForm returns a form of the page of the pet in the path.
func (v *visit) stockForm(which int) (form, petstore.InventoryItem, error) {
	p, item, err := v.stockPage()
	if err != nil {
		return form{}, item, err
	}
	f := p.Forms[which]
	f.page = func(status int, f form) error {
		p.Forms[which] = f
		return v.render(status, "sheets", p.Title, p)
	}
	return f, item, nil
}

func setStock(v *visit) (form, error) {
	f, item, err := v.stockForm(formToSet)
	f.send = func(in *input) error {
		_, err := v.Service.UpdateInventory(v.r.Context(), v.who.Workspace.ID, item.PetID, in.number("quantity"), in.condition())
		return v.done(f.Action, "The stock was set.", err)
	}
	return f, err
}

func addStock(v *visit) (form, error) {
	f, item, err := v.stockForm(formToAdd)
	f.send = func(in *input) error {
		return v.done("/console/stock/"+text(item.PetID), "The units were added.", v.addUnits(item, in.number("units")))
	}
	return f, err
}

// tries is how often units are added again to a stock that others change meanwhile.
const tries = 5

// addUnits adds units to what the stock is by then.
func (v *visit) addUnits(i petstore.InventoryItem, units int64) (err error) {
	for range tries {
		switch left := i.Quantity + units; {
		case units > petstore.MaxQuantity || left > petstore.MaxQuantity:
			return wrong("units", "The stock can be "+number(petstore.MaxQuantity)+" at most.")
		case units < -petstore.MaxQuantity || left < 0:
			return wrong("units", "Only "+number(i.Quantity)+" can be taken away.")
		}
		seen := petstore.Condition{IfMatch: &petstore.TagSet{Tags: []petstore.Tag{petstore.TagOf(i.AppendJSON(nil))}}}
		_, err = v.Service.UpdateInventory(v.r.Context(), v.who.Workspace.ID, i.PetID, i.Quantity+units, seen)
		if petstore.CodeOf(err) != petstore.CodePreconditionFailed {
			return err
		}
		if i, err = v.Service.InventoryItem(v.r.Context(), v.who.Workspace.ID, i.PetID); err != nil {
			return err
		}
	}
	return petstore.Errorf(petstore.CodePreconditionFailed, "The stock changes too fast just now. Try again.")
}

// history returns the movements of the stock that the query asks for, the newest first.
func (v *visit) history(i petstore.InventoryItem) (list, error) {
	l := listOf("Why is it "+number(i.Quantity)+"?", "", "", "What happened", "When", "Change", "Left")
	l.Numbers = map[int]bool{2: true, 3: true}
	moves, next, err := v.Service.Movements(v.r.Context(), v.who.Workspace.ID, i.PetID, placeIn(v.r.URL.Query(), "from"), pageSize)
	cancelled := map[int64]bool{}
	for i := range moves {
		m := &moves[i]
		cancelled[m.OrderID] = cancelled[m.OrderID] || m.Kind == petstore.MovedCancelled
		l.Rows = append(l.Rows, moveCells(m, cancelled[m.OrderID]))
	}
	l.turn(&url.URL{Path: "/console/stock/" + text(i.PetID), RawQuery: v.r.URL.RawQuery}, "from", text(next), next != 0)
	return l, err
}

// mostPages is how many pages of a ledger are searched for an order.
const mostPages = 50

// movesOf returns the movements of an order, the oldest first: those from the newest of
// its pet down to the one that placed it, as far back as mostPages reach.
func (v *visit) movesOf(o petstore.Order) (moves []petstore.Movement, err error) {
	from := int64(0)
	for n := 1; ; n++ {
		page, next, err := v.Service.Movements(v.r.Context(), v.who.Workspace.ID, o.PetID, from, petstore.MaxPage)
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			if m.OrderID != o.ID {
				continue
			}
			if moves = append(moves, m); m.Kind == petstore.MovedPlaced || m.Kind == petstore.MovedSale {
				next = 0
			}
		}
		if from = next; next == 0 || n == mostPages {
			slices.Reverse(moves)
			return moves, nil
		}
	}
}

// moveCells returns a movement as a row. A cancelled order has no page any more.
func moveCells(m *petstore.Movement, cancelled bool) []cell {
	what := cell{Text: moved(m)}
	if m.OrderID > 0 && !cancelled {
		what.URL = "/console/orders/" + text(m.OrderID)
	}
	change := number(m.Delta)
	if m.Delta > 0 {
		change = "+" + change
	}
	return []cell{what, timeCell(m.At), {Text: change}, {Text: number(m.Quantity)}}
}

// moved says what a movement was.
func moved(m *petstore.Movement) string {
	order := "Order " + text(m.OrderID)
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
	return "Stock set to " + number(m.Quantity)
}
