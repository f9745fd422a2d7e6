// Package page has the common parts of the consoles of the workspace and of the operator: sessions, forms, lists,
// charts and downloads. It has no pages of its own. Each console implements Guest, which identifies the
// users and counts their requests.
package page

import (
	"cmp"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/asset"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
)

// Options are the options that both consoles have. All but BaseURL are needed.
type Options struct {
	Access  access.Store
	Keys    *access.Directory[*ratelimit.Caller]
	Limiter *ratelimit.Limiter
	Usage   *usage.Recorder
	Secret  []byte // of the store; sessions are valid on every node with the same one
	BaseURL string // of the service, if it is known; a proxy removes its path from requests
	Now     func() time.Time
	Log     *slog.Logger
}

// A Site serves the pages of a console, at /console and below. It may be used concurrently.
type Site struct {
	Options
	Kind
	mux      *http.ServeMux
	pages    func() map[string]*template.Template // made when the first is asked for
	assets   *asset.Set
	sessions sealer
	secure   bool
	prefix   string // the path of BaseURL, before every link of ours; "" if it has none
	origin   *http.CrossOriginProtection

	turns     *fairshare.Pool    // to have a page made
	downloads *fairshare.Pool    // each holds a buffer and its connection; its reads wait their turn page by page
	sending   singleflight.Group // of forms
}

// A Kind has the differences between the consoles.
type Kind struct {
	Cookie    string // the name of the cookie of its sessions
	Link      string // what its links to sign in are for
	Templates fs.FS  // of its own pages, in the folder "templates"
	Routes    []Route
}

//go:embed templates
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// How many pages of all workspaces may wait for their turn (of one alone half as many), for how long, and how long a turn is.
const (
	maxTurns = 8192
	turnWait = 3 * time.Second
	maxTurn  = 50 * time.Millisecond
)

// New returns the site of a console.
func New(o Options, k Kind) (*Site, error) {
	if o.Access == nil || o.Keys == nil || o.Limiter == nil || o.Usage == nil || o.Now == nil || o.Log == nil {
		return nil, errors.New("console: an option is missing")
	}
	s := &Site{
		Options: o, Kind: k, origin: http.NewCrossOriginProtection(), mux: http.NewServeMux(),
		turns:     fairshare.New(fairshare.Options{Capacity: max(1, int64(runtime.GOMAXPROCS(0)/2)), Queue: maxTurns, Wait: turnWait}),
		downloads: fairshare.New(fairshare.Options{Capacity: math.MaxInt32, Each: 1}),
	}
	if u, err := url.Parse(o.BaseURL); err != nil {
		return nil, errors.New("console: the base URL is not a URL")
	} else if u.Host != "" {
		s.secure, s.prefix = u.Scheme == "https", strings.TrimSuffix(u.EscapedPath(), "/")
		if err := s.origin.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			return nil, err
		}
	}
	for _, r := range k.Routes {
		s.mux.Handle(r.Method+" "+r.Path, r)
	}
	s.pages, s.assets = sync.OnceValue(s.parsePages), asset.New("/console/assets/", assetFiles)
	var err error
	s.sessions, err = newSealer(o.Secret)
	return s, err
}

// A Guest is the user of a console, or a client that is not signed in. It embeds the Visit of the
// request.
type Guest interface {
	// Identify accepts the session of the request, or returns a Notice that says why it is not valid.
	Identify(s *access.Session) error
	// Admit counts a request of a signed-in user. If it must refuse the request, it answers that and returns
	// ErrRefused. r is nil for a request that was counted before, and took long since.
	Admit(r *Route) error
	// AskAgain asks a user who has sent a form without a valid session to sign in.
	// After that the form is sent again.
	AskAgain(why Notice) error
	// Enter waits until another read or write may be carried out. The caller must call
	// leave.
	Enter(write bool) (leave func(), err error)
	// May reports whether the user has the scopes.
	May(scopes access.Scopes) bool
	// Locked says why nothing can be changed now even with the scopes, or "".
	Locked() string
	// Workspace returns the id of the user's workspace, 0 for an operator.
	Workspace() int64
	// Describe adds the user, if there is one, and the navigation to a page.
	Describe(to *View)

	visit() *Visit
}

// A Visit is one request for a page.
type Visit struct {
	*Site
	W  http.ResponseWriter
	R  *http.Request
	ID string // in the path

	Session *access.Session // nil unless signed in
	Token   string          // of the session; only the browser has it, and the store has a hash

	guest  Guest
	began  time.Time
	takes  access.Scopes // what the form of the page needs; 0 if it is none
	answer answer        // unless it was written while it was made

	form                 string // identifies the form that was sent, with what it says; "" without a token
	oldForm              bool   // its token holds no more, or was of another workspace
	redirectedTo, notice string // by Redirect and note
}

func (v *Visit) visit() *Visit { return v } //nolint:unused // the guests of both consoles have it

// ErrRefused is returned after a refusal was answered.
const ErrRefused Notice = "refused"

