package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/usage"
)

// A sieve says which requests of the log are wanted.
type sieve struct{ class, key, path, method, id string }

// errorClass is the class of all that is no success.
const errorClass = "errors"

func (v *visit) sieve() sieve {
	q := v.r.URL.Query()
	return sieve{q.Get("outcome"), q.Get("key"), q.Get("path"), q.Get("method"), strings.TrimSpace(q.Get("id"))}
}

func (s sieve) takes(e *usage.Event) bool {
	return s.takesClass(e.Status) && (s.key == "" || s.key == e.KeyID) && (s.method == "" || s.method == e.Method) &&
		strings.Contains(target(e), s.path) && (s.id == "" || s.id == e.RequestID)
}

func (s sieve) takesClass(status int) bool {
	return s.class == "" || usage.ClassOf(status).String() == s.class || s.class == errorClass && status >= 400
}

// target returns what was asked for: the path, with the query if there was one.
func target(e *usage.Event) string {
	if e.Query == "" {
		return e.Path
	}
	return e.Path + "?" + e.Query
}

// A requestLog is the page of the latest requests.
type requestLog struct {
	Filters  []field
	Filtered bool
	Rows     []request
	Live     string
	CSV      string
	Most     int
}

// A request is one line of the log.
type request struct {
	At      time.Time `json:"at"`
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Query   string    `json:"query,omitempty"`
	Status  int       `json:"status"`
	Code    string    `json:"code,omitempty"`
	Help    string    `json:"help,omitempty"` // the address of what the docs say of the code
	Took    string    `json:"took"`
	Key     string    `json:"key"`
	Request string    `json:"request"`
	URL     string    `json:"url"` // of the request's page
	event   *usage.Event
}

func (c *Console) requestOf(e *usage.Event, keys map[string]string) request {
	r := request{
		At: e.At.UTC(), Method: e.Method, Path: e.Path, Query: e.Query, Status: e.Status, Code: e.Code, Took: milliseconds(e.Duration),
		Key: cmp.Or(keys[e.KeyID], e.KeyID), Request: e.RequestID, URL: c.at("/console/requests/" + url.PathEscape(e.RequestID)), event: e,
	}
	if e.Code != "" {
		r.Help = c.at("/docs/guides/errors#" + e.Code)
	}
	return r
}

// latest returns the requests of the workspace that the query asks for, the newest first.
func (v *visit) latest(most int) ([]request, []access.Key, error) {
	keys, err := v.knownKeys()
	if err != nil {
		return nil, nil, err
	}
	names, wanted, rows := keyNames(keys), v.sieve(), []request{}
	for _, e := range v.Usage.Latest(v.who.Workspace.ID) {
		if wanted.takes(&e) && len(rows) < most {
			rows = append(rows, v.requestOf(&e, names))
		}
	}
	return rows, keys, nil
}

// knownKeys returns the latest keys of the workspace, of those that are not revoked and of the others.
func (v *visit) knownKeys() ([]access.Key, error) {
	live, err := v.Access.KeyPage(v.r.Context(), v.who.Workspace.ID, access.KeyPage{Newest: true, Unrevoked: true, Limit: 2 * access.MaxKeys})
	if err != nil {
		return nil, err
	}
	latest, err := v.Access.KeyPage(v.r.Context(), v.who.Workspace.ID, access.KeyPage{Newest: true, Limit: access.MaxKeys})
	return append(live, slices.DeleteFunc(latest, func(k access.Key) bool { return k.RevokedAt.IsZero() })...), err
}

func keyNames(keys []access.Key) map[string]string {
	names := make(map[string]string, len(keys))
	for _, k := range keys {
		names[k.ID] = access.Printable(k.Name)
	}
	return names
}

func showRequests(v *visit) error {
	rows, keys, err := v.latest(eventsInLine)
	if err != nil {
		return err
	}
	wanted := v.sieve()
	outcomes := []option{{Label: "Any outcome"}, {Value: errorClass, Label: "Errors: 4xx, 429, 5xx"}}
	for class := range usage.Class(usage.Classes) {
		outcomes = append(outcomes, option{Value: class.String(), Label: class.String()})
	}
	methods := []option{{Label: "Any method"}}
	for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		methods = append(methods, option{Value: m, Label: m})
	}
	choices := []option{{Label: "Any key"}}
	for _, k := range keys {
		if k.RevokedAt.IsZero() {
			choices = append(choices, option{Value: k.ID, Label: access.Printable(k.Name) + " (" + k.Prefix + "…)"})
		}
	}
	page := requestLog{
		Rows: rows, Live: address("/console/requests/live", v.r.URL.Query()), CSV: address("/console/requests.csv", v.r.URL.Query()),
		Filtered: wanted != sieve{}, Most: eventsInLine,
		Filters: []field{
			{Name: "path", Label: "Path or query", Kind: "text", Value: wanted.path, Hint: "/pets"},
			{Name: "method", Label: "Method", Kind: "select", Options: choose(methods, wanted.method)},
			{Name: "outcome", Label: "Outcome", Kind: "select", Options: choose(outcomes, wanted.class)},
			{Name: "key", Label: "Key", Kind: "select", Options: choose(choices, wanted.key)},
			{Name: "id", Label: "Request id", Kind: "text", Value: wanted.id, Hint: "X-Request-Id"},
		},
	}
	return v.render(http.StatusOK, "requests", "Requests", page)
}

func liveRequests(v *visit) error {
	keys, err := v.knownKeys()
	if err != nil {
		return err
	}
	names, wanted := keyNames(keys), v.sieve()
	return v.live(func(_ context.Context, s stream) error { return s.write(": still here\n\n") },
		func(s stream, e usage.Event) error {
			if !wanted.takes(&e) {
				return nil
			}
			return s.send("request", v.requestOf(&e, names))
		})
}

func requestsCSV(v *visit) error {
	rows, _, err := v.latest(1 << 20)
	if err != nil {
		return err
	}
	head := []string{"at", "method", "path", "query", "status", "code", "refusedBy", "retryAt", "milliseconds", "keyId", "keyName", "requestId"}
	return lines(v, "/console/requests", head, rows, func(r *request) []string {
		e, retry := r.event, ""
		if e.Refused != "" {
			retry = time.Unix(e.Until, 0).UTC().Format(time.RFC3339)
		}
		return []string{
			r.At.Format("2006-01-02T15:04:05.000Z"), r.Method, plain(r.Path), plain(r.Query), strconv.Itoa(r.Status), r.Code, e.Refused, retry,
			strconv.FormatFloat(float64(e.Duration.Microseconds())/1000, 'f', 3, 64), e.KeyID, plain(r.Key), plain(r.Request),
		}
	})
}
