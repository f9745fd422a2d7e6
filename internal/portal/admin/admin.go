// Package admin is the operator's console: all workspaces with their plans and use, the keys nearest their quota, bans,
// health and the audit log. It is for a listener that the public does not reach.
package admin

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/portal/page"
)

// Options configure the operator's console. All are needed.
type Options struct {
	Page   page.Options
	Public string          // where owners and programs reach the service
	Health func() []Figure // how this node stands
}

// A Figure is one line of a node's health.
type Figure struct {
	Name, Value string
	State       bool // it is not a number: ready, or an error
	Bad         bool
}

// actor names this console's changes in the audit log.
const actor = access.Actor("operator")

// linkPurpose is what links to sign in are for.
const linkPurpose = "operator's link"

// A Console serves /console and everything below it. It may be used concurrently.
type Console struct {
	Options
	site *page.Site

	mu     sync.Mutex
	totals totals
}

//go:embed templates
var templateFiles embed.FS

// New returns the console of o.
func New(o Options) (*Console, error) {
	if o.Health == nil {
		return nil, errors.New("console: an option is missing")
	}
	site, err := page.New(o.Page, page.Kind{Cookie: "petstore_operator", Link: linkPurpose, Templates: templateFiles, Routes: Routes()})
	return &Console{Options: o, site: site}, err
}

// ServeHTTP answers one request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.site.Serve(w, r, func(v *page.Visit) page.Guest { return &visit{Visit: v, Console: c} })
}

// Routes returns all routes of the operator's console.
func Routes() []page.Route {
	var t page.Table[*visit]
	t.Open("GET", "/console/signin", showSignIn)
	t.Open("GET", "/console/link", func(v *visit) error { return v.ShowLink(v.linkEnded) })
	t.Open("POST", "/console/link", useLink)
	t.Open("POST", "/console/signout", func(v *visit) error { return signOut(v, false, "from ") })
	t.Form(access.Read, "/console/signout/everywhere", signOutEverywhere)
	t.Look("/console", showOverview)
	t.Look("/console/{$}", func(v *visit) error { return v.Redirect("/console") })
	t.List("/console/workspaces", listWorkspaces)
	t.List("/console/bans", listBans)
	t.List("/console/health", listHealth)
	t.List("/console/audit", listAudit)
	t.Download("/console/audit.csv", auditCSV)
	t.Form(access.Write, "/console/workspaces/new", newWorkspace)
	t.Look("/console/workspaces/{id}", showWorkspace)
	t.Form(access.Write, "/console/workspaces/{id}/plan", changePlan)
	t.Form(access.Write, "/console/workspaces/{id}/keys/new", newWorkspaceKey)
	t.Form(access.Write, "/console/workspaces/{id}/owner", letOwnerIn)
	t.Form(access.Write, "/console/bans/{id}", liftBan)
	return t
}

// SignInPath issues a link: it returns the path of a page on which an operator can sign in, once within ten minutes,
// on every node with the same store. It adds an entry to the audit log.
func SignInPath(ctx context.Context, store access.Store, now time.Time, by access.Actor) (string, error) {
	secret, err := store.Secret(ctx)
	if err != nil {
		return "", err
	}
	until := now.Add(page.LinkLife)
	path, err := page.LinkPath(secret, linkPurpose, until, "operator")
	if err != nil {
		return "", err
	}
	issued := access.AuditEntry{Actor: by, Action: "operator.link", Subject: "operator", Detail: "a link to sign in, until " + until.UTC().Format(time.RFC3339)}
	return path, store.Note(ctx, issued)
}

// A visit is one request of an operator, or of somebody who is not signed in.
type visit struct {
	*page.Visit
	*Console
}

func (v *visit) Identify(s *access.Session) error {
	if s.KeyID != "" {
		return page.ErrSession
	}
	return nil
}

// Admit implements page.Guest. Requests of operators are not counted.
func (v *visit) Admit(*page.Route) error { return nil }

// Enter implements page.Guest. Operators do not wait.
func (v *visit) Enter(bool) (leave func(), err error) { return func() {}, nil }

// May implements page.Guest: an operator may do everything.
func (v *visit) May(access.Scopes) bool { return true }

func (v *visit) Locked() string { return "" }

func (v *visit) Workspace() int64 { return 0 }

func (v *visit) Describe(to *page.View) {
	if v.Session != nil {
		to.Operator, to.Workspace = true, "Operator"
	}
}

// acting returns the operator who is signed in.
func (v *visit) acting() *operator.Local {
	return &operator.Local{Store: v.Access, Counts: operator.Live(v.Limiter), Now: v.Now, By: actor}
}

func showSignIn(v *visit) error {
	return v.Refuse(http.StatusOK, "Operators only", "Run petstore operator login on the machine of the service, and open the link that it prints.")
}

// AskAgain implements page.Guest: a link opens in another tab, and this page can be sent once more.
func (v *visit) AskAgain(why page.Notice) error {
	return v.Refuse(http.StatusForbidden, "Your session is over", "Nothing was done. Run petstore operator login, open the link that it prints in another tab, and sign in. Then reload this page: that sends what you entered once more.")
}

func useLink(v *visit) error {
	_, link, ok := v.OpenLink()
	if !ok {
		return v.linkEnded()
	}
	return v.UseLink(link, "", access.AuditEntry{Actor: actor, Action: "operator.sign_in", Subject: "operator"}, v.linkEnded)
}

func (v *visit) linkEnded() error {
	return v.Refuse(http.StatusGone, "This link has ended", "It has been used, or its ten minutes are over. Run petstore operator login again.")
}

func signOutEverywhere(v *visit) (page.Form, error) {
	f := page.EverywhereForm("All sessions of operators end, in all browsers.")
	f.Send = func(*page.Input) error { return signOut(v, true, "everywhere, from ") }
	return f, nil
}

// signOut ends a session of the operator's, or all of them, and notes it in the audit log.
func signOut(v *visit, everywhere bool, detail string) error {
	if v.Session != nil {
		left := access.AuditEntry{Actor: actor, Action: "operator.sign_out", Subject: "operator", Detail: detail + page.From(v.R)}
		if err := v.Access.Note(v.R.Context(), left); err != nil {
			v.Log.Error("a sign-out is not in the audit log", "err", err) // the session has ended all the same
		}
	}
	return v.SignOut(everywhere)
}
