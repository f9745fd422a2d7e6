package admin

import (
	"cmp"
	"net/http"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/usage"
)

// An overview is the operator's first page.
type overview struct {
	Chart           page.Chart
	Spans           []page.Link
	Cards           []summary
	Nearest, Health page.List
}

// A summary is one number of the installation.
type summary struct {
	Title, Value, Hint, URL string
	Bad                     bool
}

// few is how many keys the overview shows.
const few = 6

// totalsFor is for how long what all workspaces did is taken as known: reading it costs a row for each of them, or for each of them and minute.
const totalsFor = 5 * time.Second

// totals are what all workspaces did when that was read last.
type totals struct {
	read             time.Time
	hour, day        []usage.Row // of page.ShortSpans
	workspaces, over int64       // how many there are, and how many of them are over their quota
	busiest          []access.Use
}

// readTotals returns what was read within totalsFor, or reads it. Concurrent callers wait for the same read.
func readTotals(v *visit) (t totals, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now, ctx, spans := v.Now(), v.R.Context(), page.ShortSpans()
	if age := now.Sub(v.totals.read); age >= 0 && age < totalsFor {
		return v.totals, nil
	}
	var errs [5]error
	t.hour, errs[0] = v.Usage.Usage(ctx, spans[0].Query(0, now))
	t.day, errs[1] = v.Usage.Usage(ctx, spans[1].Query(0, now))
	t.workspaces, errs[2] = v.Access.CountWorkspaces(ctx)
	t.over, errs[3] = v.Access.CountOverQuota(ctx)
	t.busiest, errs[4] = v.Access.BusiestKeys(ctx, busiest)
	if err = cmp.Or(errs[:]...); err == nil {
		t.read = now
		v.totals = t
	}
	return t, err
}

func showOverview(v *visit) error {
	t, err := readTotals(v)
	if err != nil {
		return err
	}
	s, rows, health := page.SpanOf(page.ShortSpans(), v.R.URL.Query().Get("range")), t.hour, v.Health()
	if s.Step == usage.Hour {
		rows = t.day
	}
	today := todaysUse(t.day, v.Now())
	bans, err := banSummary(v)
	if err != nil {
		return err
	}
	o := overview{
		Chart: s.Chart(rows, v.Now()), Spans: s.Links(page.ShortSpans(), "/console"),
		Cards: []summary{
			workspaceSummary(v, t),
			{Title: "Requests today", Value: page.Number(today.Total()), Hint: page.Percent(today.Requests[usage.Limited], today.Total()) + " refused by a limit", URL: "/console/busy"},
			bans, healthSummary(health),
		},
		Nearest: page.NewList("Nearest their quota", "", "No key was used today.", "Key", "Workspace", "Workspace's day"),
		Health:  page.NewList("Health", "", "", "Part", "State"),
	}
	o.Nearest.New, o.Health.New = &page.Link{Title: "All", URL: "/console/busy"}, &page.Link{Title: "All", URL: "/console/health"}
	nearest, err := busyKeys(v, few)
	for _, b := range nearest {
		o.Nearest.Rows = append(o.Nearest.Rows, []page.Cell{{Text: access.Printable(b.name), Name: true}, workspaceCell(b.workspace.ID, b.workspace.Name), gaugeCell(b.day)})
	}
	for _, f := range health {
		if f.State || f.Bad {
			o.Health.Rows = append(o.Health.Rows, []page.Cell{{Text: f.Name}, figureCell(f)})
		}
	}
	return cmp.Or(err, v.Render(http.StatusOK, "overview", "Overview", o))
}

func workspaceSummary(v *visit, t totals) summary {
	s := summary{Title: "Workspaces", Value: page.Number(t.workspaces), Hint: page.Counted(int64(v.Keys.Len()), "key in use", "keys in use"), URL: "/console/workspaces"}
	if t.over > 0 {
		s.Hint, s.URL, s.Bad = page.Number(t.over)+" over quota", "/console/workspaces?sort=use", true
	}
	return s
}

// todaysUse returns what all workspaces did on this UTC day.
func todaysUse(rows []usage.Row, now time.Time) (sum usage.Counts) {
	midnight := now.UTC().Truncate(24 * time.Hour).Unix()
	for i := range rows {
		if rows[i].Start >= midnight {
			sum.Add(&rows[i].Counts)
		}
	}
	return sum
}

func banSummary(v *visit) (summary, error) {
	keys, err := bannedKeys(v)
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
