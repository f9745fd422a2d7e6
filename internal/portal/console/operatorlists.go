package console

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
)

// A lister reads a list as it is now.
type lister func(context.Context, *visit) (list, error)

// follow adds the page of a list that changes by itself, and what tells it so.
func (t *table) follow(path string, read lister) {
	t.look(path, func(v *visit) error {
		l, err := read(v.r.Context(), v)
		l.Live = address(path+"/live", v.r.URL.Query())
		return v.list(l, err)
	})
	t.stream(path+"/live", func(v *visit) error { return v.live(changedRows(read), nil) })
}

// changedRows returns what sends the rows of a list, if they are others than those that were sent before.
func changedRows(read lister) func(context.Context, stream) error {
	sent := ""
	return func(ctx context.Context, s stream) error {
		l, err := read(ctx, s.v)
		if err != nil {
			return err
		}
		rows := l.Rows
		if rows == nil {
			rows = [][]cell{}
		}
		s.v.lead(rows)
		text, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		if string(text) == sent {
			return s.write(": still here\n\n")
		}
		sent = string(text)
		return s.send("rows", json.RawMessage(text))
	}
}

// lead has the links of rows begin where the reader's browser finds the console.
func (v *visit) lead(rows [][]cell) {
	for _, row := range rows {
		for i := range row {
			if row[i].URL != "" {
				row[i].URL = v.at(row[i].URL)
			}
		}
	}
}

func listOf(title, lead, empty string, columns ...string) list {
	return list{Title: title, Lead: lead, Empty: empty, Columns: columns, Numbers: map[int]bool{}}
}

func workspaceCell(id int64, name string) cell {
	return cell{Text: access.Printable(name), Name: true, URL: workspacePath(id)}
}

func meterCell(w ratelimit.Window) cell {
	m := meterOf("", w)
	return cell{Meter: &m}
}

// busiest is how many keys the page of the busiest shows.
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
func (v *visit) busyKeys(ctx context.Context, most int) ([]busyKey, error) {
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
		days[w.ID] = busyKey{workspace: w, day: v.Limiter.PeekWorkspace(ctx, w.ID, ratelimit.Limits(w.Quota)).Day}
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

func listBusy(ctx context.Context, v *visit) (list, error) {
	l := listOf("Busiest keys", "Keys whose workspaces are nearest their daily quota come first.", "No key was used today.",
		"Key", "Workspace", "Admitted", "Refused", "Workspace's day", "Last used")
	l.Numbers = map[int]bool{2: true, 3: true}
	keys, err := v.busyKeys(ctx, busiest)
	for _, b := range keys {
		l.Rows = append(l.Rows, []cell{
			{Text: access.Printable(b.name), Name: true}, workspaceCell(b.workspace.ID, b.workspace.Name), {Text: number(b.Admitted)}, {Text: number(b.Refused)},
			meterCell(b.day), {At: b.LastUsed},
		})
	}
	return l, err
}

// banned returns the entries of the keys whose ban runs, in the order of their ends.
func (v *visit) banned(ctx context.Context) (entries []*access.Entry[*ratelimit.Caller], err error) {
	ids, err := v.Access.BannedKeys(ctx)
	for _, id := range ids {
		if e := v.Keys.Entry(id); e != nil && e.Key.Ban != nil {
			entries = append(entries, e)
		}
	}
	return entries, err
}

func listBans(ctx context.Context, v *visit) (list, error) {
	l := listOf("Bans", "Keys that are refused for a while.", "No key is banned.", "Key", "Workspace", "Level", "Reason", "By", "Until", "")
	l.Numbers = map[int]bool{2: true}
	entries, err := v.banned(ctx)
	for _, e := range entries {
		b := e.Key.Ban
		until := cell{At: b.Until}
		if w, name := (keyLimits{v.Limiter.Peek(ctx, e.Slot)}).spent(); name != "" && time.Unix(w.Reset, 0).After(b.Until) {
			until = cell{At: time.Unix(w.Reset, 0).UTC(), Note: "its " + name + " is used up; the ban ends before"}
		}
		l.Rows = append(l.Rows, []cell{
			{Text: access.Printable(e.Key.Name), Name: true}, workspaceCell(e.Workspace.ID, e.Workspace.Name), {Text: text(int64(b.Level))}, {Text: b.Reason, Name: true}, {Text: b.By}, until,
			{Links: []link{{Title: "Lift", URL: "/console/bans/" + e.Key.ID}}},
		})
	}
	return l, err
}

func listHealth(_ context.Context, v *visit) (list, error) {
	l := listOf("Health", "The state of this node, its database and its limits.", "", "Part", "State")
	for _, f := range v.health() {
		l.Rows = append(l.Rows, []cell{{Text: f.Name}, figureCell(f)})
	}
	return l, nil
}

func figureCell(f Figure) cell {
	c := cell{Text: f.Value, Prose: true}
	switch {
	case f.Bad:
		c.Badge = "banned"
	case f.State:
		c.Badge = "active"
	}
	return c
}
