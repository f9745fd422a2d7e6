package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/usage"
)

// A sieve says which requests of the log are wanted.
type sieve struct{ class, key, path, method string }

func (v *visit) sieve() sieve {
	q := v.r.URL.Query()
	return sieve{q.Get("outcome"), q.Get("key"), q.Get("path"), q.Get("method")}
}

func (s sieve) takes(e *usage.Event) bool {
	return (s.class == "" || usage.ClassOf(e.Status).String() == s.class) && (s.key == "" || s.key == e.KeyID) &&
		(s.method == "" || s.method == e.Method) && strings.Contains(e.Path, s.path)
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
	At       time.Time `json:"at"`
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	Status   int       `json:"status"`
	Code     string    `json:"code"`
	Took     string    `json:"took"`
	Key      string    `json:"key"`
	Request  string    `json:"request"`
	millis   float64
	keyID    string
	instants string
}

func requestOf(e *usage.Event, keys map[string]string) request {
	name := keys[e.KeyID]
	if name == "" {
		name = e.KeyID
	}
	return request{
		At: e.At.UTC(), Method: e.Method, Path: e.Path, Status: e.Status, Code: e.Code, Took: milliseconds(e.Duration),
		Key: name, Request: e.RequestID, millis: float64(e.Duration.Microseconds()) / 1000, keyID: e.KeyID,
		instants: e.At.UTC().Format("2006-01-02T15:04:05.000Z"),
	}
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
			rows = append(rows, requestOf(&e, names))
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
	outcomes := []option{{Label: "Any outcome"}}
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
			{Name: "path", Label: "Path", Kind: "text", Value: wanted.path, Hint: "/pets"},
			{Name: "method", Label: "Method", Kind: "select", Options: choose(methods, wanted.method)},
			{Name: "outcome", Label: "Outcome", Kind: "select", Options: choose(outcomes, wanted.class)},
			{Name: "key", Label: "Key", Kind: "select", Options: choose(choices, wanted.key)},
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
			return s.send("request", requestOf(&e, names))
		})
}

func requestsCSV(v *visit) error {
	rows, _, err := v.latest(1 << 20)
	if err != nil {
		return err
	}
	head := []string{"at", "method", "path", "status", "code", "milliseconds", "keyId", "keyName", "requestId"}
	return lines(v, "/console/requests", head, rows, func(r *request) []string {
		return []string{r.instants, r.Method, plain(r.Path), strconv.Itoa(r.Status), r.Code, strconv.FormatFloat(r.millis, 'f', 3, 64), r.keyID, plain(r.Key), plain(r.Request)}
	})
}
