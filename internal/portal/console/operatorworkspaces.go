package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

func workspacePath(id int64) string { return "/console/workspaces/" + text(id) }

// meterOfUse is meterOf for a window as the operator's API has it.
func meterOfUse(name string, w operator.Window) meter {
	return meterOf(name, ratelimit.Window{Limit: w.Limit, Used: w.Used, Reset: w.Reset.Unix()})
}

func listWorkspaces(ctx context.Context, v *visit) (list, error) {
	l := listOf("Workspaces", "All workspaces of this installation, their plans and their use.", "There are no workspaces yet.",
		"Name", "Plan", "State", "This minute", "Today", "")
	l.New = &link{Title: "Create a workspace", URL: "/console/workspaces/new"}
	shown, err := v.workspacePage(ctx, &l)
	for _, s := range shown {
		minute, day := meterOfUse("", s.Minute), meterOfUse("", s.Day)
		l.Rows = append(l.Rows, []cell{
			workspaceCell(s.ID, s.Name), {Text: string(s.Plan), Badge: "plan"}, quotaCell(&s), {Meter: &minute}, {Meter: &day},
			{Links: []link{{Title: "Change plan", URL: workspacePath(s.ID) + "/plan"}, {Title: "Create a key", URL: workspacePath(s.ID) + "/keys/new"}}},
		})
	}
	return l, err
}

// quotaCell says whether a workspace is over its quota.
func quotaCell(s *operator.Standing) cell {
	switch s.Over() {
	case "day":
		return cell{Text: "over quota", Badge: "banned", Note: "today"}
	case "minute":
		return cell{Text: "over quota", Badge: "banned", Note: "this minute"}
	}
	return cell{Text: "within quota", Badge: "active"}
}

// workspacePage returns the workspaces that the query asks for, and fills in the filters and how the list goes on.
func (v *visit) workspacePage(ctx context.Context, l *list) ([]operator.Standing, error) {
	query := v.r.URL.Query()
	name, plan, state, sorted := query.Get("name"), query.Get("plan"), query.Get("state"), query.Get("sort")
	l.Filters = []field{
		{Name: "name", Label: "Name", Value: name, Hint: "Part of a name"},
		{Name: "plan", Label: "Plan", Kind: "select", Options: choose(optionsOf("Any plan", access.Plans()...), plan)},
		{Name: "state", Label: "State", Kind: "select", Options: choose([]option{{Label: "Any state"}, {Value: "over", Label: "over quota"}}, state)},
		{Name: "sort", Label: "Sorted by", Kind: "select", Options: choose([]option{{Label: "name"}, {Value: "use", Label: "over quota, then use"}}, sorted)},
	}
	l.Filtered = name != "" || plan != "" || state != ""
	from := int(placeIn(query, "from"))
	next := strconv.Itoa(from + pageSize)
	page := func(some []operator.Workspace) []operator.Workspace {
		return pageOf(v, l, some, "from", func(*operator.Workspace) string { return next })
	}
	if !l.Filtered && sorted == "" {
		some, err := v.acting().WorkspacesFrom(ctx, from, pageSize+1)
		if err != nil {
			return nil, err
		}
		return v.acting().Standings(ctx, page(some))
	}
	all, err := v.acting().Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(w operator.Workspace) bool {
		return !strings.Contains(strings.ToLower(w.Name), strings.ToLower(name)) || plan != "" && string(w.Plan) != plan
	})
	if state == "" && sorted == "" { // with Redis each window is a call
		return v.acting().Standings(ctx, page(all[min(from, len(all)):]))
	}
	standings, err := v.acting().Standings(ctx, all)
	if err != nil {
		return nil, err
	}
	if state == "over" {
		standings = slices.DeleteFunc(standings, func(s operator.Standing) bool { return s.Over() == "" })
	}
	if sorted == "use" {
		operator.ByUse(standings)
	}
	return pageOf(v, l, standings[min(from, len(standings)):], "from", func(*operator.Standing) string { return next }), nil
}

// A workspaceView is the page of a workspace.
type workspaceView struct {
	Name, Path, Lead         string
	Plan                     access.Plan
	Made, Used               time.Time
	Over                     string // in words, or ""
	Meters                   []meter
	Keys                     int64
	Pets, Orders, Categories int64
	drawing
	Spans  []navLink
	Sheets []list
}

// workspace returns the workspace in the path.
func (v *visit) workspace() (operator.Detail, error) {
	id, err := v.number()
	if err != nil {
		return operator.Detail{}, err
	}
	return v.acting().Workspace(v.r.Context(), id)
}

func showWorkspace(v *visit) error {
	w, err := v.workspace()
	if err != nil {
		return err
	}
	page := workspaceView{
		Name: access.Printable(w.Name), Path: workspacePath(w.ID), Plan: w.Plan, Made: *w.CreatedAt,
		Lead:   fmt.Sprintf("%s requests a minute, %s a day.", number(w.PerMinute), number(w.PerDay)),
		Meters: []meter{meterOfUse("This minute", w.Minute), meterOfUse("Today (UTC)", w.Day)},
		Keys:   int64(w.Keys), Pets: w.Pets, Orders: w.Orders, Categories: w.Categories,
	}
	if w.LastUsedAt != nil {
		page.Used = *w.LastUsedAt
	}
	switch w.Over() {
	case "day":
		page.Over = fmt.Sprintf("Over quota: the %s requests of this day are used up. More are refused until %s.", number(w.Day.Limit), inWords(w.Day.Reset))
	case "minute":
		page.Over = fmt.Sprintf("Over quota: the %s requests of this minute are used up. More are refused until %s.", number(w.Minute.Limit), inWords(w.Minute.Reset))
	}
	if err := v.addUse(&page, w.ID); err != nil {
		return err
	}
	all, err := v.Access.Keys(v.r.Context(), w.ID)
	if err != nil {
		return err
	}
	keys, err := v.rowsOf(all)
	if err != nil {
		return err
	}
	audit, err := v.auditSheet(w.ID)
	if err != nil {
		return err
	}
	page.Sheets = []list{keySheet(w.ID, keys), v.refusalSheet(w.ID, all), audit}
	return v.render(http.StatusOK, "workspace", page.Name, page)
}

