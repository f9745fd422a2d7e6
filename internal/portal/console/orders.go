package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

// orderViews are the orders that are looked at apart, each with the query for it at an instant.
var orderViews = []struct {
	name, title string
	query       func(now petstore.Time) petstore.OrderQuery
}{
	{"", "All", func(petstore.Time) petstore.OrderQuery { return petstore.OrderQuery{} }},
	{"open", "Open", func(petstore.Time) petstore.OrderQuery { return petstore.OrderQuery{Complete: new(false)} }},
	{"late", "Late", func(now petstore.Time) petstore.OrderQuery {
		return petstore.OrderQuery{Complete: new(false), ShipDateTo: now}
	}},
	{"complete", "Done", func(petstore.Time) petstore.OrderQuery { return petstore.OrderQuery{Complete: new(true)} }},
}

func sourceOfOrders(v *visit, f page.Filters, q *petstore.OrderQuery) source[petstore.Order, petstore.OrderQuery] {
	return source[petstore.Order, petstore.OrderQuery]{
		filters: f, newest: true, one: "order", many: "orders", id: func(o petstore.Order) int64 { return o.ID },
		query: q, page: &q.Page, fetch: v.Service.Orders,
	}
}

// orderFilter adds a field for the number of an order, and returns what was entered, or 0.
func orderFilter(f *page.Filters, field page.Field) (id int64) {
	field.Kind = "text"
	entered := f.Add(field)
	if id = pickedID(entered); entered != "" && id == 0 {
		f.Fault("Enter the number of an order, such as 177.")
	}
	return id
}

// orderSource returns the orders that the query asks for, and the number of one or 0.
func orderSource(v *visit) (s source[petstore.Order, petstore.OrderQuery], number int64, err error) {
	f := page.Filters{Query: v.R.URL.Query()}
	var q petstore.OrderQuery
	view, known := f.Query.Get("state"), false
	for _, o := range orderViews {
		if o.name == view {
			q, known = o.query(petstore.At(v.Now())), true
		}
	}
	number = orderFilter(&f, page.Field{Name: "number", Label: "Number", Hint: "of an order"})
	if q.PetID, err = petPicker.filter(v, &f); err != nil {
		return s, number, err
	}
	q.ShipDateFrom = f.Day("from", "Ships from")
	if to := f.Day("to", "Ships to"); to.Valid && !(q.ShipDateTo.Valid && q.ShipDateTo.Millis < to.Millis) {
		q.ShipDateTo = to
	}
	if !known {
		f.Fields[0].Error = fmt.Sprintf("There is no view called %q.", petstore.Shorten(view, 40))
	}
	f.Fields = append(f.Fields, page.Field{Name: "state", Kind: "hidden", Value: view})
	return sourceOfOrders(v, f, &q), number, nil
}

// stateCell says how an order stands.
func stateCell(v *visit, o petstore.Order) page.Cell {
	switch {
	case o.Complete:
		return page.Cell{Text: "complete", Badge: "complete"}
	case o.ShipDate.Valid && o.ShipDate.UTC().Before(v.Now()):
		return page.Cell{Text: "late", Badge: "late"}
	}
	return page.Cell{Text: "open", Badge: "open"}
}

// findOrder shows the orders that the query asks for, or the one whose number was entered.
func findOrder(v *visit) error {
	s, number, err := orderSource(v)
	if err != nil {
		return err
	}
	if number > 0 {
		return v.Redirect(orderPath(number))
	}
	l, err := listOrders(v, s)
	return v.List(l, err)
}

func listOrders(v *visit, s source[petstore.Order, petstore.OrderQuery]) (page.List, error) {
	l := page.List{
		Title: "Orders", Lead: "The newest first. An order takes its units from the stock when it is placed.", Columns: []string{"Order", "Pet", "Quantity", "Placed", "Ships", "State", ""},
		Numbers: map[int]bool{2: true},
		New:     &page.Link{Title: "Place an order", URL: "/console/orders/new"}, Empty: "There are no orders here yet.",
	}
	orders, n, err := s.read(v, &l)
	if err != nil {
		return l, err
	}
	if l.Views, err = viewsOfOrders(v, n); err != nil {
		return l, err
	}
	names, err := petNames(v, orders...)
	if err != nil {
		return l, err
	}
	ids := make([]int64, len(orders))
	for i, o := range orders {
		ids[i] = o.ID
	}
	moves, err := v.Service.OrderMovements(v.R.Context(), v.shop(), ids)
	placed := map[int64]petstore.Time{}
	for i := range moves {
		if m := &moves[i]; !placed[m.OrderID].Valid {
			placed[m.OrderID] = m.At
		}
	}
	for _, o := range orders {
		row := []page.Cell{{Text: "#" + page.Text(o.ID), URL: orderPath(o.ID)}, {Text: names[o.PetID], Name: true}, {Text: page.Number(o.Quantity)}, timeCell(placed[o.ID]), timeCell(o.ShipDate), stateCell(v, o), {}}
		if !o.Complete {
			row[6].Acts = actsOnOrder(v, o, &v.R.URL.RawQuery)
		}
		l.Rows = append(l.Rows, row)
	}
	return l, err
}

