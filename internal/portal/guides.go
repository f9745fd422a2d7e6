package portal

import (
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strconv"

	"example.com/petstore/api"
	"example.com/petstore/examples"
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

// program returns a program of the guides, in the language that its name says. The tests run it.
func program(title, name string) snippet {
	languages := map[string]string{".sh": "sh", ".mjs": "javascript", ".ts": "javascript", ".py": "python", ".go": "go"}
	return snippet{title, languages[path.Ext(name)], string(asset.Must(examples.Files.ReadFile(name)))}
}

// A failure is one status with its codes, for the guide to errors.
type failure struct {
	Status int
	Text   string
	Codes  []codeExample
}

type codeExample struct {
	Code, Message string
}

// failures returns every error code of the description under its status, in ascending order.
func (d *description) failures() []failure {
	var list []failure
	for _, r := range d.Responses() {
		n, _ := strconv.Atoi(r.Key)
		i := slices.IndexFunc(list, func(f failure) bool { return f.Status == n })
		if i < 0 && n >= 400 {
			i, list = len(list), append(list, failure{Status: n, Text: http.StatusText(n)})
		}
		if i >= 0 {
			list[i].add(d.Response(r.Value))
		}
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
