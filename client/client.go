// Package client calls a petstore over HTTP.
//
// Its types and methods are generated from the OpenAPI description, one method for each operation. Around them stand what
// every caller needs: contexts, iterators over pages, errors by code, repetition of what is safe to repeat, and the state
// of the rate limit.
//
//	c, err := client.New("https://petstore.example", key)
//	...
//	for pet, err := range c.AllPets(ctx, client.ListPetsParams{Status: []client.PetStatus{client.PetStatusAvailable}}) {
//
// A Client is safe for concurrent use.
package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// In Go an enum is open: a string of any value has its type. So the lists that may grow are enums here, with constants.
//
//go:generate sh -c "sed s/x-extensible-enum/enum/ ../api/openapi.yaml | go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 --config=gen/config.yaml /dev/stdin"

// attemptTimeout bounds one attempt of the default HTTP client, besides the time for which it asks the server to wait.
const attemptTimeout = 30 * time.Second

// A Client makes requests with one API key. Make one with New, and use it for all requests: it then knows of refusals
// that other goroutines met, and waits with them.
type Client struct {
	base         url.URL
	key          string
	http         *http.Client
	userAgent    string
	retry        Retry
	onRetry      func(Attempt)
	onDeprecated func(Deprecation)

	mu      sync.Mutex
	limit   RateLimit // as last answered; its zero value until then
	refused time.Time // until when the server refuses
	refusal *Error    // why
}

// An Option changes how a Client works.
type Option func(*Client)

// New returns a client for the server at baseURL, which is absolute with scheme http or https and may have a path, that
// sends key with every request. It returns an error if either cannot be used; it does not call the server.
func New(baseURL, key string, opts ...Option) (*Client, error) {
	base, err := parseBase(baseURL)
	switch {
	case err != nil:
		return nil, err
	case !usableKey(key):
		return nil, errors.New("petstore: the API key is empty, or has characters that no key has")
	}
	base.Path = strings.TrimRight(base.Path, "/")
	c := &Client{base: *base, key: key, http: defaultHTTP(), userAgent: "petstore-go", retry: DefaultRetry()}
	for _, o := range opts {
		o(c)
	}
	return c, nil
}

// parseBase reads the base URL. Its errors repeat no part in which a password or a key may stand.
func parseBase(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	wrong := err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == ""
	switch {
	case wrong && strings.ContainsAny(text, "@?#"), !wrong && (base.RawQuery != "" || base.Fragment != "" || base.User != nil):
		return nil, errors.New("petstore: the URL has more than scheme, host and path")
	case err != nil && strings.Contains(text, "://"):
		return nil, fmt.Errorf("petstore: the URL: %w", err)
	case wrong:
		return nil, fmt.Errorf("petstore: %q is not an absolute http or https URL", text)
	}
	return base, nil
}

// usableKey reports whether key can stand in a header.
func usableKey(key string) bool {
	return key != "" && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}

// defaultHTTP follows no redirection: it could turn a POST into a GET, and a petstore answers none.
func defaultHTTP() *http.Client {
	return &http.Client{
		Timeout:       attemptTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// WithHTTPClient makes the client send its requests with h. The default bounds each attempt to 30 s and follows no
// redirection. A request that asks the server to wait for an event has that much longer than the Timeout of h.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithUserAgent makes the client name itself so. The default is "petstore-go".
func WithUserAgent(name string) Option { return func(c *Client) { c.userAgent = name } }

// WithRetry sets when requests are repeated. The default is DefaultRetry.
func WithRetry(r Retry) Option { return func(c *Client) { c.retry = r } }

// OnRetry makes the client report each repetition before it waits. f is called by the goroutine that made the request.
func OnRetry(f func(Attempt)) Option { return func(c *Client) { c.onRetry = f } }

// OnDeprecation makes the client report every answer that says its operation is deprecated. f is called by the goroutine
// that made the request, errors included.
func OnDeprecation(f func(Deprecation)) Option { return func(c *Client) { c.onDeprecated = f } }

// RateLimit returns the state of the rate limit that the last answer carried, and false if there was none yet.
func (c *Client) RateLimit() (RateLimit, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limit, c.limit != RateLimit{}
}
