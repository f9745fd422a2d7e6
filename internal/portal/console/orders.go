package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

// orderSource returns the orders of a pet, or of all if that is 0, as the query asks for them.
func orderSource(v *visit, petID int64) source[petstore.Order] {
	query := v.R.URL.Query()
	q := petstore.OrderQuery{PetID: petID}
	switch query.Get("state") {
	case "open":
		q.Complete = new(bool)
	case "complete":
		complete := true
		q.Complete = &complete
	}
	_, q.ShipDateFrom = page.DayFilter(query, "from", "Ships from")
	_, q.ShipDateTo = page.DayFilter(query, "to", "Ships to")
	return source[petstore.Order]{
		newest: true, id: func(o petstore.Order) int64 { return o.ID },
		fetch: func(ctx context.Context, p petstore.Page) ([]petstore.Order, error) {
			q.Page = p
			return v.Service.Orders(ctx, v.who.Workspace.ID, q)
		},
	}
}

func stateCell(o petstore.Order) page.Cell {
	if o.Complete {
		return page.Cell{Text: "complete", Badge: "complete"}
	}
	return page.Cell{Text: "open", Badge: "open"}
}

func showOrders(v *visit) error {
	query := v.R.URL.Query()
	if entered := query.Get("number"); entered != "" {
		return findOrder(v, entered)
	}
	pet, choices, err := filteredPet(v, "/console/orders")
	if err != nil {
		return err
	}
	from, _ := page.DayFilter(query, "from", "Ships from")
	to, _ := page.DayFilter(query, "to", "Ships to")
	l := page.List{
		Title: "Orders", Lead: "Newest first. An order takes its units from the stock when it is placed.", Columns: []string{"Order", "Pet", "Quantity", "Ships", "State", ""},
		Numbers: map[int]bool{2: true},
		Choices: choices,
		Filters: []page.Field{
			{Name: "number", Label: "Number", Kind: "number", Hint: "of an order"},
			{Name: "state", Label: "State", Kind: "select", Options: page.Choose([]page.Option{{Label: "Any state"}, {Value: "open", Label: "open"}, {Value: "complete", Label: "complete"}}, query.Get("state"))},
			petField("Pet", query.Get("petId"), false),
			from, to,
		},
		New: &page.Link{Title: "Place an order", URL: "/console/orders/new"}, Empty: "There are no orders here yet.",
	}
	orders, err := orderSource(v, pet).read(v, &l)
	if err != nil {
		return err
	}
	names, err := petNames(v, orders, petOfOrder)
	if err != nil {
		return err
	}
	for _, o := range orders {
		at := "/console/orders/" + page.Text(o.ID)
		row := []page.Cell{{Text: "#" + page.Text(o.ID), URL: at}, {Text: names[o.PetID], Name: true}, {Text: page.Number(o.Quantity)}, timeCell(o.ShipDate), stateCell(o), {}}
		if !o.Complete {
			row[5].Links = []page.Link{{Title: "Complete", URL: at + "/complete"}, {Title: "Cancel", URL: at + "/cancel", Danger: true}}
		}
		l.Rows = append(l.Rows, row)
	}
	return v.List(l, nil)
}

func findOrder(v *visit, entered string) error {
	id := pickedID(entered)
	_, err := v.Service.Order(v.R.Context(), v.who.Workspace.ID, id)
	if petstore.CodeOf(err) == petstore.CodeOrderNotFound {
		return noOrder(v, id)
	}
	if err != nil {
		return err
	}
	return v.Redirect("/console/orders/" + page.Text(id))
}

// noOrder says that there is no order with the number, and since when if that is known.
func noOrder(v *visit, id int64) error {
	at, err := cancelledAt(v, id)
	if err != nil {
		return err
	}
	title, why := "There is no such order", "It was cancelled, or there never was one. The stock history of a pet lists its cancelled orders."
	switch {
	case id == 0:
		why = "Enter the number of an order, such as 177."
	case !at.IsZero():
		title, why = "Order "+page.Text(id)+" was cancelled", "That was on "+page.InWords(at)+". Its units went back into the stock."
	}
	v.Refuse(http.StatusNotFound, title, why)
	return nil
}

func ordersCSV(v *visit) error {
	pet, _, err := filteredPet(v, "/console/orders")
	if err != nil {
		return err
	}
	return orderSource(v, pet).csv(v, []string{"id", "petId", "quantity", "shipDate", "complete"}, func(o petstore.Order) []string {
		return []string{page.Text(o.ID), page.Text(o.PetID), page.Text(o.Quantity), o.ShipDate.String(), strconv.FormatBool(o.Complete)}
	})
}

func shipField(t petstore.Time) page.Field {
	f := page.Field{Name: "shipDate", Label: "Ship date", Kind: "time", Hint: "When the order will ship, if you know it."}
	if t.Valid {
		f.Value = t.UTC().Format(page.EntryLayout)
	}
	return f
}

