package admin

import (
	"context"
	"net/http"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/usage"
)

// An overview is the operator's first page.
type overview struct {
	figures
	Spans []page.NavLink
	Live  string
}

// figures is what changes on the page while it is looked at.
type figures struct {
	page.Drawing
	Cards   []summary     `json:"cards"`
	Nearest [][]page.Cell `json:"nearest"`
	Health  [][]page.Cell `json:"health"`
}

// A summary is one number of the installation.
type summary struct {
	Title string `json:"title"`
	Value string `json:"value"`
	Hint  string `json:"hint"`
	URL   string `json:"url"`
	Bad   bool   `json:"bad"`
}

// few is how many keys the overview shows.
const few = 6

// totalsFor is for how long what all workspaces did is taken as known: reading it costs a row for each of them, or for each of them and minute.
const totalsFor = 5 * time.Second

// A cached is what was read last.
type cached[T any] struct {
	mu    sync.Mutex
	value T
	read  time.Time
}

// get returns what was read within totalsFor, or reads it. Concurrent callers wait for
// the same read.
func (k *cached[T]) get(now time.Time, read func() (T, error)) (T, error) {
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
	hour, day cached[[]usage.Row] // of page.ShortSpans
	counted   cached[count]
	busiest   cached[[]access.Use]
}

// A count is how many workspaces there are, and how many of them are over their quota.
type count struct{ all, over int64 }

func totalRows(v *visit, ctx context.Context, s page.Span) ([]usage.Row, error) {
	now, kept := v.Now(), &v.totals.hour
	if s.Step == usage.Hour {
		kept = &v.totals.day
	}
	return kept.get(now, func() ([]usage.Row, error) { return v.Usage.Total(ctx, s.Step, s.First(now), now) })
}

func readFigures(v *visit, ctx context.Context, s page.Span) (w figures, err error) {
	rows, err := totalRows(v, ctx, s)
	if err != nil {
		return w, err
	}
	w.Drawing = page.DrawingOf(rows, s, v.Now())
	workspaces, err := countWorkspaces(v, ctx)
	if err != nil {
		return w, err
	}
	today, err := todaysUse(v, ctx)
	if err != nil {
		return w, err
	}
	bans, err := banSummary(v, ctx)
	if err != nil {
		return w, err
	}
	health := v.Health()
	w.Cards = []summary{
		workspaceSummary(v, workspaces),
		{Title: "Requests today", Value: page.Number(today.Total()), Hint: page.Percent(today.Requests[usage.Limited], today.Total()) + " refused by a limit", URL: "/console/busy"},
		bans, healthSummary(health),
	}
	w.Nearest, w.Health = [][]page.Cell{}, [][]page.Cell{}
	nearest, err := busyKeys(v, ctx, few)
	if err != nil {
		return w, err
	}
	for _, b := range nearest {
		w.Nearest = append(w.Nearest, []page.Cell{{Text: access.Printable(b.name), Name: true}, workspaceCell(b.workspace.ID, b.workspace.Name), gaugeCell(b.day)})
	}
	for _, f := range health {
		if f.State || f.Bad {
			w.Health = append(w.Health, []page.Cell{{Text: f.Name}, figureCell(f)})
		}
	}
	return w, nil
}

// countWorkspaces returns how many there are, and how many of them are over their quota,
// as of totalsFor ago at most.
func countWorkspaces(v *visit, ctx context.Context) (count, error) {
	return v.totals.counted.get(v.Now(), func() (n count, err error) {
		if n.all, err = v.Access.CountWorkspaces(ctx); err == nil {
			n.over, err = v.Access.CountOverQuota(ctx)
		}
		return n, err
	})
}

func workspaceSummary(v *visit, n count) summary {
	s := summary{Title: "Workspaces", Value: page.Number(n.all), Hint: page.Counted(int64(v.Keys.Len()), "key in use", "keys in use"), URL: "/console/workspaces"}
	if n.over > 0 {
		s.Hint, s.URL, s.Bad = page.Number(n.over)+" over quota", "/console/workspaces?sort=use", true
	}
	return s
}

// todaysUse returns what all workspaces did on this UTC day.
func todaysUse(v *visit, ctx context.Context) (sum usage.Counts, err error) {
	rows, err := totalRows(v, ctx, page.ShortSpans()[1])
	midnight := v.Now().UTC().Truncate(24 * time.Hour).Unix()
	for i := range rows {
		if rows[i].Start >= midnight {
			sum.Add(&rows[i].Counts)
		}
	}
	return sum, err
}

func banSummary(v *visit, ctx context.Context) (summary, error) {
	keys, err := bannedKeys(v, ctx)
	n := int64(len(keys))
	s := summary{Title: "Bans", Value: page.Number(n), Hint: "no key is refused", URL: "/console/bans", Bad: n > 0}
	if n > 0 {
		s.Hint = "until " + page.InWords(keys[0].Key.Ban.Until) + " at least"
	}
	return s, err
}

func healthSummary(health []Figure) summary {
	s := summary{Title: "This node", Value: "Ready", Hint: "everything answers", URL: "/console/health"}
	for _, f := range health {
		if f.Bad {
			return summary{Title: s.Title, Value: "Problem", Hint: f.Name + ": " + f.Value, URL: s.URL, Bad: true}
		}
	}
	return s
}

func showOverview(v *visit) error {
	s := page.SpanOf(page.ShortSpans(), v.R.URL.Query().Get("range"))
	w, err := readFigures(v, v.R.Context(), s)
	if err != nil {
		return err
	}
	o := overview{figures: w, Spans: s.Links(page.ShortSpans(), "/console"), Live: "/console/live?range=" + s.Name}
	return v.Render(http.StatusOK, "overview", "Overview", o)
}

func liveOverview(v *visit) error {
	s := page.SpanOf(page.ShortSpans(), v.R.URL.Query().Get("range"))
	return v.Live(func(ctx context.Context, out page.Stream) error {
		w, err := readFigures(v, ctx, s)
		if err != nil {
			return err
		}
		return out.Send("figures", w)
	})
}
