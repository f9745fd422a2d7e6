package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"example.com/petstore/internal/petstore"
)

// orders returns the orders of a pet, or of all if that is 0, as the query asks for them.
func (v *visit) orders(petID int64) source[petstore.Order] {
	query := v.r.URL.Query()
	q := petstore.OrderQuery{PetID: petID}
	switch query.Get("state") {
	case "open":
		q.Complete = new(bool)
	case "complete":
		complete := true
		q.Complete = &complete
	}
	_, q.ShipDateFrom = dayFilter(query, "from", "Ships from")
	_, q.ShipDateTo = dayFilter(query, "to", "Ships to")
	return source[petstore.Order]{
		newest: true, id: func(o petstore.Order) int64 { return o.ID },
		fetch: func(ctx context.Context, page petstore.Page) ([]petstore.Order, error) {
			q.Page = page
			return v.Service.Orders(ctx, v.who.Workspace.ID, q)
		},
	}
}

func stateCell(o petstore.Order) cell {
	if o.Complete {
		return cell{Text: "complete", Badge: "complete"}
	}
	return cell{Text: "open", Badge: "open"}
}

func showOrders(v *visit) error {
	query := v.r.URL.Query()
	if entered := query.Get("number"); entered != "" {
		return v.findOrder(entered)
	}
	pet, choices, err := v.filtered("/console/orders")
	if err != nil {
		return err
	}
	from, _ := dayFilter(query, "from", "Ships from")
	to, _ := dayFilter(query, "to", "Ships to")
	l := list{
		Title: "Orders", Lead: "Newest first. An order takes its units from the stock when it is placed.", Columns: []string{"Order", "Pet", "Quantity", "Ships", "State", ""},
		Numbers: map[int]bool{2: true},
		Choices: choices,
		Filters: []field{
			{Name: "number", Label: "Number", Kind: "number", Hint: "of an order"},
			{Name: "state", Label: "State", Kind: "select", Options: choose([]option{{Label: "Any state"}, {Value: "open", Label: "open"}, {Value: "complete", Label: "complete"}}, query.Get("state"))},
			petField("Pet", query.Get("petId"), false),
			from, to,
		},
		New: &link{Title: "Place an order", URL: "/console/orders/new"}, Empty: "There are no orders here yet.",
	}
	orders, err := v.orders(pet).page(v, &l)
	if err != nil {
		return err
	}
	names, err := v.orderNames(orders)
	if err != nil {
		return err
	}
	for _, o := range orders {
		at := "/console/orders/" + text(o.ID)
		row := []cell{{Text: "#" + text(o.ID), URL: at}, {Text: names[o.PetID], Name: true}, {Text: number(o.Quantity)}, timeCell(o.ShipDate), stateCell(o), {}}
		if !o.Complete {
			row[5].Links = []link{{Title: "Complete", URL: at + "/complete"}, {Title: "Cancel", URL: at + "/cancel", Danger: true}}
		}
		l.Rows = append(l.Rows, row)
	}
	return v.list(l, nil)
}

// findOrder leads to the page of the order with the number.
func (v *visit) findOrder(entered string) error {
	id := pickedID(entered)
	_, err := v.Service.Order(v.r.Context(), v.who.Workspace.ID, id)
	if petstore.CodeOf(err) == petstore.CodeOrderNotFound {
		return v.noOrder(id)
	}
	if err != nil {
		return err
	}
	return v.redirect("/console/orders/" + text(id))
}

// noOrder says that there is no order with the number, and since when if that is known.
func (v *visit) noOrder(id int64) error {
	at, err := v.cancelledAt(id)
	if err != nil {
		return err
	}
	title, why := "There is no such order", "It was cancelled, or there never was one. The stock history of a pet lists its cancelled orders."
	switch {
	case id == 0:
		why = "Enter the number of an order, such as 177."
	case !at.IsZero():
		title, why = "Order "+text(id)+" was cancelled", "That was on "+inWords(at)+". Its units went back into the stock."
	}
	v.refuse(http.StatusNotFound, title, why)
	return nil
}

func ordersCSV(v *visit) error {
	pet, _, err := v.filtered("/console/orders")
	if err != nil {
		return err
	}
	return v.orders(pet).csv(v, []string{"id", "petId", "quantity", "shipDate", "complete"}, func(o petstore.Order) []string {
		return []string{text(o.ID), text(o.PetID), text(o.Quantity), o.ShipDate.String(), strconv.FormatBool(o.Complete)}
	})
}

func shipField(t petstore.Time) field {
	f := field{Name: "shipDate", Label: "Ship date", Kind: "time", Hint: "When the order will ship, if you know it."}
	if t.Valid {
		f.Value = t.UTC().Format(entryLayout)
	}
	return f
}

