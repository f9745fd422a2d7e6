package portal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// A call is one request that the samples make.
type call struct {
	method, url string
	body        json.RawMessage // nil: none
	media       string
	retryable   bool // takes an Idempotency-Key
	empty       bool // the answer has no body
}

// A sample is the same call in one language.
type sample struct {
	Lang, Label, Code string
}

func samples(c call) []sample {
	return []sample{
		{"sh", "curl", curl(c)},
		{"javascript", "JavaScript", javascript(c)},
		{"python", "Python", python(c)},
		{"go", "Go", golang(c)},
	}
}

// call returns the sample request of an operation: the first example of its body, the examples of its path, a page of its list.
func (d *description) call(o *operation, base string) call {
	c := call{method: o.method, url: base + d.examplePath(o)}
	query := url.Values{}
	for _, p := range d.parameters(o) {
		switch {
		case p.Name == "Idempotency-Key":
			c.retryable = true
		case p.In == "query" && p.Name == "limit":
			query.Set("limit", "20")
		case p.In == "query" && p.Name == "status":
			query.Set("status", "available")
		}
	}
	if len(query) > 0 {
		c.url += "?" + query.Encode()
	}
	if o.RequestBody != nil {
		last := o.RequestBody.Content[len(o.RequestBody.Content)-1]
		c.media, c.body = last.Key, last.Value.Examples[0].Value.Value
	}
	_, c.empty = o.Responses.get("204")
	return c
}

// examplePath is the path with the examples of its parameters.
func (d *description) examplePath(o *operation) string {
	path := o.path
	for _, p := range d.parameters(o) {
		if p.In == "path" {
			path = strings.ReplaceAll(path, "{"+p.Name+"}", plain(p.Example))
		}
	}
	return path
}

func curl(c call) string {
	var b strings.Builder
	b.WriteString("curl ")
	if c.method != "GET" && (c.method != "POST" || c.body == nil) {
		b.WriteString("-X " + c.method + " ")
	}
	fmt.Fprintf(&b, "\"%s\" \\\n  -H \"Authorization: Bearer $PETSTORE_KEY\"", c.url)
	if c.retryable {
		b.WriteString(" \\\n  -H \"Idempotency-Key: $(uuidgen)\"")
	}
	if c.body != nil {
		fmt.Fprintf(&b, " \\\n  -H \"Content-Type: %s\" \\\n  -d '%s'", c.media, strings.ReplaceAll(oneLine(c.body), "'", `'\''`))
	}
	return b.String()
}

func javascript(c call) string {
	var b strings.Builder
	fmt.Fprintf(&b, "const response = await fetch(%q, {\n", c.url)
	if c.method != "GET" {
		fmt.Fprintf(&b, "  method: %q,\n", c.method)
	}
	b.WriteString("  headers: {\n    Authorization: `Bearer ${process.env.PETSTORE_KEY}`,\n")
	if c.body != nil {
		fmt.Fprintf(&b, "    \"Content-Type\": %q,\n", c.media)
	}
	if c.retryable {
		b.WriteString("    \"Idempotency-Key\": crypto.randomUUID(),\n")
	}
	b.WriteString("  },\n")
	if c.body != nil {
		fmt.Fprintf(&b, "  body: JSON.stringify(%s),\n", bareKeys.ReplaceAllString(oneLine(c.body), "$1: "))
	}
	b.WriteString("});\nif (!response.ok) throw new Error((await response.json()).message);\n")
	if !c.empty {
		b.WriteString("console.log(await response.json());\n")
	}
	return b.String()
}

var bareKeys = regexp.MustCompile(`"([A-Za-z]+)": `)

func python(c call) string {
	var b strings.Builder
	b.WriteString("import os\n")
	if c.retryable {
		b.WriteString("import uuid\n")
	}
	fmt.Fprintf(&b, "\nimport requests\n\nresponse = requests.%s(\n    %q,\n    headers={\n", strings.ToLower(c.method), c.url)
	b.WriteString("        \"Authorization\": f\"Bearer {os.environ['PETSTORE_KEY']}\",\n")
	if c.media == "application/merge-patch+json" {
		fmt.Fprintf(&b, "        \"Content-Type\": %q,\n", c.media)
	}
	if c.retryable {
		b.WriteString("        \"Idempotency-Key\": str(uuid.uuid4()),\n")
	}
	b.WriteString("    },\n")
	if c.body != nil {
		fmt.Fprintf(&b, "    json=%s,\n", pythonLiterals.Replace(oneLine(c.body)))
	}
	b.WriteString("    timeout=10,\n)\nresponse.raise_for_status()\n")
	if !c.empty {
		b.WriteString("print(response.json())\n")
	}
	return b.String()
}

var pythonLiterals = strings.NewReplacer(": true", ": True", ": false", ": False", ": null", ": None")

func golang(c call) string {
	var b strings.Builder
	body := "nil"
	if c.body != nil {
		body = "body"
		fmt.Fprintf(&b, "body := strings.NewReader(`%s`)\n", oneLine(c.body))
	}
	fmt.Fprintf(&b, "req, err := http.NewRequest(%q, %q, %s)\nif err != nil {\n\tlog.Fatal(err)\n}\n", c.method, c.url, body)
	b.WriteString("req.Header.Set(\"Authorization\", \"Bearer \"+os.Getenv(\"PETSTORE_KEY\"))\n")
	if c.body != nil {
		fmt.Fprintf(&b, "req.Header.Set(\"Content-Type\", %q)\n", c.media)
	}
	if c.retryable {
		b.WriteString("req.Header.Set(\"Idempotency-Key\", rand.Text()) // crypto/rand\n")
	}
	b.WriteString("res, err := http.DefaultClient.Do(req)\nif err != nil {\n\tlog.Fatal(err)\n}\ndefer res.Body.Close()\n")
	if c.empty {
		b.WriteString("fmt.Println(res.Status)\n")
	} else {
		b.WriteString("io.Copy(os.Stdout, res.Body)\n")
	}
	return b.String()
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