func orderPath(id int64) string { return "/console/orders/" + page.Text(id) }

// viewsOfOrders returns a link to each view, with how many orders it has; the list that is shown has so many.
func viewsOfOrders(v *visit, shown int64) (all []page.Link, err error) {
	for _, o := range orderViews {
		link := page.Link{Title: o.title, URL: "/console/orders", Current: v.R.URL.Query().Get("state") == o.name}
		if o.name != "" {
			query, n := "state="+o.name, shown
			if v.R.URL.RawQuery != query {
				q := o.query(petstore.At(v.Now()))
				if n, err = sourceOfOrders(v, page.Filters{}, &q).count(v); err != nil {
					return nil, err
				}
			}
			link.Title += " " + counted(n)
			link.URL += "?" + query
		}
		all = append(all, link)
	}
	return all, nil
}

// actsOnOrder are what can be done with an open order. Afterwards the list is shown with the query from, unless that is nil.
func actsOnOrder(v *visit, o petstore.Order, from *string) []page.Form {
	id := page.Text(o.ID)
	acts := []page.Form{{
		Heading: "Complete", Title: "Complete order " + id + "?", Lead: "The order counts as fulfilled. This is final.", Submit: "Complete the order",
		Action: orderPath(o.ID) + "/complete",
		Send: func(in *page.Input) error {
			_, err := v.Service.UpdateOrder(v.R.Context(), v.shop(), o.ID, petstore.OrderPatch{Complete: petstore.Some(true)}, in.Condition())
			return v.Then(afterOrder(in, orderPath(o.ID)), "Order "+id+" is complete.", err)
		},
	}, {
		Heading: "Cancel", Title: "Cancel order " + id + "?", Lead: "Its units go back into the stock, and the order is removed.", Submit: "Cancel the order", Danger: true,
		Action: orderPath(o.ID) + "/cancel",
		Send: func(in *page.Input) error {
			err := v.Service.CancelOrder(v.R.Context(), v.shop(), o.ID, in.Condition())
			return v.Then(afterOrder(in, orderPath(o.ID)), "Order "+id+" was cancelled, and its units are back in stock.", err)
		},
	}}
	for i := range acts {
		if acts[i].Fields = []page.Field{page.VersionField(o)}; from != nil {
			acts[i].Fields = append(acts[i].Fields, page.Field{Name: "from", Kind: "hidden", Value: *from})
		}
		acts[i] = v.Ready(acts[i])
	}
	return acts
}

// afterOrder returns where to go on when something was done with an order: to the list from which it was done, or to otherwise.
func afterOrder(in *page.Input, otherwise string) string {
	if from, ok := in.R.PostForm["from"]; ok {
		if query, err := url.ParseQuery(from[0]); err == nil {
			return page.Address("/console/orders", query)
		}
	}
	return otherwise
}

