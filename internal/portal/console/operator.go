package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

// OperatorOptions are what the operator's console is made of. All but Done are needed.
type OperatorOptions struct {
	Access  access.Store
	Keys    *access.Directory[*ratelimit.Caller]
	Limiter ratelimit.Limiter
	Usage   *usage.Recorder
	Health  func() []Figure // how this node stands
	Secret  []byte          // of the store
	Now     func() time.Time
	Log     *slog.Logger
	Done    <-chan struct{} // closed when the service drains: live streams then end
}

// A Figure is one line of a node's health.
type Figure struct {
	Name, Value string
	State       bool // it is a state, and no number: ready, or what is wrong
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
	if o.Access == nil || o.Keys == nil || o.Limiter == nil || o.Usage == nil || o.Health == nil || o.Now == nil || o.Log == nil {
		return nil, errors.New("console: an option is missing")
	}
	c := &Console{
		Options: Options{Access: o.Access, Keys: o.Keys, Limiter: o.Limiter, Usage: o.Usage, Secret: o.Secret, Now: o.Now, Log: o.Log, Done: o.Done},
		health:  o.Health, origin: http.NewCrossOriginProtection(),
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	c.totals.prepare()
	c.mux = muxOf(OperatorRoutes())
	return c, nil
}

// OperatorPath issues a link: it returns the path of a page on which an operator can sign in, on every node that has the
// store, once within ten minutes, and notes in the audit log that it was asked for.
func OperatorPath(ctx context.Context, store access.Store, now time.Time, by access.Actor) (string, error) {
	secret, err := store.Secret(ctx)
	if err != nil {
		return "", err
	}
	s, err := newSealer(secret)
	if err != nil {
		return "", err
	}
	until := now.Add(linkLife)
	issued := access.AuditEntry{Actor: by, Action: "operator.link", Subject: "operator", Detail: "a link to sign in, until " + until.UTC().Format(time.RFC3339)}
	if err := store.Note(ctx, issued); err != nil {
		return "", err
	}
	return "/console/link?token=" + s.seal(operatorPurpose, until, "operator"), nil
}

func operatorNavigation(path string) []navGroup {
	link := navLinks(path)
	return []navGroup{
		{"", []navLink{link("Overview", "/console"), link("Workspaces", "/console/workspaces"), link("Busiest keys", "/console/busy"), link("Bans", "/console/bans")}},
		{"Node", []navLink{link("Health", "/console/health"), link("Audit log", "/console/audit")}},
	}
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
	_, link, ok := v.sessions.linkOf(operatorPurpose, v.r.PostFormValue("token"), v.Now())
	if !ok {
		return v.operatorLinkEnded()
	}
	used := access.AuditEntry{Actor: operatorActor, Action: "operator.sign_in", Subject: "operator", Detail: "by a link, from " + v.from()}
	if first, err := v.Access.UseLink(v.r.Context(), link, used); err != nil {
		return err
	} else if !first {
		return v.operatorLinkEnded()
	}
	if err := v.start(""); err != nil {
		return err
	}
	v.Log.Info("an operator signed in", "audit", "operator.sign_in")
	return v.redirect("/console")
}

func signOutOperator(v *visit) error { return v.audited(signOut, "from ") }

func signOutOperators(v *visit) error { return v.audited(signOutEverywhere, "everywhere, from ") }

// audited ends a session of the operator's, and notes it in the audit log.
func (v *visit) audited(end func(*visit) error, detail string) error {
	if v.operator {
		left := access.AuditEntry{Actor: operatorActor, Action: "operator.sign_out", Subject: "operator", Detail: detail + v.from()}
		if err := v.Access.Note(v.r.Context(), left); err != nil {
			v.Log.Error("a sign-out is not in the audit log", "err", err) // one can leave all the same
		}
	}
	return end(v)
}

func (v *visit) operatorLinkEnded() error {
	v.refuse(http.StatusGone, "This link has ended", "It has been used, or its ten minutes are over. Run petstore operator login again.")
	return nil
}
