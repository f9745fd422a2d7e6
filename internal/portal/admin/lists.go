package admin

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/ratelimit"
)

func workspaceCell(id int64, name string) page.Cell {
	return page.Cell{Text: access.Printable(name), Name: true, URL: workspacePath(id)}
}

const busiest = 50

// busyKeys lists the busiest keys that were used today, those whose workspaces are now nearest their quota first.
func busyKeys(v *visit, t totals) (page.List, error) {
	l := page.NewList("Nearest their quota", "The keys that were used most today, those whose workspaces are nearest their daily quota first.", "No key was used today.",
		"Key", "Workspace", "Admitted", "Refused", "Workspace's day", "Last used")
	l.Numbers = map[int]bool{2: true, 3: true}
	uses := map[string]access.Use{}
	for _, u := range t.busiest {
		uses[u.KeyID] = u
	}
	keys, workspaces, err := v.Access.LiveKeys(v.R.Context(), slices.Collect(maps.Keys(uses)), nil)
	days, names := map[int64]ratelimit.Window{}, map[int64]string{}
	for _, w := range workspaces {
		days[w.ID], names[w.ID] = v.Limiter.PeekWorkspace(w.ID, ratelimit.Limits(w.Quota)).Day, w.Name
	}
	slices.SortFunc(keys, func(a, b access.Key) int {
		x, y := days[a.WorkspaceID], days[b.WorkspaceID]
		return cmp.Or(cmp.Compare(y.Used*x.Limit, x.Used*y.Limit), cmp.Compare(uses[b.ID].Admitted, uses[a.ID].Admitted), strings.Compare(a.ID, b.ID))
	})
	for _, k := range keys {
		day := page.GaugeOf("", days[k.WorkspaceID])
		l.Rows = append(l.Rows, []page.Cell{
			{Text: access.Printable(k.Name), Name: true}, workspaceCell(k.WorkspaceID, names[k.WorkspaceID]), {Text: page.Number(uses[k.ID].Admitted)}, {Text: page.Number(uses[k.ID].Refused)},
			{Meter: &day}, {At: uses[k.ID].LastUsed},
		})
	}
	return l, err
}

// bannedKeys returns the entries of the keys whose ban runs, in the order of their ends.
func bannedKeys(v *visit) (entries []*access.Entry[*ratelimit.Caller], err error) {
	ids, err := v.Access.BannedKeys(v.R.Context())
	for _, id := range ids {
		if e := v.Keys.Entry(id); e != nil && e.Key.Ban != nil {
			entries = append(entries, e)
		}
	}
	return entries, err
}

func listBans(v *visit) (page.List, error) {
	l := page.NewList("Bans", "Keys that are refused for a while.", "No key is banned.", "Key", "Workspace", "Level", "Reason", "By", "Until", "")
	l.Live, l.Numbers = true, map[int]bool{2: true}
	entries, err := bannedKeys(v)
	for _, e := range entries {
		b := e.Key.Ban
		l.Rows = append(l.Rows, []page.Cell{
			{Text: access.Printable(e.Key.Name), Name: true}, workspaceCell(e.Workspace.ID, e.Workspace.Name), {Text: page.Text(int64(b.Level))}, {Text: b.Reason, Name: true}, {Text: b.By}, {At: b.Until},
			{Links: []page.Link{{Title: "Lift", URL: "/console/bans/" + e.Key.ID}}},
		})
	}
	return l, err
}

