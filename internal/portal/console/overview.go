package console

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/usage"
)

// An overview is the first page.
type overview struct {
	Chart  page.Chart
	Meters []page.Gauge
	Forms  string    // how many the console was sent
	NewKey bool      // a key can be made
	Steps  []step    // to do first; nil once they are done
	Sunset page.List // keys that use an operation that will end
	Low    page.List
	Open   page.List
	Hooks  page.List // webhooks that fail
}

func showOverview(v *visit) error {
	chart, err := page.ChartOf(v.Visit, v.who.Workspace.ID)
	if err != nil {
		return err
	}
	o := overview{
		Chart: chart, Meters: v.limits.Gauges(),
		NewKey: v.who.Key.Scopes.Has(access.Manage) && v.limits.Banned().IsZero(),
	}
	week, err := usedSince(v, "", v.Now().AddDate(0, 0, -6))
	o.Forms = page.Counted(total(slices.DeleteFunc(slices.Clone(week), func(d usage.Row) bool { return d.Key != usage.Forms })), "form", "forms")
	errs := [6]error{err}
	o.Steps, errs[1] = firstSteps(v)
	if v.May(access.Manage) {
		o.Sunset, errs[2] = sunsetWatch(v, week)
	}
	o.Low, errs[3] = lowOnStock(v)
	o.Open, errs[4] = openOrders(v)
	o.Hooks, errs[5] = failingWebhooks(v)
	if err := cmp.Or(errs[:]...); err != nil {
		return err
	}
	return v.Render(http.StatusOK, "overview", "Overview", o)
}

// usedSince returns what a key of the workspace did on each day from the one that holds from, or what all of them and the
// forms of the console did if keyID is "". A day on which a key sent only forms has no requests.
func usedSince(v *visit, keyID string, from time.Time) ([]usage.Row, error) {
	return v.Usage.Usage(v.R.Context(), usage.Query{Workspace: v.who.Workspace.ID, Interval: usage.Day, Key: keyID, From: from, To: v.Now()})
}

// total returns how many requests there were on days.
func total(days []usage.Row) (sum int64) {
	for i := range days {
		sum += days[i].Total()
	}
	return sum
}

// How many rows the overview shows of a list, and how many pets with little stock it looks at: those that are sold are not
// shown.
const (
	few         = 6
	maxLowStock = 300
)

// lowOnStock returns pets that are not sold and have little stock, or none while orders are open.
func lowOnStock(v *visit) (page.List, error) {
	l := page.NewList("Stock low or out", "", "Everything that can be ordered has more than "+page.Counted(v.who.Workspace.LowStock, "unit", "units")+".", "Pet", "Left", "Status")
	l.Numbers[1], l.New = true, &page.Link{Title: "All", URL: "/console/pets?max=" + page.Text(v.who.Workspace.LowStock)}
	// Without a status: the rows are then read in the order in which they lie, in a third of the time.
	pets, err := v.Service.Pets(v.R.Context(), v.shop(), petstore.PetQuery{Page: petstore.Page{Limit: maxLowStock}, MaxQuantity: &v.who.Workspace.LowStock})
	pets = slices.DeleteFunc(pets, func(p petstore.StockedPet) bool { return p.Status == petstore.Sold })
	slices.SortStableFunc(pets, func(a, b petstore.StockedPet) int { return cmp.Compare(a.Quantity, b.Quantity) })
	for _, p := range pets[:min(len(pets), few)] {
		l.Rows = append(l.Rows, []page.Cell{{Text: p.Name, Name: true, URL: petPath(p.ID)}, {Text: page.Number(p.Quantity)}, statusCell(p.Status)})
	}
	return l, err
}

// openOrders returns the orders that have waited longest.
func openOrders(v *visit) (page.List, error) {
	l := page.NewList("Open orders", "", "No order is open.", "Order", "Pet", "Units", "Ships")
	l.Numbers[2], l.New = true, &page.Link{Title: "All", URL: "/console/orders?state=open"}
	orders, err := v.Service.Orders(v.R.Context(), v.shop(), petstore.OrderQuery{Page: petstore.Page{Limit: few}, Complete: new(false)})
	if err != nil {
		return l, err
	}
	names, err := petNames(v, orders...)
	for _, o := range orders {
		l.Rows = append(l.Rows, []page.Cell{
			{Text: "#" + page.Text(o.ID), URL: orderPath(o.ID)}, {Text: names[o.PetID], Name: true}, {Text: page.Number(o.Quantity)}, timeCell(o.ShipDate),
		})
	}
	return l, err
}

