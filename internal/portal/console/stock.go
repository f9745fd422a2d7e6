package console

import (
	"cmp"
	"encoding/json"
	"net/url"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

// setLowStock returns the form for the number of units at which stock is low.
func setLowStock(v *visit) (page.Form, error) {
	return page.Form{
		Title: "Low stock", Lead: "Pets with so few units are marked in the lists and shown on the overview.", Submit: "Save", Back: page.Link{Title: "Pets", URL: "/console/pets"},
		Fields: []page.Field{{Name: "units", Label: "Units or fewer", Kind: "number", Value: page.Text(v.who.Workspace.LowStock), Required: true}},
		Send: func(in *page.Input) error {
			units := in.Number("units")
			if units < 0 || units > access.MaxLowStock {
				return page.FieldError("units", "It can be 0 to "+page.Number(access.MaxLowStock)+".")
			}
			_, err := v.Access.UpdateWorkspace(v.R.Context(), v.who.Workspace.ID, access.Actor(v.actor()), func(w *access.Workspace) { w.LowStock = units })
			return v.Then("/console/pets", "Stock is low with "+page.Counted(units, "unit", "units")+" or fewer.", err)
		},
	}, nil
}

// addForm is the form that adds to the stock of a pet, or takes from it.
func addForm(v *visit, i petstore.InventoryItem) page.Form {
	return page.Form{
		Heading: "Add to the stock", Action: petPath(i.PetID) + "/add", Submit: "Add the units", Fields: []page.Field{
			{Name: "units", Label: "Units to add", Kind: "number", Required: true, Sum: &i.Quantity, Hint: "A negative number, such as -2, takes units away."},
		}, Send: func(in *page.Input) error {
			units := in.Number("units")
			made, err := v.Service.AddStock(v.R.Context(), v.shop(), i.PetID, units, v.Once())
			if err != nil {
				return err
			}
			said := page.Counted(units, "unit was", "units were") + " added"
			if units < 0 {
				said = page.Counted(-units, "unit was", "units were") + " taken away"
			}
			err = json.Unmarshal(made.Body, &i)
			return v.Then(petPath(i.PetID), said+". There are "+page.Number(i.Quantity)+" now.", err)
		},
	}
}

// setForm is the form that sets the stock of a pet.
func setForm(v *visit, i petstore.InventoryItem) page.Form {
	return page.Form{
		Heading: "Set the stock", Action: petPath(i.PetID) + "/stock", Submit: "Set the stock", Fields: []page.Field{
			{Name: "quantity", Label: "Counted", Kind: "number", Value: page.Text(i.Quantity), Required: true, Hint: "What is there now, whatever was noted before."}, page.VersionField(i),
		}, Send: func(in *page.Input) error {
			after, err := v.Service.UpdateInventory(v.R.Context(), v.shop(), i.PetID, in.Number("quantity"), in.Condition())
			return v.Then(petPath(i.PetID), "The stock was set to "+page.Number(after.Quantity)+".", err)
		},
	}
}

// stockHistory returns the movements of the stock that the query asks for, the newest first.
func stockHistory(v *visit, i petstore.InventoryItem) (page.List, error) {
	l := page.NewList("Why is the stock "+page.Number(i.Quantity)+"?", "", "", "What happened", "When", "By", "Change", "Left")
	l.Numbers = map[int]bool{3: true, 4: true}
	moves, next, err := v.Service.Movements(v.R.Context(), v.shop(), i.PetID, page.PlaceIn(v.R.URL.Query(), "from"), page.PageSize)
	if err != nil {
		return l, err
	}
	l.Turn(&url.URL{Path: petPath(i.PetID), RawQuery: v.R.URL.RawQuery}, "from", page.Text(next), next != 0)
	by, err := keyCells(v)
	for i := range moves {
		m := &moves[i]
		what, change := page.Cell{Text: "Pet " + moved(m.Kind)}, page.Number(m.Delta)
		switch {
		case m.OrderID > 0:
			what = page.Cell{Text: "Order " + page.Text(m.OrderID) + " " + moved(m.Kind), URL: orderPath(m.OrderID)}
		case m.Kind == petstore.MovedSet:
			what.Text = "Stock set to " + page.Number(m.Quantity)
		}
		if m.Delta > 0 {
			change = "+" + change
		}
		l.Rows = append(l.Rows, []page.Cell{what, timeCell(m.At), by(m.By), {Text: change}, {Text: page.Number(m.Quantity)}})
	}
	return l, err
}

// keyCells returns a function that returns a cell with the name of the key that made a
// change. Without the scope for keys, it does not tell the others apart.
func keyCells(v *visit) (func(id string) page.Cell, error) {
	keys, err := knownKeys(v)
	names := page.KeyNames(keys)
	return func(id string) page.Cell {
		if id == "" {
			return page.Cell{Text: "a command"}
		}
		if names[id] == "" && !v.May(access.Manage) {
			return page.Cell{Text: "another key"}
		}
		return page.Cell{Text: cmp.Or(names[id], id), Name: true}
	}, err
}

// moved says what happened to an order or a pet when stock was moved.
func moved(kind petstore.MovementKind) string {
	words := map[petstore.MovementKind]string{petstore.MovedSale: "placed and completed", petstore.MovedCreated: "added", petstore.MovedSold: "marked as sold"}
	return cmp.Or(words[kind], string(kind))
}