// addUse adds what the workspace did, as a chart.
func (v *visit) addUse(page *workspaceView, id int64) error {
	s := spanOf(spans(), v.r.URL.Query().Get("range"))
	rows, err := v.Usage.Series(v.r.Context(), id, s.step, s.first(v.Now()), v.Now())
	page.drawing, page.Spans = draw(rows, s, v.Now()), s.links(spans(), page.Path)
	return err
}

func keySheet(id int64, keys []keyRow) list {
	l := listOf("Keys", "", "It has no keys.", append(keyColumns(), "")...)
	l.Numbers[5], l.New = true, &link{Title: "Create a key", URL: workspacePath(id) + "/keys/new"}
	slices.Reverse(keys)
	slices.SortStableFunc(keys, func(a, b keyRow) int { return strings.Compare(rank(a.state), rank(b.state)) })
	for i := range keys[:min(len(keys), 2*pageSize)] {
		l.Rows = append(l.Rows, operatorKeyCells(&keys[i]))
	}
	return l
}

// rank has the keys that are refused first, and those that are no more last.
func rank(state string) string {
	return map[string]string{"banned": "0", "active": "1"}[state] + state
}

// operatorKeyCells returns the row of a key, with what an operator can do.
func operatorKeyCells(k *keyRow) []cell {
	row, at := k.cells(), "/console/keys/"+k.ID
	var links []link
	switch k.state {
	case "banned":
		row[3].Note = k.Ban.Reason + ", until"
		links = []link{{Title: "Lift", URL: "/console/bans/" + k.ID}}
	case "active":
		links = []link{{Title: "Ban", URL: at + "/ban"}}
		if k.RotatedTo == "" {
			links = append(links, link{Title: "Rotate", URL: at + "/rotate"})
		}
	}
	if k.state != "revoked" {
		links = append(links, link{Title: "Revoke", URL: at + "/revoke", Danger: true})
	}
	return append(row, cell{Links: links})
}

// mostRefusals is how many refused requests the page of a workspace shows.
const mostRefusals = 10

// refusalSheet has the latest requests that this node refused or failed.
func (v *visit) refusalSheet(id int64, keys []access.Key) list {
	l := listOf("Latest refusals on this node", "", "No request was refused lately.", "Time", "Request", "Answer", "Key")
	names := keyNames(keys)
	for _, e := range v.Usage.Latest(id) {
		if usage.ClassOf(e.Status) < usage.ClientError || len(l.Rows) == mostRefusals {
			continue
		}
		l.Rows = append(l.Rows, []cell{
			{At: e.At}, {Text: e.Method + " " + e.Path, Code: true}, {Text: strconv.Itoa(e.Status) + " " + e.Code, Code: true}, {Text: names[e.KeyID], Name: true},
		})
	}
	return l
}

// removalPatience is how long a page may take that removes what a workspace has.
const removalPatience = 10 * time.Minute

func resetWorkspace(v *visit) (form, error) {
	f, w, err := v.removal("Reset", "Its pets, categories, orders, stock and ledger are removed. Its keys, webhooks and plan stay. This cannot be undone.", "Reset the workspace")
	f.send = func(in *input) error {
		return v.remove(in, &w, v.acting().Reset, workspacePath(w.ID), "The workspace was reset.")
	}
	return f, err
}

func deleteWorkspace(v *visit) (form, error) {
	f, w, err := v.removal("Delete", "The workspace is removed with its pets, categories, orders, stock, ledger, webhooks and all of its keys. This cannot be undone.", "Delete the workspace")
	f.send = func(in *input) error {
		return v.remove(in, &w, v.acting().Delete, "/console/workspaces", "The workspace was deleted.")
	}
	return f, err
}

// removal returns the form that takes away what the workspace in the path has, or all of it.
func (v *visit) removal(what, lead, submit string) (form, operator.Detail, error) {
	w, err := v.workspace()
	name := access.Printable(w.Name)
	return form{
		Title: what + " " + name + "?", Lead: lead, Submit: submit, Danger: true, Back: link{Title: name, URL: workspacePath(w.ID)},
		Fields: []field{{Name: "name", Label: "Name of the workspace", Required: true, Hint: "Enter it to confirm: " + name}},
		Facts: []fact{
			{"Pets", cell{Text: number(w.Pets)}}, {"Orders", cell{Text: number(w.Orders)}}, {"Categories", cell{Text: number(w.Categories)}}, {"Live keys", cell{Text: number(int64(w.Keys))}},
		},
	}, w, err
}

// remove goes on to the end if the one who asked for it leaves.
func (v *visit) remove(in *input, w *operator.Detail, do func(context.Context, int64) error, to, said string) error {
	if strings.TrimSpace(in.text("name")) != access.Printable(w.Name) {
		return wrong("name", "This is not the name of the workspace.")
	}
	v.extend(removalPatience)
	return v.changed(to, said, do(context.WithoutCancel(v.r.Context()), w.ID))
}
