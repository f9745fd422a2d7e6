package admin

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

func workspacePath(id int64) string { return "/console/workspaces/" + page.Text(id) }

// gaugeOf is page.GaugeOf for a window of the operator's API.
func gaugeOf(w operator.Window) page.Gauge {
	return page.GaugeOf("", ratelimit.Window{Limit: w.Limit, Used: w.Used, Reset: w.Reset.Unix()})
}

func listWorkspaces(v *visit) (page.List, error) {
	l := page.NewList("Workspaces", "All workspaces of this installation, their plans and their use.", "There are no workspaces yet.",
		"Name", "Plan", "State", "This minute", "Today", "")
	l.Live, l.New = true, &page.Link{Title: "Create a workspace", URL: "/console/workspaces/new"}
	shown, err := workspacePage(v, &l)
	for _, s := range shown {
		minute, day := gaugeOf(s.Minute), gaugeOf(s.Day)
		l.Rows = append(l.Rows, []page.Cell{
			workspaceCell(s.ID, s.Name), planCell(&s.Workspace), quotaCell(&s), {Meter: &minute}, {Meter: &day},
			{Links: []page.Link{{Title: "Change plan", URL: workspacePath(s.ID) + "/plan"}, {Title: "Create a key", URL: workspacePath(s.ID) + "/keys/new"}}},
		})
	}
	return l, err
}

func planCell(w *access.Workspace) page.Cell {
	cell := page.Cell{Text: string(w.Plan), Badge: "plan"}
	if w.Sandbox != nil {
		cell.Note = "sandbox"
	}
	return cell
}

func quotaCell(s *operator.WorkspaceUsage) page.Cell {
	switch s.ExceededWindow() {
	case "day":
		return page.Cell{Text: "over quota", Badge: "banned", Note: "today"}
	case "minute":
		return page.Cell{Text: "over quota", Badge: "banned", Note: "this minute"}
	}
	return page.Cell{Text: "within quota", Badge: "active"}
}

// workspacePage returns the workspaces that the query asks for, and fills in the filters and how the list goes on.
func workspacePage(v *visit, l *page.List) ([]operator.WorkspaceUsage, error) {
	ctx := v.R.Context()
	f := page.Filters{Query: v.R.URL.Query()}
	name := f.Add(page.Field{Name: "name", Label: "Name", Hint: "Part of a name"})
	plan := f.Add(page.Field{Name: "plan", Label: "Plan", Kind: "select", Options: page.OptionsOf("Any plan", access.Plans()...)})
	sorted := f.Add(page.Field{Name: "sort", Label: "Sorted by", Kind: "select", Options: []page.Option{{Label: "name"}, {Value: "use", Label: "over quota, then use"}}})
	if l.Filters = f; f.Wrong() != nil {
		return nil, nil //nolint:nilerr // the list says it
	}
	from := int(page.PlaceIn(f.Query, "from"))
	next := strconv.Itoa(from + page.PageSize)
	onPage := func(some []access.Workspace) []access.Workspace {
		return page.Cut(l, v.R.URL, some, "from", func(*access.Workspace) string { return next })
	}
	if !l.Filtered() {
		some, err := v.Access.Workspaces(ctx, from, page.PageSize+1)
		if err != nil {
			return nil, err
		}
		return v.acting().WithUsage(ctx, onPage(some))
	}
	all, err := v.Access.Workspaces(ctx, 0, math.MaxInt)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(w access.Workspace) bool {
		return !strings.Contains(strings.ToLower(w.Name), strings.ToLower(name)) || plan != "" && string(w.Plan) != plan
	})
	if sorted == "" { // with Redis each window is a call
		return v.acting().WithUsage(ctx, onPage(all[min(from, len(all)):]))
	}
	usage, err := v.acting().WithUsage(ctx, all)
	if err != nil {
		return nil, err
	}
	operator.ByUse(usage)
	return page.Cut(l, v.R.URL, usage[min(from, len(usage)):], "from", func(*operator.WorkspaceUsage) string { return next }), nil
}

// workspaceInPath returns the workspace in the path, and the link to its page.
func workspaceInPath(v *visit) (w operator.WorkspaceDetail, at page.Link, err error) {
	id, err := page.NumberOf(v.ID)
	if err == nil {
		w, err = v.acting().Workspace(v.R.Context(), id)
	}
	return w, page.Link{Title: access.Printable(w.Name), URL: workspacePath(id)}, err
}

