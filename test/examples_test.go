package test

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/api"
	"example.com/petstore/test/servertest"
)

// A demo is a server on a demo of its own.
type demo struct{ dir, url, ops, key string }

// newDemo serves a demo that nobody has used; flags are further ones of serve.
func newDemo(t *testing.T, flags ...string) demo {
	t.Helper()
	dir := t.TempDir()
	s := petstore.Start(t, servertest.Options{Dir: dir, Flags: append(flags, "--demo")})
	return demo{dir, s.URL, s.Ops, regexp.MustCompile(`with the key (\S+)`).FindStringSubmatch(s.Printed())[1]}
}

// An example is a request made of the examples of the description.
type example struct {
	method, path, operation, name string
	header                        map[string]string
	body                          string
}

// send sends the request and returns the status and the text of the answer.
func (d demo) send(t *testing.T, e example) (int, string) {
	t.Helper()
	a, err := servertest.Send(t.Context(), http.DefaultClient, servertest.Request{Method: e.method, URL: d.url + e.path, Key: d.key, Body: e.body, Header: e.header})
	must(t, err)
	return a.Status, a.Body
}

// examplesOf returns the requests of an operation: one for each example of its
// body, or one, with the examples of all parameters.
func examplesOf(path, method string, o *openapi3.Operation) []example {
	e := example{method: method, path: path, operation: o.OperationID, header: map[string]string{}}
	query := url.Values{}
	for _, ref := range o.Parameters {
		p := ref.Value
		if p.Example == nil {
			continue
		}
		values, many := p.Example.([]any)
		if !many {
			values = []any{p.Example}
		}
		for _, v := range values {
			switch p.In {
			case "path":
				e.path = strings.ReplaceAll(e.path, "{"+p.Name+"}", fmt.Sprint(v))
			case "query":
				query.Add(p.Name, fmt.Sprint(v))
			case "header":
				e.header[p.Name] = fmt.Sprint(v)
			}
		}
	}
	if len(query) > 0 {
		e.path += "?" + query.Encode()
	}
	if o.RequestBody == nil {
		return []example{e}
	}
	return withBodies(e, o.RequestBody.Value.Content)
}

// withBodies returns the request with each example of its body.
func withBodies(e example, content openapi3.Content) []example {
	var all []example
	for media, m := range content {
		for name, x := range m.Examples {
			body, err := json.Marshal(x.Value.Value)
			if err != nil {
				panic(err) // it was JSON
			}
			one := e
			one.name, one.body, one.header = media+" "+name, string(body), maps.Clone(e.header)
			one.header["Content-Type"] = media
			all = append(all, one)
		}
	}
	return all
}

// TestEveryExampleSucceeds sends each request that the description shows to a
// demo as "serve --demo" makes it.
func TestEveryExampleSucceeds(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(api.JSON())
	must(t, err)
	count := 0
	shared := newDemo(t, "--sandbox")
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			for _, e := range examplesOf(path, method, o) {
				count++
				t.Run(strings.TrimSpace(e.operation+" "+e.name), func(t *testing.T) {
					t.Parallel()
					d := shared
					if method != http.MethodGet && strings.Contains(path, "{") { // it may change what others need
						d = newDemo(t, "--sandbox")
					}
					if e.operation == "resetSandbox" {
						var made struct{ Key string }
						status, text := d.send(t, example{method: http.MethodPost, path: "/sandboxes"})
						if err := json.Unmarshal([]byte(text), &made); err != nil || made.Key == "" {
							t.Fatalf("POST /sandboxes = %d %s", status, text)
						}
						d.key = made.Key
					}
					status, text := d.send(t, e)
					if documented := o.Responses.Status(status); documented == nil || status >= 400 {
						t.Errorf("%s %s with %s = %d %s, want a success", e.method, e.path, e.body, status, text)
					}
				})
			}
		}
	}
	if count < 30 {
		t.Errorf("the description has only %d examples of requests", count)
	}
}

// samplesOn returns the samples of a page of the reference in one language, in
// their order.
func samplesOn(t *testing.T, d demo, path, lang string) []string {
	t.Helper()
	_, page := d.send(t, example{method: http.MethodGet, path: path})
	var all []string
	for _, m := range regexp.MustCompile(`(?s)<pre tabindex="0" data-lang="`+lang+`"><code[^>]*>(.*?)</code></pre>`).FindAllStringSubmatch(page, -1) {
		all = append(all, html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[1], "")))
	}
	return all
}

// TestSamplesOfTheReference runs the samples for the shell and for JavaScript as
// they stand on the pages, each language on one demo, one after the other. Those for
// Python and Go make the same requests. None may print an error of the API.
func TestSamplesOfTheReference(t *testing.T) {
	t.Parallel()
	for lang, program := range map[string][]string{
		"sh":         {"sh", "-euc", `uuidgen() { cat /proc/sys/kernel/random/uuid; }; for sample; do echo "$sample:"; . "$sample"; done`, "samples"},
		"javascript": {"node", "--input-type=module", "-e", `for (const sample of process.argv.slice(1)) { console.log(sample + ":"); await import(sample); }`},
	} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			servertest.Need(t, program[0], map[string]string{"sh": "dash", "node": "nodejs"}[program[0]])
			servertest.Need(t, "curl", "curl")
			d, dir, all := newDemo(t, "--sandbox"), t.TempDir(), slices.Clone(program[1:])
			for _, page := range []string{"animals", "categories", "orders", "inventory", "account", "keys"} {
				for n, sample := range samplesOn(t, d, "/docs/"+page, lang) {
					if !strings.Contains(sample, "/account/reset") { // of sandboxes: see TestEveryExampleSucceeds
						all = append(all, filepath.Join(dir, fmt.Sprint(page, n, ".mjs")))
						must(t, os.WriteFile(all[len(all)-1], []byte(sample), 0o600))
					}
				}
			}
			if len(all) < 28 {
				t.Errorf("the reference has few samples, want one for each operation: %q", all)
			}
			cmd := exec.CommandContext(t.Context(), program[0], all...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "PETSTORE_KEY=" + d.key}
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Contains(string(out), `"code":"`) {
				t.Errorf("the samples end with %v and print\n%s", err, out)
			}
		})
	}
}
