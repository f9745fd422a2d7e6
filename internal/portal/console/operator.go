package console

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// OperatorOptions are what the operator's console is made of. All are needed.
type OperatorOptions struct {
	Access  access.Store
	Keys    *access.Directory[*ratelimit.Caller]
	Limiter ratelimit.Limiter
	Health  func() []Figure // how this node stands
	Secret  []byte          // of the store
	Now     func() time.Time
	Log     *slog.Logger
}

// A Figure is one line of a node's health.
type Figure struct {
	Name, Value string
	Bad         bool
}

// The operator's session, and the links that begin one.
const (
	operatorCookie  = "petstore_operator"
	operatorPurpose = "operator's link"
	operatorActor   = access.Actor("operator")
)

// NewOperator returns the console of the operator, for a listener that the public does not reach. It serves /console and
// everything below it: all workspaces with their plans, the keys nearest their quota, bans, health and the audit log.
func NewOperator(o OperatorOptions) (*Console, error) {
	if o.Access == nil || o.Keys == nil || o.Limiter == nil || o.Health == nil || o.Now == nil || o.Log == nil {
		return nil, errors.New("console: an option is missing")
	}
	c := &Console{
		Options: Options{Access: o.Access, Keys: o.Keys, Limiter: o.Limiter, Secret: o.Secret, Now: o.Now, Log: o.Log},
		health:  o.Health, origin: http.NewCrossOriginProtection(),
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	c.mux = c.operatorRoutes()
	return c, nil
}

// OperatorPath returns the path of a page on which an operator can sign in, on every node that has the secret: once on
// each, within ten minutes.
func OperatorPath(secret []byte, now time.Time) (string, error) {
	s, err := newSealer(secret)
	if err != nil {
		return "", err
	}
	return "/console/link?token=" + s.seal(operatorPurpose, now.Add(linkLife), "operator"), nil
}

func (c *Console) operatorRoutes() *http.ServeMux {
	t := table{http.NewServeMux()}
	t.open("GET /console/signin", askOperator)
	t.open("GET /console/link", showOperatorLink)
	t.open("POST /console/link", useOperatorLink)
	t.open("POST /console/signout", signOut)
	t.look("/console", showWorkspaces)
	t.look("/console/busy", showBusy)
	t.look("/console/bans", showBans)
	t.look("/console/health", showHealth)
	t.look("/console/audit", showAudit)
	t.change("/console/workspaces/{id}", showPlan, savePlan)
	t.change("/console/bans/{id}", askLift, liftBan)
	return t.ServeMux
}

func operatorNavigation(path string) []navGroup {
	link := func(title, url string) navLink { return navLink{title, url, path == url} }
	return []navGroup{
		{"", []navLink{link("Workspaces", "/console"), link("Busiest keys", "/console/busy"), link("Bans", "/console/bans")}},
		{"Node", []navLink{link("Health", "/console/health"), link("Audit log", "/console/audit")}},
	}
}

// operatorSignedIn returns why there is no operator's session.
func (v *visit) operatorSignedIn() error {
	cookie, err := v.r.Cookie(operatorCookie)
	if err != nil {
		return errNoSession
	}
	if _, _, ok := v.sessions.open(operatorCookie, cookie.Value, v.Now()); !ok {
		return errSession
	}
	v.operator = true
	return nil
}

func askOperator(v *visit) error {
	v.refuse(http.StatusOK, "Operators only", "Run petstore operator login on the machine of the service, and open the link that it prints.")
	return nil
}

func showOperatorLink(v *visit) error {
	token := v.r.URL.Query().Get("token")
	if _, _, ok := v.sessions.open(operatorPurpose, token, v.Now()); !ok {
		return v.operatorLinkEnded()
	}
	return v.render(http.StatusOK, "link", "Sign in", token)
}

func useOperatorLink(v *visit) error {
	token := v.r.PostFormValue("token")
	_, until, ok := v.sessions.open(operatorPurpose, token, v.Now())
	if !ok || !v.used.use(token, until, v.Now()) {
		return v.operatorLinkEnded()
	}
	v.setCookie(operatorCookie, v.sessions.seal(operatorCookie, v.Now().Add(sessionLife), ""), sessionLife)
	v.Log.Info("an operator signed in", "audit", "operator.sign_in")
	return v.redirect("/console")
}

func (v *visit) operatorLinkEnded() error {
	v.refuse(http.StatusGone, "This link has ended", "It has been used, or its ten minutes are over. Run petstore operator login again.")
	return nil
}

// windows returns the windows of the workspaces, by their ids, as far as any of their keys is live.
func (v *visit) windows() map[int64]ratelimit.Decision {
	all := map[int64]ratelimit.Decision{}
	for _, e := range v.Keys.Entries() {
		if _, ok := all[e.Workspace.ID]; !ok {
			all[e.Workspace.ID] = v.Limiter.Peek(v.r.Context(), e.Slot)
		}
	}
	return all
}

func showWorkspaces(v *visit) error {
	list, err := v.Access.Workspaces(v.r.Context())
	if err != nil {
		return err
	}
	l := listOf("Workspaces", "Every store of this installation, with its plan and what it used today.", "There are no workspaces yet.",
		"Name", "Plan", "A minute", "A day", "Used today", "Made", "")
	l.Numbers = map[int]bool{2: true, 3: true, 4: true}
	windows := v.windows()
	for _, w := range list {
		at := "/console/workspaces/" + text(w.ID)
		l.Rows = append(l.Rows, []cell{
			{Text: w.Name, Name: true, URL: at}, {Text: string(w.Plan), Badge: "plan"}, {Text: number(w.Quota.PerMinute)}, {Text: number(w.Quota.PerDay)},
			{Text: number(windows[w.ID].Day.Used)}, {At: w.CreatedAt}, {Links: []link{{Title: "Change plan", URL: at}}},
		})
	}
	return v.render(http.StatusOK, "list", l.Title, l)
}

func listOf(title, lead, empty string, columns ...string) list {
	return list{Title: title, Lead: lead, Empty: empty, Columns: columns}
}

// planForm returns the form of the workspace in the path.
func (v *visit) planForm() (form, access.Workspace, error) {
	id, err := v.number()
	if err != nil {
		return form{}, access.Workspace{}, err
	}
	all, err := v.Access.Workspaces(v.r.Context())
	if err != nil {
		return form{}, access.Workspace{}, err
	}
	i := slices.IndexFunc(all, func(w access.Workspace) bool { return w.ID == id })
	if i < 0 {
		return form{}, access.Workspace{}, errNoPage
	}
	w := all[i]
	var plans []option
	for _, p := range access.Plans() {
		plans = append(plans, option{Value: string(p), Label: string(p)})
	}
	f := form{
		Title: "Plan of " + w.Name, Lead: "It holds for all keys of the workspace, on every node within a second. What was used stays counted.", Submit: "Change the plan",
		Back: link{Title: "Workspaces", URL: "/console"},
		Fields: []field{
			{Name: "plan", Label: "Plan", Kind: "select", Options: choose(plans, string(w.Plan))},
			{Name: "perMinute", Label: "Requests a minute", Kind: "number", Hint: "For enterprise alone."},
			{Name: "perDay", Label: "Requests a day", Kind: "number", Hint: "For enterprise alone."},
		},
	}
	if w.Plan == access.Enterprise {
		f.Fields[1].Value, f.Fields[2].Value = text(w.Quota.PerMinute), text(w.Quota.PerDay)
	}
	return f, w, nil
}

func showPlan(v *visit) error {
	f, _, err := v.planForm()
	if err != nil {
		return err
	}
	return v.show(f)
}

func savePlan(v *visit) error {
	f, w, err := v.planForm()
	if err != nil {
		return err
	}
	in := v.input()
	plan, agreed := access.Plan(in.text("plan")), access.Quota{}
	if plan == access.Enterprise {
		agreed = access.Quota{PerMinute: in.number("perMinute", "This"), PerDay: in.number("perDay", "This")}
	}
	quota, err := access.QuotaFor(plan, agreed)
	if err != nil && len(in.faults) == 0 {
		f.Error = sentence(err)
	}
	if err != nil || len(in.faults) > 0 {
		return v.again(f, in)
	}
	if _, err := v.Access.SetPlan(v.r.Context(), w.Name, plan, quota, operatorActor); err != nil {
		return err
	}
	v.follow()
	return v.done("/console", fmt.Sprintf("The plan of %s is now %s.", w.Name, plan))
}

// follow takes over at once what was changed in the store.
func (v *visit) follow() {
	if err := v.Keys.Refresh(v.r.Context()); err != nil {
		v.Log.Warn("keys could not be refreshed", "err", err) // they will be, in a moment
	}
}

// busiest is how many keys the page of the busiest shows.
const busiest = 50

func showBusy(v *visit) error {
	type busy struct {
		entry *access.Entry[*ratelimit.Caller]
		day   ratelimit.Window
		usage ratelimit.Usage
	}
	var all []busy
	windows := v.windows()
	for _, e := range v.Keys.Entries() {
		if u := v.Limiter.Usage(e.Slot); u.Admitted+u.Refused > 0 {
			all = append(all, busy{e, windows[e.Workspace.ID].Day, u})
		}
	}
	slices.SortFunc(all, func(a, b busy) int {
		return cmp.Or(cmp.Compare(b.day.Used*a.day.Limit, a.day.Used*b.day.Limit), cmp.Compare(b.usage.Admitted, a.usage.Admitted), strings.Compare(a.entry.Key.ID, b.entry.Key.ID))
	})
	l := listOf("Busiest keys", "Those whose workspaces are nearest their quota of the day come first.", "No key was used today.",
		"Key", "Workspace", "Admitted", "Refused", "Workspace's day", "Last used")
	l.Numbers = map[int]bool{2: true, 3: true, 4: true}
	for _, b := range all[:min(len(all), busiest)] {
		l.Rows = append(l.Rows, []cell{
			{Text: b.entry.Key.Name, Name: true}, {Text: b.entry.Workspace.Name, Name: true, URL: "/console/workspaces/" + text(b.entry.Workspace.ID)},
			{Text: number(b.usage.Admitted)}, {Text: number(b.usage.Refused)}, {Text: share(b.day.Used, max(b.day.Limit, 1))}, {At: b.usage.LastUsed},
		})
	}
	return v.render(http.StatusOK, "list", l.Title, l)
}

func showBans(v *visit) error {
	l := listOf("Bans", "Keys that are refused for a while.", "No key is banned.", "Key", "Workspace", "Level", "Reason", "By", "Until", "")
	l.Numbers = map[int]bool{2: true}
	entries := v.Keys.Entries()
	slices.SortFunc(entries, func(a, b *access.Entry[*ratelimit.Caller]) int { return strings.Compare(a.Key.ID, b.Key.ID) })
	for _, e := range entries {
		if b := e.Key.Ban; b != nil && v.Now().Before(b.Until) {
			l.Rows = append(l.Rows, []cell{
				{Text: e.Key.Name, Name: true}, {Text: e.Workspace.Name, Name: true}, {Text: text(int64(b.Level))}, {Text: b.Reason, Name: true}, {Text: b.By}, {At: b.Until},
				{Links: []link{{Title: "Lift", URL: "/console/bans/" + e.Key.ID}}},
			})
		}
	}
	return v.render(http.StatusOK, "list", l.Title, l)
}

func (v *visit) liftForm() (form, access.Key, error) {
	k, err := v.Access.Key(v.r.Context(), v.id)
	if err != nil {
		return form{}, k, err
	}
	if k.Ban == nil {
		return form{}, k, petstore.Errorf(access.CodeKeyNotFound, "The key %s is not banned.", k.ID)
	}
	return form{
		Title: "Lift the ban?", Lead: "The key may be used again within a second. If it goes on as before, the next ban is longer.", Submit: "Lift the ban",
		Back:  link{Title: "Bans", URL: "/console/bans"},
		Facts: append(keyFacts(k), fact{"Reason", cell{Text: k.Ban.Reason, Name: true}}, fact{"Until", cell{At: k.Ban.Until}}),
	}, k, nil
}

func askLift(v *visit) error {
	f, _, err := v.liftForm()
	if err != nil {
		return err
	}
	return v.show(f)
}

func liftBan(v *visit) error {
	_, k, err := v.liftForm()
	if err != nil {
		return err
	}
	if err := v.Access.LiftBan(v.r.Context(), k.ID, operatorActor); err != nil {
		return err
	}
	v.follow()
	return v.done("/console/bans", "The ban was lifted.")
}

func showHealth(v *visit) error {
	l := listOf("Health", "How this node, its store and its limiter stand.", "", "Part", "State")
	for _, f := range v.health() {
		value := cell{Text: f.Value}
		if f.Bad {
			value.Badge = "banned"
		}
		l.Rows = append(l.Rows, []cell{{Text: f.Name}, value})
	}
	return v.render(http.StatusOK, "list", l.Title, l)
}

// latestAudit is how many lines of the audit log are shown.
const latestAudit = 200

func showAudit(v *visit) error {
	entries, err := v.Access.Audit(v.r.Context(), latestAudit)
	if err != nil {
		return err
	}
	l := listOf("Audit log", "The latest changes of workspaces, keys and bans, and who made them.", "Nothing was changed yet.", "Time", "Who", "What", "Whom", "Detail")
	for _, e := range entries {
		l.Rows = append(l.Rows, []cell{{At: e.At}, {Text: string(e.Actor), Code: true}, {Text: e.Action, Code: true}, {Text: e.Subject, Name: true}, {Text: e.Detail, Name: true}})
	}
	return v.render(http.StatusOK, "list", l.Title, l)
}