func ordersCSV(v *visit) error {
	s, _, err := orderSource(v)
	if err != nil {
		return err
	}
	return s.csv(v, []string{"id", "petId", "quantity", "shipDate", "complete"}, func(o petstore.Order) []string {
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
	pet, err := petPicker.field(v, v.R.FormValue("petId"), true)
	f := page.Form{
		Title: "Place an order", Submit: "Place the order", Back: page.Link{Title: "Orders", URL: "/console/orders"},
		Send: func(in *page.Input) error { return placeOrder(v, in) },
	}
	f.Fields = []page.Field{
		pet,
		{Name: "quantity", Label: "Quantity", Kind: "number", Value: "1", Required: true},
		shipField(petstore.Time{}),
		{Name: "complete", Label: "Sale", Kind: "checks", Options: []page.Option{{Value: "true", Label: "Sold on the spot: the order is complete at once"}}},
	}
	return f, err
}

func placeOrder(v *visit, in *page.Input) error {
	pet, err := petPicker.pick(v, in, false)
	if err != nil {
		return err
	}
	n := petstore.NewOrder{
		PetID: pet, Quantity: in.Number("quantity"), ShipDate: in.Instant("shipDate"),
		Complete: in.Text("complete") == "true",
	}
	made, err := v.Service.CreateOrder(v.R.Context(), v.shop(), n, v.Once())
	return v.Then(orderPath(made.ID), "The order was placed.", err)
}

// orderFacts are what there is to know of an order, which is gone if it was cancelled.
func orderFacts(v *visit, o petstore.Order, gone bool) ([]page.Fact, error) {
	names, err := petNames(v, o)
	facts := []page.Fact{
		{Title: "Pet", Cell: page.Cell{Text: names[o.PetID], Name: true, URL: petPath(o.PetID)}}, {Title: "Quantity", Cell: page.Cell{Text: page.Number(o.Quantity)}},
		{Title: "State", Cell: stateCell(v, o)}, {Title: "Ships", Cell: timeCell(o.ShipDate)},
	}
	if gone {
		facts[2].Cell, facts = page.Cell{Text: "cancelled", Badge: "cancelled"}, facts[:3]
	}
	if v.Events != nil {
		facts = append(facts, page.Fact{Title: "Events", Cell: page.Cell{Text: "Its events", URL: "/console/events?order=" + page.Text(o.ID)}})
	}
	return facts, err
}

func showOrder(v *visit) (page.Form, error) {
	id, err := page.NumberOf(v.ID)
	if err != nil {
		return page.Form{}, err
	}
	o, missing := v.Service.Order(v.R.Context(), v.shop(), id)
	gone := petstore.CodeOf(missing) == petstore.CodeOrderNotFound
	if missing != nil && !gone {
		return page.Form{}, missing
	}
	moves, err := v.Service.OrderMovements(v.R.Context(), v.shop(), []int64{id})
	if err != nil || gone && (len(moves) == 0 || v.R.Method == http.MethodPost) {
		return page.Form{}, cmp.Or(err, missing)
	}
	f := page.Form{Title: "Order " + page.Text(id), Back: page.Link{Title: "Orders", URL: "/console/orders"}}
	switch {
	case gone: // the ledger knows it still
		o = petstore.Order{ID: id, PetID: moves[0].PetID, Quantity: moves[0].Delta}
		f.Lead = "This order was cancelled: its units went back into the stock, and the API does not have it any more."
	case o.Complete:
		f.Lead = "This order is complete and cannot be changed."
	default:
		f.Lead = "This order is open: its units have left the stock."
		f.Acts = actsOnOrder(v, o, nil)
		f.Heading, f.Submit, f.Fields = "Change the ship date", "Save", []page.Field{shipField(o.ShipDate), page.VersionField(o)}
	}
	if f.Facts, err = orderFacts(v, o, gone); err != nil {
		return f, err
	}
	f.State, f.Lead = &f.Facts[2].Cell, page.Counted(o.Quantity, "unit", "units")+" of \u2068"+f.Facts[0].Text+"\u2069. "+f.Lead
	history, err := orderHistory(v, o, moves)
	f.Sheets = []page.List{history}
	f.Send = func(in *page.Input) error {
		patch := petstore.OrderPatch{ShipDate: petstore.Null[petstore.Time]()}
		if t := in.Instant("shipDate"); t.Valid {
			patch.ShipDate = petstore.Some(t)
		}
		_, err := v.Service.UpdateOrder(v.R.Context(), v.shop(), id, patch, in.Condition())
		return v.Then(orderPath(id), "The order was saved.", err)
	}
	return f, err
}

// orderHistory returns what happened to an order, the oldest first: what moved stock, by the ledger, and other changes as
// far as the latest events tell of them.
func orderHistory(v *visit, o petstore.Order, moves []petstore.Movement) (page.List, error) {
	l := page.NewList("What happened", "", "The ledger does not know.", "What", "When", "By", "Stock")
	by, err := keyCells(v)
	if err != nil {
		return l, err
	}
	for i := range moves {
		m := &moves[i]
		what := moved(m.Kind)
		l.Rows = append(l.Rows, []page.Cell{{Text: strings.ToUpper(what[:1]) + what[1:]}, timeCell(m.At), by(m.By), {Text: page.Number(m.Quantity-m.Delta) + " → " + page.Number(m.Quantity)}})
	}
	if v.Events == nil {
		return l, nil
	}
	asked := requestKeyCells(v, by)
	types := []petstore.EventType{petstore.OrderUpdated}
	if len(moves) == 0 || moves[0].Kind == petstore.MovedCancelled || moves[0].Kind == petstore.MovedCompleted {
		types = append(types, petstore.OrderCreated)
	}
	found, err := v.Events.Events(v.R.Context(), v.shop(), petstore.EventQuery{Newest: true, Order: o.ID, Types: types, Limit: page.PageSize})
	for i := range found.Events {
		e := &found.Events[i]
		what := page.Cell{Text: "Ship date changed", URL: "/console/events/" + page.Text(e.ID)}
		if e.Type == petstore.OrderCreated {
			what.Text = "Placed"
		}
		l.Rows = append(l.Rows, []page.Cell{what, timeCell(e.CreatedAt), asked(e), {Text: "–"}})
	}
	slices.SortStableFunc(l.Rows, func(a, b []page.Cell) int { return a[1].At.Compare(b[1].At) })
	return l, err
}

// askAboutOrder returns the form that asks whether to do one of actsOnOrder with the order in the path.
func askAboutOrder(which int) func(*visit) (page.Form, error) {
	return func(v *visit) (page.Form, error) {
		o, err := inPath(v, v.Service.Order)
		if err != nil {
			return page.Form{}, err
		}
		f := actsOnOrder(v, o, nil)[which]
		f.Heading, f.Back = "", page.Link{Title: "Order " + page.Text(o.ID), URL: orderPath(o.ID)}
		f.Facts, err = orderFacts(v, o, false)
		return f, err
	}
}
