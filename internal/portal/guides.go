package portal

import (
	"embed"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"example.com/petstore/api"
	"example.com/petstore/internal/portal/asset"
)

// Where the guides are, and the list of them.
const (
	guidePath = "/docs/guides/"
	guideList = "/docs/guides"
)

// A guide is a page about one subject. Its text is guides/NAME.html.
type guide struct {
	Name, Title, Lead string
}

// URL returns the address of the guide.
func (g guide) URL() string { return guidePath + g.Name }

// guides returns the guides in the order in which they are read.
func guides() []guide {
	return []guide{
		{"first-request", "Your first request", "From nothing to a sold pet, in five requests."},
		{"keys", "Keys", "How to send a key, what it may do, and how to replace it without an outage."},
		{"errors", "Errors", "All errors have the same form, and a code that never changes."},
		{"limits", "Limits and retries", "How many requests you may send, how to see what is left, and how to wait."},
		{"idempotency", "Idempotency", "Repeat a POST without doing it twice."},
		{"pagination", "Lists and pages", "Walk through any list, and read only what has changed."},
		{"events", "Events", "Learn of every change, in order and exactly once."},
		{"webhooks", "Webhooks", "Have events posted to your URL, and verify that they are genuine."},
		{"stock", "Stock and states", "What takes stock, what returns it, and when a pet is sold."},
		{"command-line", "Command line", "Use the API from a shell, with petstore api."},
		{"testing", "Test your client", "A petstore for your test suite that starts in a known state and fails on request."},
		{"sunset", "Deprecation and sunset", "Which operations end, when, and what replaces them."},
	}
}

//go:embed retry verify mirror suite
var programs embed.FS

// A guideSamples has the programs that guides show; the tests run them.
type guideSamples struct {
	Retry  []snippet // wait and repeat
	Verify []snippet // verify events
	Suite  []snippet // test a client

	Receive, Mirror string // receive events, keep a copy
}

func newGuideSamples() guideSamples {
	return guideSamples{
		Retry: []snippet{
			{"curl", "sh", program("retry/retry.sh")}, {"JavaScript", "javascript", program("retry/retry.mjs")},
			{"Python", "python", program("retry/retry.py")}, {"Go", "go", program("retry/main.go")},
		},
		Verify: []snippet{
			{"JavaScript", "javascript", program("verify/verify.mjs")}, {"Python", "python", program("verify/verify.py")},
			{"Go", "go", program("verify/verify.go")}, {"Shell", "sh", program("verify/verify.sh")},
		},
		Suite: []snippet{
			{"TypeScript", "javascript", program("suite/suite.ts")}, {"Python", "python", program("suite/suite.py")},
			{"Go", "go", program("suite/suite_test.go")}, {"Shell", "sh", program("suite/suite.sh")},
		},
		Receive: program("verify/receive.mjs"), Mirror: program("mirror/mirror.py"),
	}
}

// program returns the text of a program that guides show.
func program(name string) string { return string(asset.Must(programs.ReadFile(name))) }

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
		byStatus[n].add(d.Response(r))
	}
	for _, o := range d.Operations() {
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
	m, ok := r.Content.Get("application/json")
	if !ok {
		return
	}
	for _, code := range r.Codes {
		if slices.ContainsFunc(f.Codes, func(c codeExample) bool { return c.Code == code }) {
			continue
		}
		e, _ := m.Examples.Get(code)
		f.Codes = append(f.Codes, codeExample{code, messageOf(e)})
	}
}

// advice says what a client does about a status.
func advice(status int) string {
	return map[int]string{
		400: "The request is wrong. Do not repeat it unchanged. `errors` names every member or parameter at fault.",
		401: "Send a valid key. The header `WWW-Authenticate` says how. Do not repeat the request with the same key.",
		403: "The key is valid, but lacks a scope: `read` to read, `write` to change, `manage` for keys, `read` and `manage` for webhooks. Each operation says which one it needs. With `not_a_sandbox`, the workspace is no sandbox.",
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
func messageOf(e *api.Example) string {
	if e == nil {
		return ""
	}
	var body struct{ Message string }
	if err := json.Unmarshal(e.Value, &body); err != nil {
		return ""
	}
	return body.Message
}
