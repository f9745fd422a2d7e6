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
		400: "The request is wrong. Do not repeat it unchanged. `errors` names every member or parameter at fault.",
		401: "Send a valid key. The header `WWW-Authenticate` says how. Do not repeat the request with the same key.",
		403: "The key is valid, but lacks a scope: `read` to read, `write` to change, `manage` for keys, `read` and `manage` for webhooks. Each operation says which one it needs.",
		404: "Your workspace has no such resource. What belongs to another workspace is not found either.",
		405: "The path does not support this method. `Allow` lists the methods that it supports.",
		406: "Accept `application/json`, or leave the header out.",
		409: "The request is valid, but the current state does not allow it. Read the resource and decide again. Repeat the request only after `idempotency_in_progress`, when `Retry-After` has passed.",
		410: "What you asked for is gone. After `operation_sunset`, use the operation in `Link` with `rel=\"successor-version\"`. After `events_expired`, read the lists, then continue as the message says.",
		412: "Somebody has changed the resource since you read it. Read it again, apply your change to the new version, and send it with the new `ETag`.",
		413: "A body may have at most 64 KiB.",
		414: "A URL may have at most 8 KiB.",
		415: "Send `application/json`; PATCH takes `application/merge-patch+json` as well.",
		422: "The `Idempotency-Key` was used for another request. Use a new key for each new request, and the same key only to repeat it.",
		429: "Wait as many seconds as `Retry-After` says. See the guide to [limits and retries](/docs/guides/limits).",
		431: "All headers together may have at most 16 KiB.",
		500: "An error in the server. The operator can find the cause by the request id. Repeat the request only if it is a GET or has an `Idempotency-Key`.",
		503: "The server cannot handle the request now. Wait as many seconds as `Retry-After` says, then repeat the request.",
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
