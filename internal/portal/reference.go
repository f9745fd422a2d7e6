// Package portal serves the pages that people look at. The reference at /docs is rendered from the description of the
// interface; it needs no store, no key and no JavaScript but for copying and trying out.
//
// The package holds no rules of the petstore and answers no request of the interface.
package portal

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"example.com/petstore/api"
	"example.com/petstore/internal/accept"
	"example.com/petstore/internal/portal/asset"
)

// ReferenceOptions configure the reference.
type ReferenceOptions struct {
	BaseURL  string       // where the service is reached: an http or https URL; its path, if it has one, stands before every link
	Sunset   time.Time    // when the deprecated operation ends; zero: as the description says
	Version  string       // of the server, for the foot of the pages; may be empty
	Sandbox  []string     // the scopes of the key that a reader without one gets by POST /sandboxes; nil if there are no sandboxes
	NotFound http.Handler // answers clients that do not accept HTML on unknown paths below /docs
	Log      *slog.Logger // says why a page cannot be made, which is answered 500
}

// NewReference returns the handler of GET and HEAD on /docs, everything below it, and /llms.txt. Each page is also there in
// Markdown, at its address with .md behind it. The handler sets the headers of its answers, a
// Content-Security-Policy among them; other methods are answered 405 with Allow and no body.
//
// It returns an error if the base URL cannot be used. All else is made when the first page is asked for, and kept, so that
// a service whose pages nobody reads has nothing of them in memory; a page is rendered when it is itself asked for. The
// handler is safe for concurrent use.
func NewReference(opts ReferenceOptions) (http.Handler, error) {
	base, err := url.Parse(opts.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("the base URL %q is not an http or https URL", opts.BaseURL)
	}
	opts.BaseURL = strings.TrimSuffix(opts.BaseURL, "/")
	site := sync.OnceValues(func() (*site, error) { return described(opts) })
	return &reference{site: site, notFound: opts.NotFound, log: opts.Log}, nil
}

// prefix returns the path of the base URL, without a slash at its end. A proxy takes it off before the service sees it.
func (o ReferenceOptions) prefix() string {
	base, _ := url.Parse(o.BaseURL) // NewReference parsed it
	return base.EscapedPath()
}

// described returns the pages of the description that is built in.
func described(opts ReferenceOptions) (*site, error) {
	d, err := parse(api.JSON())
	if err != nil {
		return nil, err
	}
	if opts.Sunset.IsZero() {
		if opts.Sunset, err = d.sunset(); err != nil {
			return nil, err
		}
	}
	return newSite(d, opts)
}

// sunset returns the day on which the description says that its deprecated operation ends.
func (d *description) sunset() (time.Time, error) {
	for _, o := range d.operations() {
		if o.Sunset != "" {
			return time.Parse(time.DateOnly, o.Sunset)
		}
	}
	return time.Time{}, nil
}

type reference struct {
	site     func() (*site, error)
	notFound http.Handler
	log      *slog.Logger
}

// ServeHTTP answers with a page, an asset or, for the address with a slash at its end, a redirect.
func (h *reference) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	site, err := h.site()
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if f := site.assets.Find(r.URL.Path); f != nil {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		f.Serve(w, r)
		return
	}
	if render := site.rendering(r); render != nil {
		h.servePage(w, r, render)
		return
	}
	if _, ok := site.pages[strings.TrimSuffix(r.URL.Path, "/")]; ok {
		http.Redirect(w, r, site.at(strings.TrimSuffix(r.URL.Path, "/")), http.StatusPermanentRedirect)
		return
	}
	if accept.HTML(r.Header["Accept"]) {
		h.serveMissing(w, r, site)
		return
	}
	h.notFound.ServeHTTP(w, r)
}

// serveMissing answers a reader who followed a wrong link.
func (h *reference) serveMissing(w http.ResponseWriter, r *http.Request, s *site) {
	f, err := renderPage(s.missing, &view{Site: s, Path: r.URL.Path, Title: "Page not found", Lead: "There is no such page."})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	setPageHeaders(w.Header())
	f.ServeAs(w, r, http.StatusNotFound)
}

// rendering returns what makes the answer to a request, or nil if there is no such page.
func (s *site) rendering(r *http.Request) func() (*asset.File, error) {
	switch r.URL.Path {
	case searchPath:
		return func() (*asset.File, error) { return s.answerTo(r.URL.Query().Get("q")) }
	case searchJSON:
		return func() (*asset.File, error) { return s.suggest(r.URL.Query().Get("q")) }
	}
	if r.URL.Path == contentsPath {
		return s.listContents
	}
	if p, ok := s.pages[r.URL.Path]; ok {
		return p.render
	}
	name, isText := strings.CutSuffix(r.URL.Path, ".md")
	if p, ok := s.pages[name]; ok && isText {
		return func() (*asset.File, error) { return p.markdown(s) }
	}
	return nil
}

func (h *reference) servePage(w http.ResponseWriter, r *http.Request, render func() (*asset.File, error)) {
	f, err := render()
	if err != nil {
		h.fail(w, r, err)
		return
	}
	setPageHeaders(w.Header())
	f.Serve(w, r)
}

func setPageHeaders(h http.Header) {
	h.Set("Content-Security-Policy", asset.Policy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
}

func (h *reference) fail(w http.ResponseWriter, r *http.Request, err error) {
	h.log.Error("a page could not be made", "path", r.URL.Path, "err", err)
	w.WriteHeader(http.StatusInternalServerError)
}