func statusCell(s petstore.Status) page.Cell { return page.Cell{Text: string(s), Badge: string(s)} }

func timeCell(t petstore.Time) page.Cell {
	if !t.Valid {
		return page.Cell{Text: "–"}
	}
	return page.Cell{At: t.UTC()}
}

// A step is one of the first things to do in a workspace.
type step struct {
	Title string
	URL   string
	Done  bool
}

// stepsFor is for how long a workspace that has pets and orders, but has made no request, is told how.
const stepsFor = 7 * 24 * time.Hour

// firstSteps returns what to do first in a workspace, until it has pets and orders, and a program that asks for them; or nil.
func firstSteps(v *visit) ([]step, error) {
	ctx, workspace, shop, one := v.R.Context(), v.who.Workspace.ID, v.shop(), petstore.Page{Limit: 1}
	pets, err := v.Service.Pets(ctx, shop, petstore.PetQuery{Page: one})
	if err != nil {
		return nil, err
	}
	orders, err := v.Service.Orders(ctx, shop, petstore.OrderQuery{Page: one})
	if err != nil {
		return nil, err
	}
	filled := len(pets) > 0 && len(orders) > 0
	if filled && v.Now().Sub(v.who.Workspace.CreatedAt) > stepsFor {
		return nil, nil
	}
	days, err := usedSince(v, "", v.Now().Add(-usage.KeepHours))
	days = slices.DeleteFunc(days, func(d usage.Row) bool { return d.Key == usage.Forms || d.Total() == 0 })
	if err != nil || filled && len(days) > 0 {
		return nil, err
	}
	categories, err := v.Service.Categories(ctx, shop, petstore.CategoryQuery{Page: one})
	if err != nil {
		return nil, err
	}
	steps := []step{
		{"Add a category", "/console/categories/new", len(categories) > 0},
		{"Add a pet", "/console/pets/new", len(pets) > 0},
		{"Place an order", "/console/orders/new", len(orders) > 0},
	}
	if v.May(access.Manage) {
		keys, err := v.Access.KeyPage(ctx, workspace, access.KeyPage{Unrevoked: true, Limit: 2})
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{"Create a key for your program", "/console/keys/new", len(keys) > 1})
	}
	return append(steps, step{"Make the first request", "/docs/guides/first-request", len(days) > 0}), nil
}

// sunsetWatch returns the keys that used an operation that will end on days of a week and were not revoked, the busiest
// first: the key, how often, and on which day last.
func sunsetWatch(v *visit, days []usage.Row) (page.List, error) {
	l := page.NewList("Keys that still call getPet, which is deprecated", "", "", "Key", "In 7 days", "Last (UTC)")
	l.Numbers[1], l.New = true, &page.Link{Title: "What to use instead", URL: "/docs/guides/sunset"}
	times, last := map[string]int64{}, map[string]int64{}
	for i := range days { // the oldest first
		if d := &days[i]; d.Deprecated > 0 {
			times[d.Key], last[d.Key] = times[d.Key]+d.Deprecated, d.Start
		}
	}
	if len(times) == 0 {
		return l, nil
	}
	keys, _, err := v.Access.LiveKeys(v.R.Context(), slices.Collect(maps.Keys(times)), nil)
	slices.SortFunc(keys, func(a, b access.Key) int {
		return cmp.Or(cmp.Compare(times[b.ID], times[a.ID]), cmp.Compare(a.ID, b.ID))
	})
	for _, k := range keys[:min(len(keys), few)] {
		l.Rows = append(l.Rows, []page.Cell{
			{Text: access.Printable(k.Name), Name: true, URL: "/console/keys/" + k.ID}, {Text: page.Number(times[k.ID])}, {Text: time.Unix(last[k.ID], 0).UTC().Format("2 Jan")},
		})
	}
	return l, err
}
