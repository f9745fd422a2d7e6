package clients

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestPostmanCollection imports the description as Postman does, without optional parameters, and runs every request of the
// collection on a demo that nobody has used, from the first to the last. Postman makes up values of those that have
// no example: a cursor, and one Idempotency-Key for all requests of an operation.
func TestPostmanCollection(t *testing.T) {
	t.Parallel()
	s := serveDemo(t)
	served, collection, report := s.description(t), filepath.Join(t.TempDir(), "collection.json"), filepath.Join(t.TempDir(), "report.json")
	run(t, ".", others.Program(t, "openapi2postmanv2"), "-s", served, "-o", collection, "-O", "parametersResolution=Example,enableOptionalParameters=false")
	run(t, ".", others.Program(t, "newman"), "run", collection, "--env-var", "baseUrl="+s.URL, "--env-var", "bearerToken="+s.keys["demo"],
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
		succeeded := e.Response.Code >= 200 && e.Response.Code <= 299
		if reset := e.Item.Name == "Reset your sandbox"; succeeded == reset || reset && e.Response.Code != http.StatusForbidden {
			t.Errorf("%q is answered with %d %s", e.Item.Name, e.Response.Code, e.Response.Stream.Data)
		}
	}
	if got, want := len(got.Run.Executions), operations(t, served); got != want {
		t.Errorf("the collection makes %d requests, want one for each of the %d operations", got, want)
	}
}

// read reads a JSON file.
func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	must(t, err)
}

// operations returns how many a description has.
func operations(t *testing.T, path string) (n int) {
	t.Helper()
	d, err := openapi3.NewLoader().LoadFromFile(path)
	must(t, err)
	for _, item := range d.Paths.Map() {
		n += len(item.Operations())
	}
	return n
}
