package test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/petstore/internal/store/postgres/postgrestest"
	"example.com/petstore/test/servertest"
)

// TestScriptsOnPostgres runs the scripts on what a shop and its keys go through
// once more, each on a database of its own, and those about several nodes.
func TestScriptsOnPostgres(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	p := params("")
	for _, name := range []string{"shop", "keys", "bans", "data", "demo", "postgres/nodes"} {
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

// newShop makes a workspace in the database at url and returns a key to it.
func newShop(t *testing.T, dir, url string) string {
	t.Helper()
	key, err := petstore.NewShop(dir, "acme", "business", "--db="+url)
	if err != nil {
		t.Fatal(err)
	}
	return key.Key
}

// status returns the status of a request, and the answer's body.
func status(t *testing.T, method, url, key, body string) (int, string) {
	t.Helper()
	a, err := servertest.Send(t.Context(), http.DefaultClient, servertest.Request{Method: method, URL: url, Key: key, Body: body})
	if err != nil {
		t.Fatal(err)
	}
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

// TestPostgresGoesAndComesBack: a node outlives its database, says that it
// cannot serve, and serves again when the database is back.
func TestPostgresGoesAndComesBack(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	url, dir := server.URL("postgres"), t.TempDir()
	key := newShop(t, dir, url)
	s, err := petstore.Serve(servertest.Options{Dir: dir, Flags: []string{"--db=" + url}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	await(t, http.StatusCreated, http.MethodPost, s.URL+"/categories", key, `{"name":"Dogs"}`)
	if err := server.Crash(); err != nil {
		t.Fatal(err)
	}
	if text := await(t, http.StatusServiceUnavailable, http.MethodGet, s.Ops+"/readyz", "", ""); !strings.Contains(text, `"store"`) {
		t.Errorf("/readyz = %s, want the store as the reason", text)
	}
	for _, c := range []struct{ method, body string }{{http.MethodGet, ""}, {http.MethodPost, `{"name":"Cats"}`}} {
		if got, text := status(t, c.method, s.URL+"/categories", key, c.body); got != http.StatusServiceUnavailable {
			t.Errorf("%s without a database = %d %s, want 503", c.method, got, text)
		}
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	await(t, http.StatusOK, http.MethodGet, s.Ops+"/readyz", "", "")
	await(t, http.StatusCreated, http.MethodPost, s.URL+"/categories", key, `{"name":"Birds"}`)
	if err := s.Stop(); err != nil {
		t.Errorf("the end: %v", err)
	}
}
