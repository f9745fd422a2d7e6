package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

// An overview is the first page.
type overview struct {
	figures
	Spans  []page.NavLink
	NewKey bool      // a key can be made
	Steps  []step    // to do first; nil once they are done
	Sunset page.List // keys that use an operation that will end
	Low    page.List
	Open   page.List
	Hooks  page.List // webhooks that fail
	Live   string    // the address of what changes
}

// figures are what changes on the page while it is looked at.
type figures struct {
	page.Drawing
	Meters []page.Gauge   `json:"meters"`
	Limits page.LimitNote `json:"limits"` // of the key that is signed in
	Forms  string         `json:"-"`      // how many the console was sent
}

// readFigures reads what changes; d is how the key stands.
func readFigures(v *visit, ctx context.Context, s page.Span, d ratelimit.Decision) (f figures, err error) {
	now := v.Now()
	rows, err := v.Usage.Series(ctx, v.who.Workspace.ID, s.Step, s.First(now), now)
	if err != nil {
		return f, err
	}
	return figures{
		Drawing: page.DrawingOf(rows, s, now), Meters: []page.Gauge{page.GaugeOf("This minute", d.Minute), page.GaugeOf("Today (UTC)", d.Day)}, Limits: page.KeyLimits{Decision: d}.Note(),
	}, nil
}

func showOverview(v *visit) error {
	s := page.SpanOf(page.Spans(), v.R.URL.Query().Get("range"))
	f, err := readFigures(v, v.R.Context(), s, v.limits.Decision)
	if err != nil {
		return err
	}
	o := overview{figures: f, Spans: s.Links(page.Spans(), "/console"), Live: "/console/live?range=" + s.Name, NewKey: v.who.Key.Scopes.Has(access.Manage) && v.limits.Banned().IsZero()}
	week, err := v.Usage.KeyDays(v.R.Context(), v.who.Workspace.ID, "", v.Now().AddDate(0, 0, -6))
	if err != nil {
		return err
	}
	o.Forms = formsSent(week)
	if o.Steps, err = firstSteps(v); err != nil {
		return err
	}
	if v.May(access.Manage) {
		if o.Sunset, err = sunsetWatch(v, week); err != nil {
			return err
		}
	}
	if o.Low, err = lowOnStock(v); err != nil {
		return err
	}
	if o.Open, err = openOrders(v); err != nil {
		return err
	}
	if o.Hooks, err = failingWebhooks(v); err != nil {
		return err
	}
	return v.Render(http.StatusOK, "overview", "Overview", o)
}

// formsSent returns in words how many forms the console was sent on days.
func formsSent(days []usage.KeyDay) string {
	sent := int64(0)
	for i := range days {
		if days[i].KeyID == usage.Forms {
			sent += days[i].Total()
		}
	}
	return page.Counted(sent, "form", "forms")
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
	pets, err := v.Bulk.StockedPets(v.R.Context(), v.shop(), petstore.PetQuery{Page: petstore.Page{Limit: maxLowStock}, MaxQuantity: &v.who.Workspace.LowStock})
	pets = slices.DeleteFunc(pets, func(p petstore.StockedPet) bool { return p.Status == petstore.Sold })
	slices.SortStableFunc(pets, func(a, b petstore.StockedPet) int { return cmp.Compare(a.Quantity, b.Quantity) })
	for _, p := range pets[:min(len(pets), few)] {
		l.Rows = append(l.Rows, []page.Cell{{Text: p.Name, Name: true, URL: "/console/stock/" + page.Text(p.ID)}, {Text: page.Number(p.Quantity)}, statusCell(p.Status)})
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

func liveOverview(v *visit) error {
	chosen := page.SpanOf(page.Spans(), v.R.URL.Query().Get("range"))
	return v.Live(func(ctx context.Context, s page.Stream) error {
		f, err := readFigures(v, ctx, chosen, v.Limiter.Peek(v.who.Attachment))
		if err != nil {
			return err
		}
		return s.Send("figures", f)
	})
}