func newOrder(v *visit) (page.Form, error) {
	pet := petField("Pet", v.R.FormValue("petId"), true)
	f := page.Form{
		Title: "Place an order", Submit: "Place the order", Back: page.Link{Title: "Orders", URL: "/console/orders"},
		Send: func(in *page.Input) error { return placeOrder(v, in) },
	}
	if id := pickedID(pet.Value); id > 0 {
		p, err := v.Service.Pet(v.R.Context(), v.who.Workspace.ID, id)
		if err != nil && petstore.CodeOf(err) != petstore.CodePetNotFound {
			return f, err
		}
		if err == nil {
			pet.Value = pickName(p)
			f.Facts = []page.Fact{{Title: "Pet", Cell: page.Cell{Text: p.Name, Name: true, URL: "/console/pets/" + page.Text(id)}}, {Title: "Status", Cell: statusCell(p.Status)}}
		}
	}
	f.Fields = []page.Field{
		pet,
		{Name: "quantity", Label: "Quantity", Kind: "number", Value: "1", Required: true},
		shipField(petstore.Time{}),
		{Name: "complete", Label: "Sale", Kind: "checks", Options: []page.Option{{Value: "true", Label: "Sold on the spot: the order is complete at once"}}},
	}
	return f, nil
}

func placeOrder(v *visit, in *page.Input) error {
	pet, err := pickPet(v, in)
	if err != nil {
		return err
	}
	n := petstore.NewOrder{
		PetID: pet, Quantity: in.Number("quantity"), ShipDate: in.Instant("shipDate"),
		Complete: in.Text("complete") == "true",
	}
	made, err := v.Service.CreateOrder(v.R.Context(), v.who.Workspace.ID, n, v.Once())
	return v.Then("/console/orders/"+page.Text(made.ID), "The order was placed.", err)
}

func orderInPath(v *visit) (petstore.Order, []page.Fact, error) {
	o, err := inPath(v, v.Service.Order)
	if err != nil {
		return o, nil, err
	}
	names, err := petNames(v, []petstore.Order{o}, petOfOrder)
	if err != nil {
		return o, nil, err
	}
	facts := []page.Fact{
		{Title: "Pet", Cell: page.Cell{Text: names[o.PetID], Name: true, URL: "/console/pets/" + page.Text(o.PetID)}}, {Title: "Quantity", Cell: page.Cell{Text: page.Number(o.Quantity)}},
		{Title: "State", Cell: stateCell(o)}, {Title: "Ships", Cell: timeCell(o.ShipDate)},
	}
	moves, err := movesOf(v, o)
	for i := range moves {
		if title := orderSteps[moves[i].Kind]; title != "" {
			facts = append(facts, page.Fact{Title: title, Cell: timeCell(moves[i].At)})
		}
	}
	return o, facts, err
}

// orderSteps are what the ledger knows of an order that is there.
var orderSteps = map[petstore.MovementKind]string{petstore.MovedPlaced: "Placed", petstore.MovedSale: "Placed and completed", petstore.MovedCompleted: "Completed"}

func showOrder(v *visit) (page.Form, error) {
	o, facts, err := orderInPath(v)
	at := "/console/orders/" + page.Text(o.ID)
	f := page.Form{Title: "Order " + page.Text(o.ID), Facts: facts, Back: page.Link{Title: "Orders", URL: "/console/orders"}}
	f.Send = func(in *page.Input) error {
		patch := petstore.OrderPatch{ShipDate: petstore.Null[petstore.Time]()}
		if t := in.Instant("shipDate"); t.Valid {
			patch.ShipDate = petstore.Some(t)
		}
		_, err := v.Service.UpdateOrder(v.R.Context(), v.who.Workspace.ID, o.ID, patch, in.Condition())
		return v.Then(at, "The order was saved.", err)
	}
	if o.Complete {
		f.Lead = "This order is complete and cannot be changed."
		return f, err
	}
	f.Submit, f.Fields = "Save", []page.Field{shipField(o.ShipDate), page.VersionField(o)}
	f.Links = []page.Link{{Title: "Complete", URL: at + "/complete"}, {Title: "Cancel", URL: at + "/cancel", Danger: true}}
	return f, err
}

// orderQuestion returns the form that asks whether to do something with the order in the path.
func orderQuestion(v *visit, what, lead string) (page.Form, petstore.Order, error) {
	o, facts, err := orderInPath(v)
	return page.Form{
		Title: fmt.Sprintf("%s order %d?", what, o.ID), Lead: lead, Submit: what + " the order", Facts: facts,
		Back: page.Link{Title: "Order " + page.Text(o.ID), URL: "/console/orders/" + page.Text(o.ID)}, Fields: []page.Field{page.VersionField(o)},
	}, o, err
}

func completeOrder(v *visit) (page.Form, error) {
	f, o, err := orderQuestion(v, "Complete", "The order counts as fulfilled. This is final.")
	f.Send = func(in *page.Input) error {
		_, err := v.Service.UpdateOrder(v.R.Context(), v.who.Workspace.ID, o.ID, petstore.OrderPatch{Complete: petstore.Some(true)}, in.Condition())
		return v.Then("/console/orders/"+page.Text(o.ID), "The order is complete.", err)
	}
	return f, err
}

func cancelOrder(v *visit) (page.Form, error) {
	f, o, err := orderQuestion(v, "Cancel", "Its units go back into the stock, and the order is removed.")
	f.Danger, f.Send = true, func(in *page.Input) error {
		err := v.Service.CancelOrder(v.R.Context(), v.who.Workspace.ID, o.ID, in.Condition())
		return v.Then("/console/orders", "The order was cancelled, and its units are back in stock.", err)
	}
	return f, err
}
