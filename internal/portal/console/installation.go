package console

import (
	"context"
	"net/http"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/usage"
)

// An installation is the operator's first page.
type installation struct {
	whole
	Spans []navLink
	Live  string
}

// whole is what changes on the page while it is looked at.
type whole struct {
	drawing
	Cards   []summary `json:"cards"`
	Nearest [][]cell  `json:"nearest"`
	Health  [][]cell  `json:"health"`
}

// A summary is one number of the installation.
type summary struct {
	Title string `json:"title"`
	Value string `json:"value"`
	Hint  string `json:"hint"`
	URL   string `json:"url"`
	Bad   bool   `json:"bad"`
}

// totalsFor is for how long what all workspaces did is taken as known: reading it costs a row for each of them, or for each of them and minute.
const totalsFor = 5 * time.Second

// A kept is what was read last.
type kept[T any] struct {
	mu    sync.Mutex
	value T
	read  time.Time
}

// get returns what was read within totalsFor, or reads it. Who asks meanwhile waits.
func (k *kept[T]) get(now time.Time, read func() (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if age := now.Sub(k.read); age >= 0 && age < totalsFor {
		return k.value, nil
	}
	value, err := read()
	if err == nil {
		k.value, k.read = value, now
	}
	return value, err
}

// A totals keeps what was last read of all workspaces.
type totals struct {
	rows    map[string]*kept[[]usage.Row] // by the names of shortSpans
	counted kept[count]
	busiest kept[[]access.Use]
}

func (t *totals) prepare() {
	t.rows = map[string]*kept[[]usage.Row]{}
	for _, s := range shortSpans() {
		t.rows[s.Name] = &kept[[]usage.Row]{}
	}
}

// A count is how many workspaces there are, and how many of them are over their quota.
type count struct{ all, over int64 }

func (c *Console) totalRows(ctx context.Context, s span) ([]usage.Row, error) {
	now := c.Now()
	return c.totals.rows[s.Name].get(now, func() ([]usage.Row, error) { return c.Usage.Total(ctx, s.step, s.first(now), now) })
}

// whole reads what changes.
func (v *visit) whole(ctx context.Context, s span) (w whole, err error) {
	rows, err := v.totalRows(ctx, s)
	if err != nil {
		return w, err
	}
	w.drawing = draw(rows, s, v.Now())
	workspaces, err := v.countWorkspaces(ctx)
	if err != nil {
		return w, err
	}
	today, err := v.today(ctx)
	if err != nil {
		return w, err
	}
	bans, err := v.banSummary(ctx)
	if err != nil {
		return w, err
	}
	w.Cards = []summary{
		v.workspaceSummary(workspaces),
		{Title: "Requests today", Value: number(today.Total()), Hint: share(today.Requests[usage.Limited], today.Total()) + " refused by a limit", URL: "/console/busy"},
		bans, v.healthSummary(),
	}
	w.Nearest, w.Health = [][]cell{}, [][]cell{}
	nearest, err := v.busyKeys(ctx, few)
	if err != nil {
		return w, err
	}
	for _, b := range nearest {
		w.Nearest = append(w.Nearest, []cell{{Text: access.Printable(b.name), Name: true}, workspaceCell(b.workspace.ID, b.workspace.Name), meterCell(b.day)})
	}
	for _, f := range v.health() {
		if f.State || f.Bad {
			w.Health = append(w.Health, []cell{{Text: f.Name}, figureCell(f)})
		}
	}
	return w, nil
}

// countWorkspaces returns how many there are, and how many of them are over their quota,
// as of totalsFor ago at most.
func (v *visit) countWorkspaces(ctx context.Context) (count, error) {
	return v.totals.counted.get(v.Now(), func() (n count, err error) {
		if n.all, err = v.Access.CountWorkspaces(ctx); err == nil {
			n.over, err = v.Access.CountOverQuota(ctx)
		}
		return n, err
	})
}

func (v *visit) workspaceSummary(n count) summary {
	s := summary{Title: "Workspaces", Value: number(n.all), Hint: someOf(int64(v.Keys.Len()), "key in use", "keys in use"), URL: "/console/workspaces"}
	if n.over > 0 {
		s.Hint, s.URL, s.Bad = number(n.over)+" over quota", "/console/workspaces?sort=use", true
	}
	return s
}

// today returns what all workspaces did on this UTC day.
func (v *visit) today(ctx context.Context) (sum usage.Counts, err error) {
	rows, err := v.totalRows(ctx, shortSpans()[1])
	midnight := v.Now().UTC().Truncate(24 * time.Hour).Unix()
	for i := range rows {
		if rows[i].Start >= midnight {
			sum.Add(&rows[i].Counts)
		}
	}
	return sum, err
}

func (v *visit) banSummary(ctx context.Context) (summary, error) {
	entries, err := v.banned(ctx)
	n := int64(len(entries))
	s := summary{Title: "Bans", Value: number(n), Hint: "no key is refused", URL: "/console/bans", Bad: n > 0}
	if n > 0 {
		s.Hint = "until " + inWords(entries[0].Key.Ban.Until) + " at least"
	}
	return s, err
}

func (v *visit) healthSummary() summary {
	s := summary{Title: "This node", Value: "Ready", Hint: "everything answers", URL: "/console/health"}
	for _, f := range v.health() {
		if f.Bad {
			return summary{Title: s.Title, Value: "Look", Hint: f.Name + ": " + f.Value, URL: s.URL, Bad: true}
		}
	}
	return s
}

func showInstallation(v *visit) error {
	s := spanOf(shortSpans(), v.r.URL.Query().Get("range"))
	w, err := v.whole(v.r.Context(), s)
	if err != nil {
		return err
	}
	page := installation{whole: w, Spans: s.links(shortSpans(), "/console"), Live: "/console/live?range=" + s.Name}
	return v.render(http.StatusOK, "installation", "Overview", page)
}

func liveInstallation(v *visit) error {
	s := spanOf(shortSpans(), v.r.URL.Query().Get("range"))
	return v.live(func(ctx context.Context, out stream) error {
		w, err := v.whole(ctx, s)
		if err != nil {
			return err
		}
		return out.send("figures", w)
	}, nil)
}
