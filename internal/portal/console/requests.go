package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/usage"
)

// A requestFilter says which requests of the log are wanted.
type requestFilter struct {
	class, key, path, method, id string
	from, to                     petstore.Time
	at                           time.Time // with last, the place of the last request of the page before; zero on the first page
	last                         string
}

// filterOf returns the filter that the query asks for, with its fields.
func filterOf(v *visit, keys []access.Key) (s requestFilter, f page.Filters) {
	f.Query = v.R.URL.Query()
	if nanos, id, ok := strings.Cut(f.Query.Get("before"), "."); ok {
		n, _ := strconv.ParseInt(nanos, 10, 64) // anything else is an end of the log
		s.at, s.last = time.Unix(0, n), id
	}
	outcomes := []page.Option{{Label: "Any outcome"}, {Value: "errors", Label: "All errors"}}
	for class := range usage.Class(usage.Classes) {
		outcomes = append(outcomes, page.Option{Value: class.String(), Label: class.String()})
	}
	choices := []page.Option{{Label: "Any key"}}
	for _, k := range keys {
		choices = append(choices, page.Option{Value: k.ID, Label: petstore.Shorten(access.Printable(k.Name), 60) + " (" + k.Prefix + "…)"})
	}
	s.path = f.Add(page.Field{Name: "path", Label: "Path or query", Kind: "text", Hint: "/pets"})
	s.method = f.Add(page.Field{Name: "method", Label: "Method", Kind: "select", Options: page.OptionsOf("Any method", "GET", "POST", "PUT", "PATCH", "DELETE")})
	s.class = f.Add(page.Field{Name: "outcome", Label: "Outcome", Kind: "select", Options: outcomes})
	s.key = f.Add(page.Field{Name: "key", Label: "Key", Kind: "select", Options: choices})
	s.from, s.to = f.Day("from", "From"), f.Day("to", "To")
	s.id = f.Add(page.Field{Name: "id", Label: "Request id", Kind: "text", Hint: "X-Request-Id"})
	return s, f
}

// takes reports whether the filter lets a request through, wherever its page begins.
func (s *requestFilter) takes(e *usage.Event) bool {
	at := e.At.UnixMilli()
	return (s.class == "" || usage.ClassOf(e.Status).String() == s.class || s.class == "errors" && e.Status >= 400) &&
		(s.key == "" || s.key == e.KeyID) && (s.method == "" || s.method == e.Method) && strings.Contains(target(e), s.path) && (s.id == "" || s.id == e.RequestID) &&
		(!s.from.Valid || at >= s.from.Millis) && (!s.to.Valid || at <= s.to.Millis)
}

// target returns what was asked for: the path, with the query if there was one.
func target(e *usage.Event) string { return strings.TrimSuffix(e.Path+"?"+e.Query, "?") }

// latestOf returns the requests of the log. Without the scope for keys, it does not tell the others apart.
func latestOf(v *visit) []usage.Event {
	all := v.Usage.Latest(v.who.Workspace.ID)
	for i := range all {
		if !v.May(access.Manage) && all[i].KeyID != v.who.Key.ID {
			all[i].KeyID = "another key"
		}
	}
	return all
}

// knownKeys returns the latest keys of the workspace, of those that are not revoked and of the others; only that of who is
// signed in without the scope for keys.
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

// listRequests reads the page of the log that the query asks for, the newest first.
func listRequests(v *visit) (page.List, error) {
	l := page.NewList("Requests", "The latest requests of this workspace to this server. Errors are kept longer than the rest.", "No requests since this server started.", "Request", "Status", "Error", "Took", "Key", "Time")
	l.Numbers[3], l.Whole, l.Live = true, true, true
	keys, err := knownKeys(v)
	names := page.KeyNames(keys)
	wanted, f := filterOf(v, keys)
	if l.Filters = f; err != nil || f.Wrong() != nil {
		return l, err
	}
	var rows []usage.Event
	for _, e := range latestOf(v) {
		if (wanted.at.IsZero() || cmp.Or(e.At.Compare(wanted.at), cmp.Compare(e.RequestID, wanted.last)) < 0) && wanted.takes(&e) {
			rows = append(rows, e)
		}
	}
	rows = page.Cut(&l, v.R.URL, rows, "before", func(last *usage.Event) string { return page.Text(last.At.UnixNano()) + "." + last.RequestID })
	for i := range rows {
		l.Rows = append(l.Rows, requestCells(&rows[i], names))
	}
	query := v.R.URL.Query()
	query.Del("before")
	l.CSV = page.Address("/console/requests.csv", query)
	return l, err
}

// requestCells returns the row of a request.
func requestCells(e *usage.Event, names map[string]string) []page.Cell {
	code := page.Cell{Text: e.Code}
	if e.Code != "" {
		code.URL = "/docs/guides/errors#" + e.Code
	}
	return []page.Cell{
		{Text: e.Method + " " + access.Printable(target(e)), URL: "/console/requests/" + url.PathEscape(e.RequestID), Name: true}, {Text: strconv.Itoa(e.Status), Badge: "s" + strconv.Itoa(e.Status/100)},
		code, {Text: page.Milliseconds(e.Duration)}, {Text: cmp.Or(names[e.KeyID], e.KeyID), Name: true}, exactly(e.At),
	}
}

