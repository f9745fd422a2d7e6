// Package console is the workspace's console: the pages on which the owner of a store looks at its requests and limits,
// changes its catalogue and orders, and manages its keys. Who has a key of the workspace can sign in, and may do there
// what the key may do.
//
// The pages work without JavaScript; a small script brings live figures. The package holds no rules of the shop.
package console

import (
	"cmp"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/asset"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
	"example.com/petstore/internal/webhook"
)

// Options are what a Console is made of. All but Events, Webhooks, BaseURL, Done, Imports and PagesPerMinute are needed.
type Options struct {
	Service  *petstore.Service
	Bulk     petstore.Bulk // of the same store
	Access   access.Store
	Keys     *access.Directory[*ratelimit.Caller]
	Limiter  ratelimit.Limiter
	Usage    *usage.Recorder
	Events   petstore.Feed // nil, and Webhooks too, if no events are kept
	Webhooks *webhook.Service
	Secret   []byte // of the store: sessions hold on every node that has it
	BaseURL  string // where the service is reached, if it is known; a proxy takes its path off before the service sees it
	Now      func() time.Time
	Log      *slog.Logger
	Done     <-chan struct{} // closed when the service drains: live streams then end

	Imports        int // files that are read into the store at once, each with some 6 MiB of memory; 0 is 4
	PagesPerMinute int // that the sessions of a workspace may read from one address; 0 is DefaultPages
}

// A Console serves /console and everything below it. It may be used concurrently.
type Console struct {
	Options
	mux      *http.ServeMux
	pages    func() (map[string]*template.Template, error) // made when the first is asked for
	assets   *asset.Set
	sessions sealer // on every node
	secure   bool
	prefix   string // the path of BaseURL, before every link of ours; "" if it has none
	origin   *http.CrossOriginProtection
	health   func() []Figure // set in the operator's console alone
	totals   totals          // the same

	pageCount pageCount
	shares    shares
}

// New returns the console of o.
func New(o Options) (*Console, error) {
	if o.Service == nil || o.Bulk == nil || o.Access == nil || o.Keys == nil || o.Limiter == nil || o.Usage == nil || o.Now == nil || o.Log == nil {
		return nil, errors.New("console: an option is missing")
	}
	c := &Console{Options: o, origin: http.NewCrossOriginProtection()}
	if u, err := url.Parse(o.BaseURL); err != nil {
		return nil, errors.New("console: the base URL is not a URL")
	} else if u.Host != "" {
		c.secure, c.prefix = u.Scheme == "https", strings.TrimSuffix(u.EscapedPath(), "/")
		if err := c.origin.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			return nil, err
		}
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	routes := withoutEvents()
	if o.Events != nil && o.Webhooks != nil {
		routes.feed()
	}
	c.mux = muxOf(routes)
	return c, nil
}

// prepare makes what both consoles have.
func (c *Console) prepare() (err error) {
	c.shares = newShares(c.Imports)
	if c.assets, err = asset.New("/console/assets/", assetFiles); err != nil {
		return err
	}
	if c.sessions, err = newSealer(c.Secret); err != nil {
		return err
	}
	c.pages = sync.OnceValues(func() (map[string]*template.Template, error) { return parsePages(c.functions()) })
	return nil
}

// Serve answers one request, which g counts and bounds; nil counts nothing, for the operator.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request, g Gate) {
	if f := c.assets.Find(r.URL.Path); f != nil {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		f.Serve(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", asset.Policy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	v := &visit{Console: c, w: w, r: r, gate: g, id: lastID(r.URL.Path)}
	if err := v.serve(); err != nil && !errors.Is(err, errRefused) {
		v.fail(err)
	}
	v.send()
}

// serve finds out who asks, counts the request, and has its page answer it.
func (v *visit) serve() error {
	if v.origin.Check(v.r) != nil {
		v.refuse(http.StatusForbidden, "That came from another site", "Changes are only taken from the pages of the console itself.")
		return nil //nolint:nilerr // it is answered
	}
	if len(v.r.URL.RawQuery) > maxQuery {
		v.refuse(http.StatusRequestURITooLong, "The address is too long", "Enter less into the filters of the page.")
		return nil
	}
	handler, _ := v.mux.Handler(v.r)
	page, known := handler.(Route)
	v.takes, v.began = page.takes, v.Now()
	why, err := v.identify()
	if err == nil && v.session != nil {
		err = v.admit(page.cost)
	}
	if err != nil {
		return err
	}
	most := cmp.Or(page.most, maxForm)
	if v.who == nil {
		most = maxOpenForm
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, most)
	if v.r.Method == http.MethodPost && v.r.ParseForm() != nil { // what is left of it could say something else
		v.refuse(http.StatusBadRequest, "That form cannot be read", "It was cut off, or is longer than a form can be. Nothing was changed.")
		return nil //nolint:nilerr // it is answered
	}
	if !known { // there is none, or one that leads to the path without its dots
		v.refuse(http.StatusNotFound, "There is no such page", "The address may be mistyped.")
		return nil
	}
	if err := v.identifyAgain(); err != nil {
		return err
	}
	return page.answer(v, why)
}

// The greatest lengths, in bytes, of a form that is sent and of the query of a page,
// whose links repeat it. Who is not signed in has a key or a link to send, and where
// to go on.
const (
	maxForm     = 64 << 10
	maxOpenForm = 16 << 10
	maxQuery    = 2 << 10
)

// lastID returns the segment of the path that stands for an id: the third.
func lastID(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) < 4 {
		return ""
	}
	return parts[3]
}
