package admin

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/ratelimit"
)

func workspaceCell(id int64, name string) page.Cell {
	return page.Cell{Text: access.Printable(name), Name: true, URL: workspacePath(id)}
}

func gaugeCell(w ratelimit.Window) page.Cell {
	m := page.GaugeOf("", w)
	return page.Cell{Meter: &m}
}

const busiest = 50

// busyKey is a key that was used today, with the day of its workspace.
type busyKey struct {
	access.Use
	name      string
	workspace access.Workspace
	day       ratelimit.Window
}

// busyKeys returns at most so many of the busiest keys that were used today, as of totalsFor ago at most, those whose
// workspaces are now nearest their quota first.
func busyKeys(v *visit, ctx context.Context, most int) ([]busyKey, error) {
	uses, err := v.totals.busiest.get(v.Now(), func() ([]access.Use, error) { return v.Access.BusiestKeys(ctx, busiest) })
	if err != nil {
		return nil, err
	}
	uses = uses[:min(most, len(uses))]
	ids := make([]string, len(uses))
	for i, u := range uses {
		ids[i] = u.KeyID
	}
	keys, workspaces, err := v.Access.LiveKeys(ctx, ids, nil)
	if err != nil {
		return nil, err
	}
	days := map[int64]busyKey{}
	for _, w := range workspaces {
		days[w.ID] = busyKey{workspace: w, day: v.Limiter.PeekWorkspace(w.ID, ratelimit.Limits(w.Quota)).Day}
	}
	var all []busyKey
	for _, k := range keys {
		b := days[k.WorkspaceID]
		b.name, b.Use = k.Name, uses[slices.Index(ids, k.ID)]
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b busyKey) int {
		return cmp.Or(cmp.Compare(b.day.Used*a.day.Limit, a.day.Used*b.day.Limit), cmp.Compare(b.Admitted, a.Admitted), strings.Compare(a.KeyID, b.KeyID))
	})
	return all, nil
}

func listBusy(ctx context.Context, v *visit) (page.List, error) {
	l := page.NewList("Busiest keys", "Keys whose workspaces are nearest their daily quota come first.", "No key was used today.",
		"Key", "Workspace", "Admitted", "Refused", "Workspace's day", "Last used")
	l.Numbers = map[int]bool{2: true, 3: true}
	keys, err := busyKeys(v, ctx, busiest)
	for _, b := range keys {
		l.Rows = append(l.Rows, []page.Cell{
			{Text: access.Printable(b.name), Name: true}, workspaceCell(b.workspace.ID, b.workspace.Name), {Text: page.Number(b.Admitted)}, {Text: page.Number(b.Refused)},
			gaugeCell(b.day), {At: b.LastUsed},
		})
	}
	return l, err
}

// bannedKeys returns the entries of the keys whose ban runs, in the order of their ends.
func bannedKeys(v *visit, ctx context.Context) (entries []*access.Entry[*ratelimit.Caller], err error) {
	ids, err := v.Access.BannedKeys(ctx)
	for _, id := range ids {
		if e := v.Keys.Entry(id); e != nil && e.Key.Ban != nil {
			entries = append(entries, e)
		}
	}
	return entries, err
}

func listBans(ctx context.Context, v *visit) (page.List, error) {
	l := page.NewList("Bans", "Keys that are refused for a while.", "No key is banned.", "Key", "Workspace", "Level", "Reason", "By", "Until", "")
	l.Numbers = map[int]bool{2: true}
	entries, err := bannedKeys(v, ctx)
	for _, e := range entries {
		b := e.Key.Ban
		until := page.Cell{At: b.Until}
		if w, name := (page.KeyLimits{Decision: v.Limiter.Peek(e.Attachment)}).Spent(); name != "" && time.Unix(w.Reset, 0).After(b.Until) {
			until = page.Cell{At: time.Unix(w.Reset, 0).UTC(), Note: "its " + name + " is used up; the ban ends before"}
		}
		l.Rows = append(l.Rows, []page.Cell{
			{Text: access.Printable(e.Key.Name), Name: true}, workspaceCell(e.Workspace.ID, e.Workspace.Name), {Text: page.Text(int64(b.Level))}, {Text: b.Reason, Name: true}, {Text: b.By}, until,
			{Links: []page.Link{{Title: "Lift", URL: "/console/bans/" + e.Key.ID}}},
		})
	}
	return l, err
}

func listHealth(_ context.Context, v *visit) (page.List, error) {
	l := page.NewList("Health", "The state of this node, its database and its limits.", "", "Part", "State")
	for _, f := range v.health() {
		l.Rows = append(l.Rows, []page.Cell{{Text: f.Name}, figureCell(f)})
	}
	return l, nil
}

func figureCell(f Figure) page.Cell {
	c := page.Cell{Text: f.Value, Prose: true}
	switch {
	case f.Bad:
		c.Badge = "banned"
	case f.State:
		c.Badge = "active"
	}
	return c
}