func newOrder(v *visit) (form, error) {
	pet := petField("Pet", v.r.FormValue("petId"), true)
	f := form{
		Title: "Place an order", Submit: "Place the order", Back: link{Title: "Orders", URL: "/console/orders"},
		send: v.placeOrder,
	}
	if id := pickedID(pet.Value); id > 0 {
		p, err := v.Service.Pet(v.r.Context(), v.who.Workspace.ID, id)
		if err != nil && petstore.CodeOf(err) != petstore.CodePetNotFound {
			return f, err
		}
		if err == nil {
			pet.Value = pickName(p)
			f.Facts = []fact{{"Pet", cell{Text: p.Name, Name: true, URL: "/console/pets/" + text(id)}}, {"Status", statusCell(p.Status)}}
		}
	}
	f.Fields = []field{
		pet,
		{Name: "quantity", Label: "Quantity", Kind: "number", Value: "1", Required: true},
		shipField(petstore.Time{}),
		{Name: "complete", Label: "Sale", Kind: "checks", Options: []option{{Value: "true", Label: "Sold on the spot: the order is complete at once"}}},
	}
	return f, nil
}

func (v *visit) placeOrder(in *input) error {
	pet, err := v.pick(in)
	if err != nil {
		return err
	}
	n := petstore.NewOrder{
		PetID: pet, Quantity: in.number("quantity"), ShipDate: in.instant("shipDate"),
		Complete: in.text("complete") == "true",
	}
	made, err := v.Service.CreateOrder(v.r.Context(), v.who.Workspace.ID, n, nil)
	return v.done("/console/orders/"+text(made.ID), "The order was placed.", err)
}

// order returns the order in the path and its facts.
func (v *visit) order() (petstore.Order, []fact, error) {
	id, err := v.number()
	if err != nil {
		return petstore.Order{}, nil, err
	}
	o, err := v.Service.Order(v.r.Context(), v.who.Workspace.ID, id)
	if err != nil {
		return o, nil, err
	}
	names, err := v.namesOf([]int64{o.PetID})
	if err != nil {
		return o, nil, err
	}
	facts := []fact{
		{"Pet", cell{Text: names[o.PetID], Name: true, URL: "/console/pets/" + text(o.PetID)}}, {"Quantity", cell{Text: number(o.Quantity)}},
		{"State", stateCell(o)}, {"Ships", timeCell(o.ShipDate)},
	}
	moves, err := v.movesOf(o)
	for i := range moves {
		if title := orderSteps[moves[i].Kind]; title != "" {
			facts = append(facts, fact{title, timeCell(moves[i].At)})
		}
	}
	return o, facts, err
}

// orderSteps are what the ledger knows of an order that is there.
var orderSteps = map[petstore.MovementKind]string{petstore.MovedPlaced: "Placed", petstore.MovedSale: "Placed and completed", petstore.MovedCompleted: "Completed"}

func showOrder(v *visit) (form, error) {
	o, facts, err := v.order()
	at := "/console/orders/" + text(o.ID)
	f := form{Title: "Order " + text(o.ID), Facts: facts, Back: link{Title: "Orders", URL: "/console/orders"}}
	f.send = func(in *input) error {
		patch := petstore.OrderPatch{ShipDate: petstore.Null[petstore.Time]()}
		if t := in.instant("shipDate"); t.Valid {
			patch.ShipDate = petstore.Some(t)
		}
		_, err := v.Service.UpdateOrder(v.r.Context(), v.who.Workspace.ID, o.ID, patch, in.condition())
		return v.done(at, "The order was saved.", err)
	}
	if o.Complete {
		f.Lead = "This order is complete and cannot be changed."
		return f, err
	}
	f.Submit, f.Fields = "Save", []field{shipField(o.ShipDate), versionOf(o)}
	f.Links = []link{{Title: "Complete", URL: at + "/complete"}, {Title: "Cancel", URL: at + "/cancel", Danger: true}}
	return f, err
}

// orderQuestion returns the form that asks whether to do something with the order in the path.
func (v *visit) orderQuestion(what, lead string) (form, petstore.Order, error) {
	o, facts, err := v.order()
	return form{
		Title: fmt.Sprintf("%s order %d?", what, o.ID), Lead: lead, Submit: what + " the order", Facts: facts,
		Back: link{Title: "Order " + text(o.ID), URL: "/console/orders/" + text(o.ID)}, Fields: []field{versionOf(o)},
	}, o, err
}

func completeOrder(v *visit) (form, error) {
	f, o, err := v.orderQuestion("Complete", "The order counts as fulfilled. This is final.")
	f.send = func(in *input) error {
		_, err := v.Service.UpdateOrder(v.r.Context(), v.who.Workspace.ID, o.ID, petstore.OrderPatch{Complete: petstore.Some(true)}, in.condition())
		return v.done("/console/orders/"+text(o.ID), "The order is complete.", err)
	}
	return f, err
}

func cancelOrder(v *visit) (form, error) {
	f, o, err := v.orderQuestion("Cancel", "Its units go back into the stock, and the order is removed.")
	f.Danger, f.send = true, func(in *input) error {
		err := v.Service.CancelOrder(v.r.Context(), v.who.Workspace.ID, o.ID, in.condition())
		return v.done("/console/orders", "The order was cancelled, and its units are back in stock.", err)
	}
	return f, err
}
