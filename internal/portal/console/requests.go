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
	outcomes := []option{{Label: "Any outcome"}, {Value: errorClass, Label: "All errors"}}
	for class := range usage.Class(usage.Classes) {
		outcomes = append(outcomes, option{Value: class.String(), Label: class.String()})
	}
	methods := optionsOf("Any method", "GET", "POST", "PUT", "PATCH", "DELETE")
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
	return v.csv(head, func(d *download) error {
		for i := range rows {
			if err := d.row(rows[i].line()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *request) line() []string {
	e, retry := r.event, ""
	if e.Refused != "" {
		retry = time.Unix(e.Until, 0).UTC().Format(time.RFC3339)
	}
	return []string{
		r.At.Format("2006-01-02T15:04:05.000Z"), r.Method, plain(r.Path), plain(r.Query), strconv.Itoa(r.Status), r.Code, e.Refused, retry,
		strconv.FormatFloat(float64(e.Duration.Microseconds())/1000, 'f', 3, 64), e.KeyID, plain(r.Key), plain(r.Request),
	}
}

// A requestPage is one request of the log.
type requestPage struct {
	request
	Facts   []fact
	Refused *refused // nil unless it was refused by the limits
	Curl    string   // "" if it cannot be sent again like this
	HasBody bool
}

// refused says why a request was refused, and how the key stands now.
type refused struct {
	Why         string
	Until       time.Time // when it could be sent again
	Now         []meter
	StrikesLeft int       // before the key is banned; 0 while it is
	BannedUntil time.Time // zero unless a ban runs
}

// showRequest shows a request that the log still has: what was asked, what became of it, and why.
func showRequest(v *visit) error {
	events := v.Usage.Latest(v.who.Workspace.ID)
	i := slices.IndexFunc(events, func(e usage.Event) bool { return e.RequestID == v.id })
	if i < 0 {
		v.refuse(http.StatusNotFound, "This request is not in the log",
			"The log holds the latest few hundred successes, errors and refusals that this server answered since it started. Look for it in the log of the server.")
		return nil
	}
	keys, err := v.knownKeys()
	if err != nil {
		return err
	}
	e := &events[i]
	p := requestPage{request: v.requestOf(e, keyNames(keys)), Refused: v.refusedBy(e), Curl: v.curl(e)}
	p.HasBody = strings.Contains(p.Curl, "body.json")
	p.Facts = []fact{{"Took", cell{Text: p.Took}}, {"Key", cell{Text: p.Key, Name: true}}, {"Request id", cell{Text: p.Request, Code: true}}}
	if e.Operation != "" {
		p.Facts = append(p.Facts, fact{"Operation", cell{Text: e.Operation, Code: true}})
	}
	return v.render(http.StatusOK, "request", "Request", p)
}

// refusedBy returns why the limits refused a request, or nil if they did not.
func (v *visit) refusedBy(e *usage.Event) *refused {
	why := map[string]string{
		"minute": "The " + number(e.Limit) + " requests of the minute were spent. All keys of the workspace share them, and so does what is changed in this console.",
		"day":    "The " + number(e.Limit) + " requests of the UTC day were spent. All keys of the workspace share them, and so does what is changed in this console.",
		"banned": "The key was banned, because it kept sending requests after it was told to wait, or by the operator.",
	}[e.Refused]
	if why == "" {
		return nil
	}
	r := &refused{Why: why, Until: time.Unix(e.Until, 0).UTC()}
	if entry := v.Keys.Entry(e.KeyID); entry != nil {
		now := keyLimits{v.Limiter.Peek(v.r.Context(), entry.Slot)}
		r.Now = []meter{meterOf("This minute", now.Minute), meterOf("Today (UTC)", now.Day)}
		r.StrikesLeft, r.BannedUntil = now.StrikesLeft, now.banned()
	}
	return r
}

// curl returns the command that sends the request again, without the key; "" of one that the log has cut, and of the console's own.
func (v *visit) curl(e *usage.Event) string {
	if within("/console", e.Path) || strings.Contains(target(e), "…") {
		return ""
	}
	address := v.base() + (&url.URL{Path: e.Path, RawQuery: e.Query}).String()
	command := "curl -i " + quoted(address)
	switch e.Method {
	case http.MethodGet:
	case http.MethodHead:
		command = "curl -I " + quoted(address)
	default:
		command = "curl -i -X " + e.Method + " " + quoted(address)
	}
	command += " \\\n  -H \"Authorization: Bearer $PETSTORE_KEY\""
	switch e.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		command += " \\\n  -H 'Content-Type: application/json' --data @body.json"
	}
	return command
}

// quoted returns text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// base returns where the reader's browser finds the service.
func (v *visit) base() string {
	if v.BaseURL != "" {
		return strings.TrimSuffix(v.BaseURL, "/")
	}
	scheme := "http://"
	if v.r.TLS != nil {
		scheme = "https://"
	}
	return scheme + v.r.Host
}
