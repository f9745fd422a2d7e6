package security

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// petstore is the binary under test; TestMain sets it once.
var petstore servertest.Binary

func TestMain(m *testing.M) { os.Exit(servertest.Main(&petstore, m.Run)) }

// A site is a database folder, and the server that runs on it.
type site struct {
	*servertest.Server
	t   *testing.T
	dir string
	db  []string // the flags that name the database; none for the file in dir
	env []string // of the server
}

// newSite returns a site that does not serve yet.
func newSite(t *testing.T) *site {
	t.Helper()
	return &site{t: t, dir: t.TempDir()}
}

// workspace makes a workspace and returns a key to it with every scope.
func (s *site) workspace(name string, plan ...string) string {
	s.t.Helper()
	return petstore.Shop(s.t, s.dir, name, append(plan, s.db...)...).Key
}

func (s *site) key(workspace string, flags ...string) servertest.Key {
	s.t.Helper()
	k, err := petstore.NewKey(s.dir, workspace, append(flags, s.db...)...)
	must(s.t, err)
	return k
}

// serve starts the server, until the test ends. It has every operation, and its consoles may be looked at without end.
func (s *site) serve(flags ...string) *site {
	s.t.Helper()
	s.Server = petstore.Start(s.t, servertest.Options{Dir: s.dir, Flags: append([]string{"--console-pages=1000000", "--h2c=on", "--sandbox", "--webhook-allow-to=127.0.0.0/8"}, flags...), Env: s.env})
	return s
}

// addr returns the host and port of the public listener.
func (s *site) addr() string { return strings.TrimPrefix(s.URL, "http://") }

// A request is what a client sends; zero members are left out.
type request struct {
	method, path, key, body string
	header                  map[string]string
}

// An answer is what came back.
type answer struct {
	servertest.Answer
	t    *testing.T
	what string
}

var client = &http.Client{
	Timeout:       servertest.Patience,
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (s *site) do(r request) answer {
	s.t.Helper()
	return s.through(client, r)
}

// through sends a request with a client.
func (s *site) through(c *http.Client, r request) answer {
	s.t.Helper()
	sent := servertest.Request{Method: r.method, URL: s.URL + r.path, Key: r.key, Body: r.body, Header: r.header}
	a, err := servertest.Send(context.Background(), c, sent)
	if err != nil {
		s.t.Fatalf("%v: %v", sent, err)
	}
	return answer{a, s.t, strings.TrimSpace(r.method + " " + r.path + " " + r.body)}
}

// want fails the test unless the answer has the status and the error code.
func (a answer) want(status int, code string) answer {
	a.t.Helper()
	if a.Status != status || a.Code != code {
		a.t.Errorf("%s = %d %s, want %d %s\n%s", a.what, a.Status, a.Code, status, code, a.Body)
	}
	return a
}

// must fails the test at once unless the answer has the status.
func (a answer) must(status int) answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("%s = %d, want %d\n%s", a.what, a.Status, status, a.Body)
	}
	return a
}

// stock gives a workspace n categories, pets and orders, with equal ids from 1
// on; their names begin with name.
func (s *site) stock(key, name string, n int) {
	s.t.Helper()
	for i := 1; i <= n; i++ {
		s.do(request{method: "POST", path: "/categories", key: key, body: fmt.Sprintf(`{"name":"%s kind %d"}`, name, i)}).must(201)
		s.do(request{method: "POST", path: "/pets", key: key, body: fmt.Sprintf(`{"name":"%s %d","categoryId":%d}`, name, i, i)}).must(201)
		s.do(request{method: "PATCH", path: fmt.Sprintf("/inventory/%d", i), key: key, body: `{"quantity":1000}`}).must(200)
		s.do(request{method: "POST", path: "/store/orders", key: key, body: fmt.Sprintf(`{"petId":%d}`, i)}).must(201)
	}
}

// must ends a test if there is an error.
var must = servertest.Must
