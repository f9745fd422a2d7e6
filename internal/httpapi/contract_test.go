package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"example.com/petstore/api"
)

// A description is api/openapi.yaml or api/admin.yaml, and what the tests saw of it.
type description struct {
	doc    *openapi3.T
	router routers.Router
	every  func(testing.TB, answer, request) // checks what holds for every response

	unlisted []string // the headers of any response, which it leaves out

	mu   sync.Mutex
	seen map[string]bool // "operationId status code"
}

var (
	loadContract = describe(api.YAML, checkEvery, "Cache-Control", "Ratelimit", "Ratelimit-Policy", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Request-Id")
	loadAdmin    = describe(api.AdminYAML, checkEveryOfOperators, "Cache-Control", "Etag")
)

// describe returns a function that reads a description once. The lists that may grow are closed in it: the server of today
// answers with nothing that its own description does not list.
func describe(text func() []byte, every func(testing.TB, answer, request), unlisted ...string) func() (*description, error) {
	return sync.OnceValues(func() (*description, error) {
		doc, err := openapi3.NewLoader().LoadFromData(bytes.ReplaceAll(text(), []byte("x-extensible-enum:"), []byte("enum:")))
		if err != nil {
			return nil, err
		}
		router, err := gorillamux.NewRouter(doc)
		return &description{doc: doc, router: router, every: every, unlisted: append(unlisted, alwaysUnlisted...), seen: map[string]bool{}}, err
	})
}

// contract returns the description that every answer of the API is held against.
func contract(t testing.TB) *description { return loaded(t, loadContract) }

func loaded(t testing.TB, load func() (*description, error)) *description {
	t.Helper()
	d, err := load()
	must(t, err)
	return d
}

// check holds an answer against the description, and the request too if the
// server took it.
func (d *description) check(t testing.TB, req *http.Request, body string, a answer) {
	t.Helper()
	r := req.Clone(req.Context())
	r.Body = io.NopCloser(strings.NewReader(body))
	r.URL.Scheme, r.URL.Host = "", ""
	r.Host = ""
	if r.Method == http.MethodHead {
		return // answered like GET; the description does not list it
	}
	route, params, err := d.router.FindRoute(r)
	if a.code() == "route_not_found" {
		return // such as /pets/., which the description cannot tell from an id
	}
	if err != nil {
		public := strings.Contains(req.URL.Path, "/openapi") || strings.HasPrefix(req.URL.Path, "/docs") || strings.HasPrefix(req.URL.Path, "/console") ||
			req.URL.Path == "/" && a.status == http.StatusFound
		if !public && !slices.Contains([]int{204, 405, 414, 429, 431}, a.status) {
			t.Errorf("%s: %d, but the description has no such operation: %v", a.what, a.status, err)
		}
		return
	}
	d.note(t, route.Operation, a)
	in := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			AuthenticationFunc:    openapi3filter.NoopAuthenticationFunc,
			IncludeResponseStatus: true,
		},
	}
	if a.status < 300 {
		if err := openapi3filter.ValidateRequest(req.Context(), in); err != nil {
			t.Errorf("%s: %d, but the description does not allow the request: %v", a.what, a.status, err)
		}
	}
	if a.header.Get("Content-Encoding") == "gzip" {
		return // its tests look inside
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.status, Header: a.header,
		Body: io.NopCloser(bytes.NewReader(a.body)), Options: in.Options,
	}
	if err := openapi3filter.ValidateResponse(req.Context(), out); err != nil {
		t.Errorf("%s: %d does not match the description: %v\n%s", a.what, a.status, err, a.body)
	}
}

// alwaysUnlisted are those of both descriptions.
var alwaysUnlisted = []string{
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Connection", "Content-Encoding", "Content-Length", "Content-Security-Policy",
	"Content-Type", "Date", "Petstore-Simulated", "Strict-Transport-Security", "Vary", "X-Accel-Buffering", "X-Content-Type-Options",
}

// note remembers what was seen, and checks that the description lists the code
// and the headers, and requires no header that is absent.
func (d *description) note(t testing.TB, op *openapi3.Operation, a answer) {
	t.Helper()
	ref := op.Responses.Status(a.status)
	if ref == nil {
		t.Errorf("%s: %s does not list the status %d", a.what, op.OperationID, a.status)
		return
	}
	code := a.code()
	if a.status >= 400 && !slices.Contains(errorCodes(ref.Value), code) {
		t.Errorf("%s: %s lists for %d only %v, not %s", a.what, op.OperationID, a.status, errorCodes(ref.Value), code)
	}
	listed := slices.Clone(d.unlisted)
	for name, h := range ref.Value.Headers {
		listed = append(listed, http.CanonicalHeaderKey(name))
		if h.Value.Required && a.header.Get(name) == "" {
			t.Errorf("%s: %s %d without the header %s", a.what, op.OperationID, a.status, name)
		}
	}
	for name := range a.header {
		if a.status < 400 && !slices.Contains(listed, name) {
			t.Errorf("%s: %s does not list the header %s for %d", a.what, op.OperationID, name, a.status)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[fmt.Sprintf("%s %d %s", op.OperationID, a.status, code)] = true
}

// errorCodes returns the codes that a response of the description lists.
func errorCodes(r *openapi3.Response) []string {
	raw, err := json.Marshal(r.Extensions["x-error-codes"])
	if err != nil {
		return nil
	}
	var codes []string
	_ = json.Unmarshal(raw, &codes)
	return codes
}

// promised returns every "operationId status code" of the description.
func (d *description) promised() []string {
	var all []string
	for _, item := range d.doc.Paths.Map() {
		for _, op := range item.Operations() {
			for status, ref := range op.Responses.Map() {
				codes := errorCodes(ref.Value)
				if len(codes) == 0 {
					codes = []string{""}
				}
				for _, code := range codes {
					all = append(all, fmt.Sprintf("%s %s %s", op.OperationID, status, code))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}
