package portal

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"text/template"
)

// A call is one request that the samples make.
type call struct {
	Method, URL, Media string
	Body               string // on one line; "": none
	Key                bool   // needs a key
	Retryable          bool   // takes an Idempotency-Key
	Empty              bool   // the answer has no body
}

// Function is the name of the method in Python's requests.
func (c call) Function() string { return strings.ToLower(c.Method) }

// ShellBody is the body within single quotes of a shell.
func (c call) ShellBody() string { return strings.ReplaceAll(c.Body, "'", `'\''`) }

// ScriptBody is the body as JavaScript, whose names need no quotes.
func (c call) ScriptBody() string { return bareKeys.ReplaceAllString(c.Body, "$1: ") }

// PythonBody is the body as Python.
func (c call) PythonBody() string { return pythonLiterals.Replace(c.Body) }

var (
	bareKeys       = regexp.MustCompile(`"([A-Za-z]+)": `)
	pythonLiterals = strings.NewReplacer(": true", ": True", ": false", ": False", ": null", ": None")
)

//go:embed samples.txt
var sampleText string

// samples returns a call in the languages of samples.txt.
func samples(c call) []snippet {
	all := template.Must(template.New("").Parse(sampleText))
	list := []snippet{{Lang: "sh", Title: "curl"}, {Lang: "javascript", Title: "JavaScript"}, {Lang: "python", Title: "Python"}, {Lang: "go", Title: "Go"}}
	for i := range list {
		var b strings.Builder
		if err := all.ExecuteTemplate(&b, list[i].Lang, c); err != nil {
			panic(err) // a fault of samples.txt, which the tests execute
		}
		list[i].Code = b.String()
	}
	return list
}

// call returns the sample request of an operation: the first example of its body, the examples of its path, a page of its list.
func (d *description) call(o *operation, base string) call {
	c := call{Method: o.Method, URL: base + d.examplePath(o), Key: len(o.Scopes) > 0}
	query := url.Values{}
	for _, p := range d.Of(o) {
		switch {
		case p.Name == "Idempotency-Key":
			c.Retryable = true
		case p.In == "query" && p.Name == "limit":
			query.Set("limit", "20")
		case p.In == "query" && p.Name == "status":
			query.Set("status", "available")
		}
	}
	if len(query) > 0 {
		c.URL += "?" + query.Encode()
	}
	if o.RequestBody != nil {
		last := o.RequestBody.Content.Last()
		c.Media, c.Body = last.Key, oneLine(last.Value.Examples[0].Value.Value)
	}
	_, c.Empty = o.Responses.Get("204")
	return c
}

// examplePath is the path with the examples of its parameters.
func (d *description) examplePath(o *operation) string {
	path := o.Path
	for _, p := range d.Of(o) {
		if p.In == "path" {
			path = strings.ReplaceAll(path, "{"+p.Name+"}", plain(p.Example))
		}
	}
	return path
}

// oneLine writes JSON on one line, with a space after each colon and comma.
func oneLine(text json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", ""); err != nil {
		return string(text)
	}
	s := strings.ReplaceAll(b.String(), ",\n", ", ")
	return strings.ReplaceAll(s, "\n", "")
}

// indented writes JSON over several lines.
func indented(text json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return string(text)
	}
	return b.String()
}