func showWorkspace(v *visit) error {
	w, at, err := workspaceInPath(v)
	if err != nil {
		return err
	}
	chart, err := page.ChartOf(v.Visit, w.ID)
	if err != nil {
		return err
	}
	all, err := v.Access.KeyPage(v.R.Context(), w.ID, access.KeyPage{Limit: math.MaxInt})
	if err != nil {
		return err
	}
	keys, err := page.KeyRows(v.Visit, all)
	if err != nil {
		return err
	}
	audit, err := auditSheet(v, w.ID)
	plan := planCell(&w.Workspace)
	f := page.Form{
		Title: at.Title, State: &plan, Back: page.Link{Title: "Workspaces", URL: "/console/workspaces"}, Wide: true, Chart: &chart,
		Lead:   fmt.Sprintf("%s a minute, %s a day. Created %s.", page.Counted(w.PerMinute, "request", "requests"), page.Number(w.PerDay), page.InWords(w.CreatedAt)),
		Links:  []page.Link{{Title: "Change plan", URL: at.URL + "/plan"}, {Title: "Create a key", URL: at.URL + "/keys/new"}, {Title: "Let the owner in", URL: at.URL + "/owner"}},
		Facts:  workspaceFacts(&w),
		Sheets: []page.List{keySheet(w.ID, keys), refusalSheet(v, w.ID, all), audit},
	}
	if over := w.ExceededWindow(); over != "" {
		full := map[string]operator.Window{"day": w.Day, "minute": w.Minute}[over]
		f.Alert = fmt.Sprintf("Over quota: the limit of %s a %s is used up. More are refused until %s.", page.Counted(full.Limit, "request", "requests"), over, page.InWords(full.Reset))
	}
	return cmp.Or(err, v.Show(http.StatusOK, f))
}

// workspaceFacts are what a workspace has used and has.
func workspaceFacts(w *operator.WorkspaceDetail) []page.Fact {
	minute, day := gaugeOf(w.Minute), gaugeOf(w.Day)
	keys := page.Cell{Text: page.Number(int64(w.Keys)), Note: "never used"}
	if w.LastUsedAt != nil {
		keys.Note, keys.At = "last used", *w.LastUsedAt
	}
	return []page.Fact{
		{Title: "This minute", Cell: page.Cell{Meter: &minute, Note: minute.Left + " left, resets", At: minute.Reset}}, {Title: "Today (UTC)", Cell: page.Cell{Meter: &day, Note: day.Left + " left, resets", At: day.Reset}},
		{Title: "Live keys", Cell: keys}, {Title: "Contents", Cell: page.Cell{Text: page.Counted(w.Pets, "pet", "pets"), Note: page.Counted(w.Orders, "order", "orders") + ", " + page.Counted(w.Categories, "category", "categories")}},
	}
}

func keySheet(id int64, keys []page.KeyRow) page.List {
	l := page.NewList("Keys", "", "It has no keys.", append(page.KeyColumns(), "")...)
	l.Numbers[5], l.New = true, &page.Link{Title: "Create a key", URL: workspacePath(id) + "/keys/new"}
	slices.Reverse(keys)
	slices.SortStableFunc(keys, func(a, b page.KeyRow) int { return strings.Compare(rank(a.State), rank(b.State)) })
	for i := range keys[:min(len(keys), 2*page.PageSize)] {
		l.Rows = append(l.Rows, keyCells(&keys[i]))
	}
	return l
}

// rank sorts refused keys first, and ended ones last.
func rank(state string) string {
	return map[string]string{"banned": "0", "active": "1"}[state] + state
}

// keyCells returns the row of a key, with its id for the commands below the key, and the way to lift its ban.
func keyCells(k *page.KeyRow) []page.Cell {
	row := append(k.Cells(), page.Cell{})
	row[1].Note = k.ID
	if k.State == "banned" {
		row[3].Note = k.Ban.Reason + ", until"
		row[6].Links = []page.Link{{Title: "Lift", URL: "/console/bans/" + k.ID}}
	}
	return row
}

const maxRefusals = 10

// refusalSheet has the latest requests that this node refused or failed.
func refusalSheet(v *visit, id int64, keys []access.Key) page.List {
	l := page.NewList("Latest refusals on this node", "", "No request was refused lately.", "Time", "Request", "Answer", "Key")
	names := page.KeyNames(keys)
	for _, e := range v.Usage.Latest(id) {
		if usage.ClassOf(e.Status) < usage.ClientError || len(l.Rows) == maxRefusals {
			continue
		}
		l.Rows = append(l.Rows, []page.Cell{
			{At: e.At}, {Text: e.Method + " " + e.Path, Code: true}, {Text: strconv.Itoa(e.Status) + " " + e.Code, Code: true}, {Text: names[e.KeyID], Name: true},
		})
	}
	return l
}
