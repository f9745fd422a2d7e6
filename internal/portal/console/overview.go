package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

// An overview is the first page.
type overview struct {
	figures
	Spans  []navLink
	NewKey bool   // a key can be made
	Steps  []step // to do first; nil once they are done
	Sunset list   // keys that use an operation that will end
	Low    list
	Open   list
	Live   string // the address of what changes
}

// A drawing is the requests of a span: a chart, and their totals.
type drawing struct {
	Span    span     `json:"-"`
	Chart   chart    `json:"chart"`
	Totals  []total  `json:"totals"`
	Latency latency  `json:"latency"`
	Buckets []bucket `json:"buckets"`
}

// A total is the number of requests of one class.
type total struct {
	Class string `json:"class"`
	Count string `json:"count"`
	Share string `json:"share"`
}

// A meter is one window of the limits.
type meter struct {
	Name    string    `json:"name"`
	Used    string    `json:"used"`
	Limit   string    `json:"limit"`
	Left    string    `json:"left"`
	Percent int64     `json:"percent"`
	Reset   time.Time `json:"reset"`
	Level   string    `json:"level"` // "ok", "high" or "full"
}

func meterOf(name string, w ratelimit.Window) meter {
	m := meter{
		Name: name, Used: number(w.Used), Limit: number(w.Limit), Left: number(w.Remaining()),
		Percent: min(100, w.Used*100/max(w.Limit, 1)), Reset: time.Unix(w.Reset, 0).UTC(), Level: "ok",
	}
	switch {
	case w.Remaining() == 0:
		m.Level = "full"
	case m.Percent >= 80:
		m.Level = "high"
	}
	return m
}

// figures are what changes on the page while it is looked at.
type figures struct {
	drawing
	Meters []meter   `json:"meters"`
	Limits limitNote `json:"limits"` // of the key that is signed in
}

// figures reads what changes.
func (v *visit) figures(ctx context.Context, s span) (f figures, err error) {
	now := v.Now()
	rows, err := v.Usage.Series(ctx, v.who.Workspace.ID, s.step, s.first(now), now)
	if err != nil {
		return f, err
	}
	d := v.Limiter.Peek(ctx, v.who.Slot)
	return figures{
		drawing: draw(rows, s, now), Meters: []meter{meterOf("This minute", d.Minute), meterOf("Today (UTC)", d.Day)}, Limits: keyLimits{d}.note(),
	}, nil
}

// draw returns what the rows of a span have.
func draw(rows []usage.Row, s span, now time.Time) drawing {
	var sum usage.Counts
	for i := range rows {
		sum.Add(&rows[i].Counts)
	}
	d := drawing{Span: s, Chart: s.draw(rows, now), Latency: latencyOf(&sum), Buckets: buckets(&sum)}
	for class, n := range sum.Requests {
		d.Totals = append(d.Totals, total{usage.Class(class).String(), number(n), share(n, sum.Total())})
	}
	return d
}

func share(n, of int64) string {
	switch {
	case n == 0:
		return "0 %"
	case n*100 < of:
		return "< 1 %"
	}
	return number(n*100/of) + " %"
}

func showOverview(v *visit) error {
	s := spanOf(spans(), v.r.URL.Query().Get("range"))
	f, err := v.figures(v.r.Context(), s)
	if err != nil {
		return err
	}
	o := overview{figures: f, Spans: s.links(spans(), "/console"), Live: "/console/live?range=" + s.Name, NewKey: v.who.Key.Scopes.Has(access.Manage) && v.limits.banned().IsZero()}
	if o.Steps, err = v.firstSteps(); err != nil {
		return err
	}
	if o.Sunset, err = v.sunsetWatch(); err != nil {
		return err
	}
	if o.Low, err = v.low(); err != nil {
		return err
	}
	if o.Open, err = v.open(); err != nil {
		return err
	}
	return v.render(http.StatusOK, "overview", "Overview", o)
}

// How many rows the overview shows of a list, from which stock on a pet is low, and how many pets with little
// stock it looks at: those that are sold are not shown.
const (
	few      = 6
	lowStock = 3
	lookedAt = 300
)

// low returns pets that are not sold and have little stock, or none while orders are open.
func (v *visit) low() (list, error) {
	l := listOf("Stock low or out", "", "Everything that can be ordered has more than three units.", "Pet", "Left", "Status")
	l.Numbers[1], l.New = true, &link{Title: "All", URL: "/console/stock?max=3"}
	least := int64(lowStock)
	// Without a status: the rows are then read in the order in which they lie, in a third of the time.
	items, err := v.Service.Inventory(v.r.Context(), v.who.Workspace.ID, petstore.InventoryQuery{Page: petstore.Page{Limit: lookedAt}, MaxQuantity: &least})
	if err != nil {
		return l, err
	}
	items = slices.DeleteFunc(items, func(i petstore.InventoryItem) bool { return i.Status == petstore.Sold })
	slices.SortStableFunc(items, func(a, b petstore.InventoryItem) int { return cmp.Compare(a.Quantity, b.Quantity) })
	items = items[:min(len(items), few)]
	names, err := v.petNames(items)
	for _, i := range items {
		l.Rows = append(l.Rows, []cell{
			{Text: names[i.PetID], Name: true, URL: "/console/stock/" + text(i.PetID)}, {Text: number(i.Quantity)}, statusCell(i.Status),
		})
	}
	return l, err
}

// open returns the orders that have waited longest.
func (v *visit) open() (list, error) {
	l := listOf("Open orders", "", "No order is open.", "Order", "Pet", "Units", "Ships")
	l.Numbers[2], l.New = true, &link{Title: "All", URL: "/console/orders?state=open"}
	complete := false
	orders, err := v.Service.Orders(v.r.Context(), v.who.Workspace.ID, petstore.OrderQuery{Page: petstore.Page{Limit: few}, Complete: &complete})
	if err != nil {
		return l, err
	}
	names, err := v.orderNames(orders)
	for _, o := range orders {
		l.Rows = append(l.Rows, []cell{
			{Text: "#" + text(o.ID), URL: "/console/orders/" + text(o.ID)}, {Text: names[o.PetID], Name: true}, {Text: number(o.Quantity)}, timeCell(o.ShipDate),
		})
	}
	return l, err
}

func statusCell(s petstore.Status) cell { return cell{Text: string(s), Badge: string(s)} }

func timeCell(t petstore.Time) cell {
	if !t.Valid {
		return cell{Text: "–"}
	}
	return cell{At: t.UTC()}
}
