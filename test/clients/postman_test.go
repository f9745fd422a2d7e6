package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestPostmanCollection imports the description as Postman does, and has every request of the collection succeed on a demo
// that nobody has used, from the first to the last.
func TestPostmanCollection(t *testing.T) {
	t.Parallel()
	s := serveDemo(t)
	served, collection, report := s.description(t), filepath.Join(t.TempDir(), "collection.json"), filepath.Join(t.TempDir(), "report.json")
	run(t, ".", others.Program(t, "openapi2postmanv2"), "-s", served, "-o", collection, "-O", "parametersResolution=Example")
	untick(t, collection, "cursor")
	run(t, ".", others.Program(t, "newman"), "run", collection, "--env-var", "baseUrl="+s.url, "--env-var", "bearerToken="+s.keys["demo"],
		"--reporters", "json", "--reporter-json-export", report)
	var got struct {
		Run struct {
			Executions []struct {
				Item     struct{ Name string }
				Response struct {
					Code   int
					Stream struct{ Data []byte }
				}
			}
		}
	}
	read(t, report, &got)
	for _, e := range got.Run.Executions {
		if e.Response.Code < 200 || e.Response.Code > 299 {
			t.Errorf("%q is answered with %d %s, want a success", e.Item.Name, e.Response.Code, e.Response.Stream.Data)
		}
	}
	if got, want := len(got.Run.Executions), operations(t, served); got != want {
		t.Errorf("the collection makes %d requests, want one for each of the %d operations", got, want)
	}
}

// untick disables a query parameter in every request of a collection, as a user does. A cursor comes from an answer: the
// description has no true one to put there.
func untick(t *testing.T, collection, parameter string) {
	t.Helper()
	var c any
	read(t, collection, &c)
	n := disable(c, parameter)
	text, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(collection, text, 0o600)
	}
	if err != nil || n == 0 {
		t.Fatalf("%d requests have the parameter %s: %v", n, parameter, err)
	}
}

// disable disables all that have the key, and returns how many there are.
func disable(v any, key string) (n int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += disable(e, key)
		}
	case map[string]any:
		if v["key"] == key {
			v["disabled"] = true
			n++
		}
		for _, e := range v {
			n += disable(e, key)
		}
	}
	return n
}

// read reads a JSON file.
func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// operations returns how many a description has.
func operations(t *testing.T, path string) (n int) {
	t.Helper()
	d, err := openapi3.NewLoader().LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range d.Paths.Map() {
		n += len(item.Operations())
	}
	return n
}