func listHealth(v *visit) (page.List, error) {
	l := page.NewList("Health", "The state of this node, its database and its limits.", "", "Part", "State")
	l.Live = true
	health := v.Health()
	for _, first := range []bool{true, false} { // what is wrong
		for _, f := range health {
			if f.Bad == first {
				l.Rows = append(l.Rows, []page.Cell{{Text: f.Name}, figureCell(f)})
			}
		}
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

const auditPage = 50

// auditQuery returns what the address asks of the audit log, and the filters.
func auditQuery(v *visit) (operator.AuditQuery, page.Filters) {
	f := page.Filters{Query: v.R.URL.Query()}
	kinds := []page.Option{{Label: "Any action"}}
	for _, kind := range []string{"workspace", "key", "ban", "webhook", "token", "operator", "console", "backup"} {
		kinds = append(kinds, page.Option{Value: kind, Label: kind + ".…"})
	}
	q := operator.AuditQuery{Limit: auditPage, Before: page.PlaceIn(f.Query, "before"), Workspace: page.PlaceIn(f.Query, "workspace")}
	q.Text = f.Add(page.Field{Name: "text", Label: "Text", Hint: "Name, id or word"})
	q.Action = f.Add(page.Field{Name: "action", Label: "Action", Kind: "select", Options: kinds})
	return q, f
}

// listAudit returns the page of the audit log that the query asks for.
func listAudit(v *visit) (page.List, error) {
	l := page.NewList("Audit log", "Who signed in, and who changed workspaces, keys and bans: the latest first.", "Nothing has happened yet.", "Time", "Actor", "Action", "Target", "Details")
	q, f := auditQuery(v)
	if l.Filters = f; f.Wrong() != nil {
		return l, nil //nolint:nilerr // the list says it
	}
	if q.Workspace != 0 {
		w, err := v.acting().Workspace(v.R.Context(), q.Workspace)
		if err != nil {
			return l, err
		}
		l.Lead = "What was done to the workspace " + access.Printable(w.Name) + " and its keys: the latest first."
		l.Fields = append(l.Fields, page.Field{Name: "workspace", Kind: "hidden", Value: page.Text(q.Workspace)})
	}
	entries, next, err := v.acting().Audit(v.R.Context(), q)
	l.Rows = auditRows(entries)
	f.Query.Del("before")
	l.CSV = page.Address("/console/audit.csv", f.Query)
	l.Live = true
	l.Turn(v.R.URL, "before", page.Text(next), next != 0)
	return l, err
}

func auditRows(entries []operator.AuditEntry) (rows [][]page.Cell) {
	for _, e := range entries {
		rows = append(rows, []page.Cell{{At: e.At}, {Text: e.ActorName, Name: true}, {Text: e.Action, Code: true}, {Text: e.SubjectName, Name: true}, {Text: e.DetailNamed, Name: true, Prose: true}})
	}
	return rows
}

// auditSheet is the latest of the audit log about a workspace.
func auditSheet(v *visit, id int64) (page.List, error) {
	l := page.NewList("Audit log", "", "Nothing has happened yet.", "Time", "Actor", "Action", "Target", "Details")
	l.New = &page.Link{Title: "All", URL: "/console/audit?workspace=" + page.Text(id)}
	entries, _, err := v.acting().Audit(v.R.Context(), operator.AuditQuery{Limit: 10, Workspace: id})
	l.Rows = auditRows(entries)
	return l, err
}

// auditCSV sends all that the query asks for of the audit log.
func auditCSV(v *visit) error {
	q, f := auditQuery(v)
	if err := f.Wrong(); err != nil {
		return err
	}
	q.Before, q.Limit = 0, 1000
	return v.CSV([]string{"id", "at", "actor", "actorName", "action", "subject", "subjectName", "detail"}, func(row func([]string) error) error {
		for {
			page.Extend(v.W, page.DownloadTimeout)
			entries, next, err := v.acting().Audit(v.R.Context(), q)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if err := row([]string{
					page.Text(e.ID), e.At.Format(time.RFC3339Nano), page.CSVText(string(e.Actor)), page.CSVText(e.ActorName), e.Action, page.CSVText(e.Subject), page.CSVText(e.SubjectName), page.CSVText(e.Detail),
				}); err != nil {
					return err
				}
			}
			if q.Before = next; next == 0 {
				return nil
			}
		}
	})
}