// requestsCSV sends all that the filter lets through, as far as the log has it.
func requestsCSV(v *visit) error {
	keys, err := knownKeys(v)
	wanted, f := filterOf(v, keys)
	if err := cmp.Or(err, f.Wrong()); err != nil {
		return err
	}
	names := page.KeyNames(keys)
	head := []string{"at", "method", "path", "query", "status", "code", "refusedBy", "retryAt", "milliseconds", "keyId", "keyName", "requestId"}
	return v.CSV(head, func(row func([]string) error) (err error) {
		for _, e := range latestOf(v) {
			if err == nil && wanted.takes(&e) {
				err = row(lineOf(&e, cmp.Or(names[e.KeyID], e.KeyID)))
			}
		}
		return err
	})
}

func lineOf(e *usage.Event, key string) []string {
	retry := ""
	if e.Refused != "" {
		retry = time.Unix(e.Until, 0).UTC().Format(time.RFC3339)
	}
	return []string{
		e.At.UTC().Format("2006-01-02T15:04:05.000Z"), e.Method, page.CSVText(e.Path), page.CSVText(e.Query), strconv.Itoa(e.Status), e.Code, e.Refused, retry,
		strconv.FormatFloat(float64(e.Duration.Microseconds())/1000, 'f', 3, 64), e.KeyID, page.CSVText(key), page.CSVText(e.RequestID),
	}
}

// showRequest shows a request that the log still has: what was asked, what became of it, and why.
func showRequest(v *visit) error {
	events := latestOf(v)
	i := slices.IndexFunc(events, func(e usage.Event) bool { return e.RequestID == v.ID })
	if i < 0 {
		return v.Refuse(http.StatusNotFound, "This request is not in the log",
			"The log holds the latest few hundred successes, errors and refusals that this server answered since it started. Look for it in the log of the server.")
	}
	keys, err := knownKeys(v)
	e := &events[i]
	row := requestCells(e, page.KeyNames(keys))
	p := page.Form{
		Title: row[0].Text, State: &row[1], Back: page.Link{Title: "Requests", URL: "/console/requests"}, Sheets: refusedBy(v, e), Code: page.Snippet{Title: "As curl", Text: curlOf(v, e)},
		Facts: []page.Fact{{Title: "When", Cell: row[5]}, {Title: "Took", Cell: row[3]}, {Title: "Key", Cell: row[4]}, {Title: "Request id", Cell: page.Cell{Text: e.RequestID, Code: true}}, {Title: "Operation", Cell: page.Cell{Text: cmp.Or(e.Operation, "none"), Code: e.Operation != ""}}},
	}
	if e.Code != "" {
		p.Facts = append([]page.Fact{{Title: "Error", Cell: row[2]}}, p.Facts...)
	}
	if p.Code.Hint = "Put your key into PETSTORE_KEY: it is not kept here."; strings.Contains(p.Code.Text, "body.json") {
		p.Code.Hint += " Nor is the body: put it into body.json."
	}
	return cmp.Or(err, v.Show(http.StatusOK, p))
}

// refusedBy says why the limits refused a request, and how its key stands now; it returns nothing if they did not.
func refusedBy(v *visit, e *usage.Event) []page.List {
	why := map[string]string{
		"minute": "The " + page.Number(e.Limit) + " requests of the minute were spent. All keys of the workspace share them, and so does what is changed in this console.",
		"day":    "The " + page.Number(e.Limit) + " requests of the UTC day were spent. All keys of the workspace share them, and so does what is changed in this console.",
		"banned": "The key was banned, because it kept sending requests after it was told to wait, or by the operator.",
	}[e.Refused]
	if why == "" {
		return nil
	}
	l := page.NewList("Why was this refused?", why+" It could be sent again from "+page.InWords(time.Unix(e.Until, 0))+" on.", "", "The key now", "Used")
	l.New = &page.Link{Title: "How to wait", URL: "/docs/guides/limits#backoff"}
	if entry := v.Keys.Entry(e.KeyID); entry != nil {
		now := page.KeyLimits{Decision: v.Limiter.Peek(entry.Attachment)}
		for _, g := range now.Gauges() {
			l.Rows = append(l.Rows, []page.Cell{{Text: g.Name}, {Meter: &g}})
		}
		if banned := now.Banned(); !banned.IsZero() {
			l.Lead += " The key is banned until " + page.InWords(banned) + "."
		} else if now.StrikesLeft > 0 {
			l.Lead += " " + page.Counted(int64(now.StrikesLeft), "more strike bans", "more strikes ban") + " the key: requests that keep coming after a refusal are strikes."
		}
	}
	return []page.List{l}
}

// curlOf returns the command that sends the request again, without the key; "" of one that the log has cut, and of the console's own.
func curlOf(v *visit, e *usage.Event) string {
	if page.Within("/console", e.Path) || strings.Contains(target(e), "…") {
		return ""
	}
	address := shellQuoted(baseURL(v) + (&url.URL{Path: e.Path, RawQuery: e.Query}).String())
	how := cmp.Or(map[string]string{http.MethodGet: "-i ", http.MethodHead: "-I "}[e.Method], "-i -X "+e.Method+" ")
	command := "curl " + how + address + " \\\n  -H \"Authorization: Bearer $PETSTORE_KEY\""
	if e.Method == http.MethodPost || e.Method == http.MethodPut || e.Method == http.MethodPatch {
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
