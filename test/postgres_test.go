package test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/petstore/test/servertest"
)

// TestScriptsOnPostgres runs the scripts on what a shop goes through once more,
// each on a database of its own, and those about several nodes.
func TestScriptsOnPostgres(t *testing.T) {
	t.Parallel()
	server := database.Server(t)
	p := params("")
	for _, name := range []string{"shop", "bans", "data", "demo", "postgres/nodes"} {
		p.Files = append(p.Files, filepath.Join("testdata", name+".txtar"))
	}
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		name, err := server.Create(t.Context(), "")
		if err != nil {
			return err
		}
		env.Setenv("PETSTORE_DB", server.URL(name))
		return setup(env)
	}
	testscript.Run(t, p)
}

// status returns the status of a request, and the answer's body.
func status(t *testing.T, method, url, key, body string) (int, string) {
	t.Helper()
	a, err := servertest.Send(t.Context(), http.DefaultClient, servertest.Request{Method: method, URL: url, Key: key, Body: body})
	must(t, err)
	if a.Status == http.StatusServiceUnavailable && key != "" && a.Header.Get("Retry-After") == "" {
		t.Errorf("%s %s = 503 without Retry-After", method, url)
	}
	return a.Status, a.Body
}

// await repeats a request until its status is want.
func await(t *testing.T, want int, method, url, key, body string) (text string) {
	t.Helper()
	servertest.Eventually(t, fmt.Sprintf("%s %s = %d", method, url, want), func() bool {
		var got int
		got, text = status(t, method, url, key, body)
		return got == want
	})
	return text
}
