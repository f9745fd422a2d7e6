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
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/usage"
)

// A requestFilter says which requests of the log are wanted.
type requestFilter struct{ class, key, path, method, id string }

// maxRows is how many requests the page of the log shows, to be short; the CSV has all.
const maxRows = 40

// errorClass is the class of all that is no success.
const errorClass = "errors"

func filterOf(v *visit) requestFilter {
	q := v.R.URL.Query()
	return requestFilter{q.Get("outcome"), q.Get("key"), q.Get("path"), q.Get("method"), strings.TrimSpace(q.Get("id"))}
}

func (s requestFilter) takes(e *usage.Event) bool {
	return s.takesClass(e.Status) && (s.key == "" || s.key == e.KeyID) && (s.method == "" || s.method == e.Method) &&
		strings.Contains(target(e), s.path) && (s.id == "" || s.id == e.RequestID)
}

func (s requestFilter) takesClass(status int) bool {
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
	Filters  []page.Field
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

func requestOf(v *visit, e *usage.Event, keys map[string]string) request {
	if e.KeyID != v.who.Key.ID && !v.May(access.Manage) {
		e = new(*e)
		e.KeyID = "another key"
	}
	r := request{
		At: e.At.UTC(), Method: e.Method, Path: e.Path, Query: e.Query, Status: e.Status, Code: e.Code, Took: page.Milliseconds(e.Duration),
		Key: cmp.Or(keys[e.KeyID], e.KeyID), Request: e.RequestID, URL: v.At("/console/requests/" + url.PathEscape(e.RequestID)), event: e,
	}
	if e.Code != "" {
		r.Help = v.At("/docs/guides/errors#" + e.Code)
	}
	return r
}

// latestRequests returns the requests of the workspace that the query asks for, the newest first.
func latestRequests(v *visit, most int) ([]request, []access.Key, error) {
	keys, err := knownKeys(v)
	if err != nil {
		return nil, nil, err
	}
	names, wanted, rows := page.KeyNames(keys), filterOf(v), []request{}
	for _, e := range v.Usage.Latest(v.who.Workspace.ID) {
		if wanted.takes(&e) && len(rows) < most {
			rows = append(rows, requestOf(v, &e, names))
		}
	}
	return rows, keys, nil
}

// knownKeys returns the latest keys of the workspace, of those that are not revoked and of the others; only that of who is
// signed in without the scope for them.
func knownKeys(v *visit) ([]access.Key, error) {
	if !v.May(access.Manage) {
		return []access.Key{v.who.Key}, nil
	}
	live, err := v.Access.KeyPage(v.R.Context(), v.who.Workspace.ID, access.KeyPage{Newest: true, Unrevoked: true, Limit: 2 * access.MaxKeys})
	if err != nil {
		return nil, err
	}
	latest, err := v.Access.KeyPage(v.R.Context(), v.who.Workspace.ID, access.KeyPage{Newest: true, Limit: access.MaxKeys})
	return append(live, slices.DeleteFunc(latest, func(k access.Key) bool { return k.RevokedAt.IsZero() })...), err
}

func showRequests(v *visit) error {
	rows, keys, err := latestRequests(v, maxRows)
	if err != nil {
		return err
	}
	wanted := filterOf(v)
	outcomes := []page.Option{{Label: "Any outcome"}, {Value: errorClass, Label: "All errors"}}
	for class := range usage.Class(usage.Classes) {
		outcomes = append(outcomes, page.Option{Value: class.String(), Label: class.String()})
	}
	methods := page.OptionsOf("Any method", "GET", "POST", "PUT", "PATCH", "DELETE")
	choices := []page.Option{{Label: "Any key"}}
	for _, k := range keys {
		if k.RevokedAt.IsZero() {
			choices = append(choices, page.Option{Value: k.ID, Label: access.Printable(k.Name) + " (" + k.Prefix + "…)"})
		}
	}
	log := requestLog{
		Rows: rows, Live: page.Address("/console/requests/live", v.R.URL.Query()), CSV: page.Address("/console/requests.csv", v.R.URL.Query()),
		Filtered: wanted != requestFilter{}, Most: maxRows,
		Filters: []page.Field{
			{Name: "path", Label: "Path or query", Kind: "text", Value: wanted.path, Hint: "/pets"},
			{Name: "method", Label: "Method", Kind: "select", Options: page.Choose(methods, wanted.method)},
			{Name: "outcome", Label: "Outcome", Kind: "select", Options: page.Choose(outcomes, wanted.class)},
			{Name: "key", Label: "Key", Kind: "select", Options: page.Choose(choices, wanted.key)},
			{Name: "id", Label: "Request id", Kind: "text", Value: wanted.id, Hint: "X-Request-Id"},
		},
	}
	return v.Render(http.StatusOK, "requests", "Requests", log)
}

func liveRequests(v *visit) error {
	keys, err := knownKeys(v)
	if err != nil {
		return err
	}
	names, wanted := page.KeyNames(keys), filterOf(v)
	events, stop := v.Usage.Watch(v.who.Workspace.ID)
	defer stop()
	return v.Live(func(_ context.Context, s page.Stream) error { return s.Idle() }, events, func(s page.Stream, e usage.Event) error {
		if !wanted.takes(&e) {
			return nil
		}
		return s.Send("request", requestOf(v, &e, names))
	})
}

func requestsCSV(v *visit) error {
	head := []string{"at", "method", "path", "query", "status", "code", "refusedBy", "retryAt", "milliseconds", "keyId", "keyName", "requestId"}
	return v.CSV(head, func(row func([]string) error) error {
		rows, _, err := latestRequests(v, 1<<20)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := row(rows[i].line()); err != nil {
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
		r.At.Format("2006-01-02T15:04:05.000Z"), r.Method, page.CSVText(r.Path), page.CSVText(r.Query), strconv.Itoa(r.Status), r.Code, e.Refused, retry,
		strconv.FormatFloat(float64(e.Duration.Microseconds())/1000, 'f', 3, 64), e.KeyID, page.CSVText(r.Key), page.CSVText(r.Request),
	}
}

// A requestPage is one request of the log.
type requestPage struct {
	request
	Facts   []page.Fact
	Refused *refused // nil unless it was refused by the limits
	Curl    string   // "" if it cannot be sent again like this
	HasBody bool
}

// refused says why a request was refused, and how the key stands now.
type refused struct {
	Why         string
	Until       time.Time // when it could be sent again
	Now         []page.Gauge
	StrikesLeft int       // before the key is banned; 0 while it is
	BannedUntil time.Time // zero unless a ban runs
}

// showRequest shows a request that the log still has: what was asked, what became of it, and why.
func showRequest(v *visit) error {
	events := v.Usage.Latest(v.who.Workspace.ID)
	i := slices.IndexFunc(events, func(e usage.Event) bool { return e.RequestID == v.ID })
	if i < 0 {
		v.Refuse(http.StatusNotFound, "This request is not in the log",
			"The log holds the latest few hundred successes, errors and refusals that this server answered since it started. Look for it in the log of the server.")
		return nil
	}
	keys, err := knownKeys(v)
	if err != nil {
		return err
	}
	e := &events[i]
	p := requestPage{request: requestOf(v, e, page.KeyNames(keys)), Refused: refusedBy(v, e), Curl: curlOf(v, e)}
	p.HasBody = strings.Contains(p.Curl, "body.json")
	p.Facts = []page.Fact{{Title: "Took", Cell: page.Cell{Text: p.Took}}, {Title: "Key", Cell: page.Cell{Text: p.Key, Name: true}}, {Title: "Request id", Cell: page.Cell{Text: p.Request, Code: true}}}
	if e.Operation != "" {
		p.Facts = append(p.Facts, page.Fact{Title: "Operation", Cell: page.Cell{Text: e.Operation, Code: true}})
	}
	return v.Render(http.StatusOK, "request", "Request", p)
}

// refusedBy returns why the limits refused a request, or nil if they did not.
func refusedBy(v *visit, e *usage.Event) *refused {
	why := map[string]string{
		"minute": "The " + page.Number(e.Limit) + " requests of the minute were spent. All keys of the workspace share them, and so does what is changed in this console.",
		"day":    "The " + page.Number(e.Limit) + " requests of the UTC day were spent. All keys of the workspace share them, and so does what is changed in this console.",
		"banned": "The key was banned, because it kept sending requests after it was told to wait, or by the operator.",
	}[e.Refused]
	if why == "" {
		return nil
	}
	r := &refused{Why: why, Until: time.Unix(e.Until, 0).UTC()}
	if entry := v.Keys.Entry(e.KeyID); entry != nil {
		now := page.KeyLimits{Decision: v.Limiter.Peek(v.R.Context(), entry.Slot)}
		r.Now = []page.Gauge{page.GaugeOf("This minute", now.Minute), page.GaugeOf("Today (UTC)", now.Day)}
		r.StrikesLeft, r.BannedUntil = now.StrikesLeft, now.Banned()
	}
	return r
}

// curlOf returns the command that sends the request again, without the key; "" of one that the log has cut, and of the console's own.
func curlOf(v *visit, e *usage.Event) string {
	if page.Within("/console", e.Path) || strings.Contains(target(e), "…") {
		return ""
	}
	address := baseURL(v) + (&url.URL{Path: e.Path, RawQuery: e.Query}).String()
	command := "curl -i " + shellQuoted(address)
	switch e.Method {
	case http.MethodGet:
	case http.MethodHead:
		command = "curl -I " + shellQuoted(address)
	default:
		command = "curl -i -X " + e.Method + " " + shellQuoted(address)
	}
	command += " \\\n  -H \"Authorization: Bearer $PETSTORE_KEY\""
	switch e.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		command += " \\\n  -H 'Content-Type: application/json' --data @body.json"
	}
	return command
}

// shellQuoted returns text as one word of a shell.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// baseURL returns where the reader's browser finds the service.
func baseURL(v *visit) string {
	if v.BaseURL != "" {
		return strings.TrimSuffix(v.BaseURL, "/")
	}
	scheme := "http://"
	if v.R.TLS != nil {
		scheme = "https://"
	}
	return scheme + v.R.Host
}
