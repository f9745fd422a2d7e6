package clients

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// laterAnswers makes of an answer of today what a server of a later version may answer: a type of event, an error code and a
// member that today's description does not have.
var laterAnswers = strings.NewReplacer(
	`"type":"pet.created"`, `"type":"pet.photographed"`,
	`"code":"pet_not_available"`, `"code":"pet_asleep"`,
	`"categoryId":`, `"colour":"brown","categoryId":`,
)

// later starts a server of a later version, which has another do the work.
func later(t *testing.T, upstream string) string {
	t.Helper()
	to, err := url.Parse(upstream)
	must(t, err)
	replace := func(body io.ReadCloser, change func(string) string) (io.ReadCloser, int64, error) {
		text, err := io.ReadAll(body)
		text = []byte(change(string(text)))
		return io.NopCloser(bytes.NewReader(text)), int64(len(text)), err
	}
	s := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Set("Accept-Encoding", "identity")
			// A client that writes back what it read sends the member too.
			forget := func(s string) string { return strings.ReplaceAll(s, `"colour":"brown",`, "") }
			var err error
			if r.Out.Body, r.Out.ContentLength, err = replace(r.In.Body, forget); err != nil {
				panic(http.ErrAbortHandler) // the client is gone
			}
		},
		ModifyResponse: func(r *http.Response) (err error) {
			r.Header.Del("Content-Length")
			r.Body, r.ContentLength, err = replace(r.Body, laterAnswers.Replace)
			return err
		},
	})
	t.Cleanup(s.Close)
	return s.URL
}

// TestShortLives has the clients of each generator create, list and order, and be refused for the stock and for the limit;
// first by the server of today, then by one of a later version, which must break none of them.
func TestShortLives(t *testing.T) {
	t.Parallel()
	node := func(t *testing.T, program string) []string {
		return []string{"node", filepath.Join(typeScript(t), program+".js")}
	}
	lives := map[string]func(t *testing.T, program string) []string{
		"swagger-typescript-api": node,
		"hey-api-zod":            node,
		"orval-fetch":            node,
		"orval-axios":            node,
		"kubb":                   node,
		"ogenshop":               func(t *testing.T, program string) []string { return []string{filepath.Join(goPrograms(t), program)} },
	}
	var names []string
	for name := range lives {
		names = append(names, name, name+" later")
	}
	s := serve(t, "enterprise --per-minute 25 --per-day 1000", names...)
	behind := later(t, s.URL)
	for name, command := range lives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := command(t, name)
			for _, args := range [][]string{{s.URL, s.keys[name]}, {behind, s.keys[name+" later"], "later"}} {
				if out := run(t, ".", c[0], append(c[1:], args...)...); !strings.Contains(out, "a shop's life is over") {
					t.Errorf("with %v it printed %q, want the end of the shop's life", args[2:], out)
				}
			}
		})
	}
}

// TestRespect has Redocly's respect run a workflow, in which it holds each response against the description.
func TestRespect(t *testing.T) {
	t.Parallel()
	s := serve(t, "enterprise --per-minute 5 --per-day 1000", "shop")
	dir := filepath.Dir(s.description(t))
	run(t, ".", "cp", "testdata/shop.arazzo.yaml", dir)
	run(t, dir, others.Program(t, "redocly"), "respect", "shop.arazzo.yaml", "--input", "key="+s.keys["shop"])
}

// TestBruno imports the description as the server gives it out, and runs every request of the collection on a demo that
// nobody has used. Then one is refused for what it asks, and for the limit.
func TestBruno(t *testing.T) {
	t.Parallel()
	s := serveDemo(t)
	served, dir := s.description(t), t.TempDir()
	run(t, dir, others.Program(t, "bru"), "import", "openapi", "--source", served, "--output", dir)
	statuses := func(key string, args ...string) (all []int) {
		report := filepath.Join(t.TempDir(), "report.json")
		run(t, filepath.Join(dir, "Petstore"), others.Program(t, "bru"), append([]string{"run", "--env", "The server that serves this description",
			"--env-var", "token=" + key, "--reporter-json", report}, args...)...)
		var iterations []struct {
			Results []struct{ Response struct{ Status int } }
		}
		read(t, report, &iterations)
		for _, i := range iterations {
			for _, r := range i.Results {
				all = append(all, r.Response.Status)
			}
		}
		return all
	}
	all := statuses(s.keys["demo"], "-r")
	failed := slices.DeleteFunc(slices.Clone(all), func(status int) bool { return status >= 200 && status <= 299 })
	if !slices.Equal(failed, []int{http.StatusForbidden}) {
		t.Errorf("the requests are answered with %v, want successes, but for the sandbox's reset", all)
	}
	if got, want := len(all), operations(t, served); got != want {
		t.Errorf("the collection makes %d requests, want one for each of the %d operations", got, want)
	}
	s.add(t, "empty", "enterprise --per-minute 1 --per-day 1000")
	if got := statuses(s.keys["empty"], "orders/Place an order.yml", "--iteration-count", "2"); len(got) != 2 || got[0] != 400 || got[1] != 429 {
		t.Errorf("two orders of a pet that is not there are answered with %v, want 400 and 429", got)
	}
}
