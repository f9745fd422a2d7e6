package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

// AdminOptions configure an Admin. All but As and Failed are needed.
type AdminOptions struct {
	Access  access.Store
	Keys    *access.Directory[*ratelimit.Caller]
	Counts  operator.Counts
	Backups Backups
	Secret  []byte // signs cursors
	Log     *slog.Logger
	Now     func() time.Time

	// As is who acts with every request, without a token, if only this process calls the
	// Admin. Then Keys and Backups may be nil, a request ends with its context, and Failed
	// gets the causes of failures instead of Log.
	As     access.Actor
	Failed func(cause error)
}

// An Admin is the operator's API: workspaces, keys, the audit log and backups. Requests
// need an operator's token. They are not rate limited, and pages of other sites cannot
// read the answers. Its listener must not be reachable by the public.
type Admin struct {
	env    env
	router router
	o      AdminOptions
}

// NewAdmin returns the operator's API of o.
func NewAdmin(o AdminOptions) (*Admin, error) {
	if o.Access == nil || o.As == "" && (o.Keys == nil || o.Backups == nil) || o.Counts == nil || o.Log == nil || o.Now == nil || len(o.Secret) < 16 {
		return nil, errors.New("httpapi: an option of the operator's API is missing")
	}
	a := &Admin{o: o, env: env{
		log: o.Log, cursors: cursors{secret: o.Secret}, statuses: adminStatuses, failed: o.Failed,
		now: o.Now, observe: func(context.Context, Observation) {},
	}}
	a.router = newRouter(a.routes())
	return a, nil
}

// ServeHTTP answers one request.
func (a *Admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := newExchange(&a.env, w, r)
	if a.o.As != "" {
		x.ctx = r.Context()
	}
	x.run(a.steps)
}

// steps are the steps of a request, in the order of those of the API.
func (a *Admin) steps(x *exchange) error {
	setBasics(x)
	x.addr = clientAddr(x.r, nil)
	x.set("Cache-Control", "no-store")
	if err := checkSizes(x.r, false); err != nil {
		return err
	}
	a.router.find(x)
	if x.route == nil {
		return x.withoutRoute(operator.Root + "/openapi.yaml")
	}
	if x.route.public {
		return x.route.handle(x)
	}
	if err := a.authorize(x); err != nil {
		return err
	}
	if err := readInput(x); err != nil {
		return err
	}
	if err := a.authorize(x); err != nil { // again: the token may have been revoked while the body was read
		return err
	}
	// A removal or a backup may take longer than the listener's write timeout.
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Time{})
	if err := x.route.handle(x); err != nil || x.reads() {
		return err
	}
	x.refreshKeys(a.o.Keys)
	return nil
}

// authorize finds the operator's token that was sent, unless the caller is known. It
// reads the store each time, so that a revocation takes effect at once on all nodes.
func (a *Admin) authorize(x *exchange) error {
	if a.o.As != "" {
		x.r.Header.Del("Idempotency-Key") // no answer is lost on the way, and there is no secret to derive a key from
		return nil
	}
	values := x.r.Header["Authorization"]
	if len(values) == 0 {
		return petstore.Errorf(codeMissingToken, "This needs an operator's token: send it as Authorization: Bearer TOKEN.")
	}
	invalid := petstore.Errorf(codeInvalidToken, "The token is not valid.")
	scheme, token, _ := strings.Cut(values[0], " ")
	if token = strings.TrimSpace(token); len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || !access.WellFormedToken(token) {
		return invalid
	}
	found, err := a.o.Access.TokenOf(x.ctx, access.HashOf(token))
	switch {
	case petstore.CodeOf(err) == access.CodeTokenNotFound || err == nil && !found.RevokedAt.IsZero():
		return invalid
	case err != nil:
		return err
	case found.State(a.o.Now()) == "expired":
		return petstore.Errorf(codeExpiredToken, "The token has expired.")
	}
	x.operator = &found
	return nil
}
