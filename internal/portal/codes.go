package portal

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
)

// A failure is one status with its codes, for the guide to errors.
type failure struct {
	Status int
	Text   string
	Advice string // in Markdown
	Codes  []codeExample
}

type codeExample struct {
	Code, Message string
}

// failures returns every error code of the description under its status, in ascending order.
func (d *description) failures() []failure {
	byStatus := map[int]*failure{}
	note := func(status string, r *response) {
		n, _ := strconv.Atoi(status)
		if n < 400 {
			return
		}
		if byStatus[n] == nil {
			byStatus[n] = &failure{Status: n, Text: http.StatusText(n), Advice: advice(n)}
		}
		byStatus[n].add(d.response(r))
	}
	for _, o := range d.operations() {
		for _, r := range o.Responses {
			note(r.Key, r.Value)
		}
	}
	for _, r := range d.Unrouted {
		note(r.Key, r.Value)
	}
	var list []failure
	for _, f := range byStatus {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b failure) int { return a.Status - b.Status })
	return list
}

func (f *failure) add(r *response) {
	m, ok := r.Content.get("application/json")
	if !ok {
		return
	}
	for _, code := range r.Codes {
		if slices.ContainsFunc(f.Codes, func(c codeExample) bool { return c.Code == code }) {
			continue
		}
		e, _ := m.Examples.get(code)
		f.Codes = append(f.Codes, codeExample{code, messageOf(e)})
	}
}

// advice says what a client does about a status.
func advice(status int) string {
	return map[int]string{
		400: "The request itself is wrong: repeating it changes nothing. `errors` names each member or parameter at fault, all of them at once.",
		401: "Send a valid key. The header `WWW-Authenticate` says how. Repeating the request with the same key changes nothing.",
		403: "The key is valid, but lacks the scope: `read` to read, `write` to change, `manage` for the keys of the workspace. Each operation says which.",
		404: "There is no such thing in your workspace. What belongs to another workspace is not found either.",
		405: "The path exists, but not with this method. `Allow` names the methods it has.",
		406: "Accept `application/json`, or leave the header out.",
		409: "The request is fine, but the state of the shop does not allow it now. Read the resource and decide again. Only `idempotency_in_progress` is worth repeating, after `Retry-After`.",
		410: "The operation has been removed. `Link` with `rel=\"successor-version\"` has what replaces it.",
		412: "Somebody changed the resource since you read it. Read it again, apply your change to what you find, and send it with the new `ETag`.",
		413: "A body may have 64 KiB.",
		414: "A URL may have 8 KiB.",
		415: "Send `application/json`; PATCH takes `application/merge-patch+json` as well.",
		422: "The key was used for another request. Make a new key for each new request, and keep it for its repetitions.",
		429: "Wait as many seconds as `Retry-After` says. See the guide to [limits and retries](/docs/guides/limits).",
		431: "The headers may have 16 KiB together.",
		500: "Our fault. The request id helps to find out what happened. Repeat the request only if it is a read, or carries an `Idempotency-Key`.",
		503: "The service cannot answer for the moment. Wait as many seconds as `Retry-After` says, then repeat the request.",
	}[status]
}

// messageOf returns the message of an example of an error.
func messageOf(e *example) string {
	if e == nil {
		return ""
	}
	var body struct{ Message string }
	if err := json.Unmarshal(e.Value, &body); err != nil {
		return ""
	}
	return body.Message
}
