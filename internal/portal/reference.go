// Package portal serves the pages that people look at. The reference at /docs is rendered from the description of the
// interface; it needs no store, no key and no JavaScript but for colours, copying and trying out.
//
// The package holds no rules of the petstore and answers no request of the interface.
package portal

import (
	"fmt"
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
}

// NewReference returns the handler of GET and HEAD on /docs, everything below it, and /llms.txt. Each page is also there in
// Markdown, at its address with .md behind it. The handler sets the headers of its answers, a
// Content-Security-Policy among them; other methods are answered 405 with Allow and no body.
//
// It returns an error if the base URL cannot be used. All else is made when the first page is asked for, and kept, so that
// a service whose pages nobody reads has nothing of them in memory; a page is rendered when it is itself asked for. The
// handler panics on a page that is wrong, which the tests find. It is safe for concurrent use.
func NewReference(opts ReferenceOptions) (http.Handler, error) {
	base, err := url.Parse(opts.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("the base URL %q is not an http or https URL", opts.BaseURL)
	}
	opts.BaseURL = strings.TrimSuffix(opts.BaseURL, "/")
	return &reference{sync.OnceValue(func() *site { return described(opts) }), opts.NotFound}, nil
}

// prefix returns the path of the base URL, without a slash at its end. A proxy takes it off before the service sees it.
func (o ReferenceOptions) prefix() string {
	base, _ := url.Parse(o.BaseURL) // NewReference parsed it
	return base.EscapedPath()
}

// described returns the pages of the description that is built in.
func described(opts ReferenceOptions) *site {
	d := &description{api.Parse()}
	if opts.Sunset.IsZero() {
		for _, o := range d.Operations() {
			if o.Sunset != "" {
				opts.Sunset = asset.Must(time.Parse(time.DateOnly, o.Sunset))
			}
		}
	}
	return newSite(d, opts)
}

type reference struct {
	site     func() *site
	notFound http.Handler
}

// ServeHTTP answers with a page, an asset or, for the address with a slash at its end, a redirect.
func (h *reference) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	site := h.site()
	if f := site.assets.Find(r.URL.Path); f != nil {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		f.Serve(w, r, http.StatusOK)
		return
	}
	if f := site.find(r); f != nil {
		servePage(w, r, http.StatusOK, f)
		return
	}
	if _, ok := site.pages[strings.TrimSuffix(r.URL.Path, "/")]; ok {
		http.Redirect(w, r, site.at(strings.TrimSuffix(r.URL.Path, "/")), http.StatusPermanentRedirect)
		return
	}
	if accept.HTML(r.Header["Accept"]) {
		missing := &view{Site: site, Path: r.URL.Path, Title: "Page not found", Lead: "There is no such page."}
		servePage(w, r, http.StatusNotFound, renderPage(site.missing, missing))
		return
	}
	h.notFound.ServeHTTP(w, r)
}

// find returns the answer to a request, or nil if there is no such page.
func (s *site) find(r *http.Request) *asset.File {
	switch r.URL.Path {
	case searchPath:
		return s.answerTo(r.URL.Query().Get("q"))
	case contentsPath:
		return s.listContents()
	}
	if p, ok := s.pages[r.URL.Path]; ok {
		return p.render()
	}
	name, isText := strings.CutSuffix(r.URL.Path, ".md")
	if p, ok := s.pages[name]; ok && isText {
		return p.markdown(s)
	}
	return nil
}

func servePage(w http.ResponseWriter, r *http.Request, status int, f *asset.File) {
	head := w.Header()
	head.Set("Content-Security-Policy", asset.Policy)
	head.Set("Referrer-Policy", "same-origin")
	head.Set("Cache-Control", "no-cache")
	f.Serve(w, r, status)
}