// Serve answers one request. guest returns the Guest for its Visit.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request, guest func(*Visit) Guest) {
	if f := s.assets.Find(r.URL.Path); f != nil {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		f.Serve(w, r, http.StatusOK)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", asset.Policy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	v := &Visit{Site: s, W: w, R: r, began: s.Now()}
	if parts := strings.Split(r.URL.Path, "/"); len(parts) > 3 {
		v.ID = parts[3]
	}
	v.guest = guest(v)
	if err := v.serve(); err != nil && !errors.Is(err, ErrRefused) {
		v.fail(err)
	}
	v.send()
}

// The greatest lengths, in bytes, of a form that is sent and of the query of a page, whose links repeat it. A client that
// is not signed in sends only a key or a link, and the page to go on to.
const (
	MaxForm     = 64 << 10
	maxOpenForm = 16 << 10
	MaxQuery    = 2 << 10
)

// serve identifies the user, counts the request, and has its route answer it.
func (v *Visit) serve() error {
	if v.origin.Check(v.R) != nil {
		return v.Refuse(http.StatusForbidden, "That came from another site", "Changes are only taken from the pages of the console itself.")
	}
	if len(v.R.URL.RawQuery) > MaxQuery {
		return v.Refuse(http.StatusRequestURITooLong, "The address is too long", "Enter less into the filters of the page.")
	}
	handler, _ := v.mux.Handler(v.R)
	route, known := handler.(Route)
	v.takes = route.Takes
	why, err := v.identify()
	most := cmp.Or(route.MaxBody, MaxForm)
	if v.Session == nil {
		most = maxOpenForm
	} else if err == nil {
		err = v.guest.Admit(&route)
	}
	if err != nil {
		return err
	}
	v.R.Body = http.MaxBytesReader(v.W, v.R.Body, most)
	if v.R.Method == http.MethodPost && v.R.ParseForm() != nil { // a part of a form could have another meaning
		return v.Refuse(http.StatusBadRequest, "That form cannot be read", "It was cut off, or is longer than a form can be. Nothing was changed.")
	}
	if !known { // there is none, or one that leads to the path without its dots
		return v.Refuse(http.StatusNotFound, "There is no such page", "The address may be mistyped.")
	}
	if err := v.IdentifyAgain(); err != nil {
		return err
	}
	return route.answer(v, why)
}

// answer has the route answer. why says why nobody is signed in, or is "".
func (r Route) answer(v *Visit, why Notice) error {
	write := r.Needs != 0 && r.Method == http.MethodPost
	switch {
	case r.Needs != 0 && v.Session == nil:
		return v.askToSignIn(why)
	case write && !v.mayWrite():
		return v.Refuse(http.StatusForbidden, "This key cannot do that", "Sign in with a key that has the scope "+r.Needs.String()+" to change that.")
	case r.Needs == access.Manage && !v.mayWrite():
		return v.Refuse(http.StatusForbidden, "This key may not see that", "Sign in with a key that has the scope manage.")
	case r.Lasts:
		return r.handle(v.guest)
	}
	if write {
		return v.Gated(true, func() error { return r.handle(v.guest) })
	}
	return v.inTurn(func() error {
		return v.Gated(false, func() error {
			if err := v.IdentifyAgain(); err != nil { // the wait until here may have been long
				return err
			}
			if err := r.handle(v.guest); err != nil {
				return err
			}
			return v.answer.complete(v.W, v.R) // so that what was read does not wait for the template
		})
	})
}

// Gated calls do when another read or write may be carried out.
func (v *Visit) Gated(write bool, do func() error) error {
	leave, err := v.guest.Enter(write)
	if err != nil {
		return err
	}
	defer leave()
	return do()
}

// mayWrite reports whether the user may send the form of the page, or, on a page that is not a form, change the shop.
func (v *Visit) mayWrite() bool {
	return v.Session != nil && v.guest.May(cmp.Or(v.takes, access.Write))
}

// locked says why the user cannot send the form of the page, or, on a page that is not a form, change the shop. It
// returns "" if nothing prevents that.
func (v *Visit) locked() string {
	if !v.mayWrite() {
		return "This key cannot change this."
	}
	return v.guest.Locked()
}

// retryShare is after how many seconds to ask again for a share.
const retryShare = 10

// Hold waits for a share of the pool for the workspace, and returns the function that gives it back. If there is
// none, it answers a refusal, and returns ErrRefused: title names what there are too many of, and each says what the
// workspace has already.
func (v *Visit) Hold(pool *fairshare.Pool, title, each string) (leave func(), err error) {
	share, err := pool.Enter(v.R.Context(), fairshare.Holder{Workspace: v.guest.Workspace()}, 1, nil)
	if err == nil {
		return share.Leave, nil
	}
	v.RetryAfter(retryShare)
	switch {
	case errors.Is(err, fairshare.ErrEach):
		return nil, v.Refuse(http.StatusTooManyRequests, title, each)
	case errors.Is(err, fairshare.ErrFull):
		return nil, v.Refuse(http.StatusServiceUnavailable, title, "This service has as many of them open as it can. Try again later.")
	}
	return nil, petstore.Unavailable(err)
}
