package browser

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// petstore is the binary under test; TestMain sets it once.
var petstore servertest.Binary

var (
	pictures   = flag.String("pictures", "", "make pictures of the pages in `FOLDER`")
	everyWidth = flag.Bool("every-width", false, "have axe-core look at each page in four widths")
)

// must ends a test if there is an error.
var must = servertest.Must

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(runtime.NumCPU()+1)); err != nil { // some wait for a page that is live
		panic(err)
	}
	os.Exit(servertest.Main(&petstore, func() int {
		defer chromium.end()
		return m.Run()
	}))
}

// A site is a running service with the demo shop.
type site struct {
	t      *testing.T
	dir    string
	url    string
	key    string // of the demo shop
	signIn string // the one-time link to its console
	ops    string
}

// serve starts the service until the test ends.
func serve(t *testing.T, flags ...string) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	server, err := petstore.Serve(servertest.Options{Dir: s.dir, Flags: append([]string{"--demo", "--drain-delay=0s", "--console-pages=100000"}, flags...)})
	must(t, err)
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("the service ended with %v:\n%s", err, server.LogText())
		}
		if log := server.LogText(); strings.Contains(log, `"level":"ERROR"`) {
			t.Errorf("the service logged errors:\n%s", log)
		}
	})
	found := regexp.MustCompile(`with the key (\S+)[^$]*?\s(http\S+/console/link\?\S+)\n`).FindStringSubmatch(server.Printed())
	s.url, s.ops, s.key, s.signIn = server.URL, server.Ops, found[1], found[2]
	return s
}

// command runs another command on the service's database and returns its answer, if it is in JSON.
func (s *site) command(args ...string) map[string]any {
	s.t.Helper()
	out := petstore.Must(s.t, s.dir, args...)
	var answer map[string]any
	_ = json.Unmarshal([]byte(out), &answer) // some answer with a list, or nothing
	return answer
}

// newKey makes a workspace with limits of its own and returns a key to it.
func (s *site) newKey(workspace string, perMinute, perDay int) (key string) {
	s.t.Helper()
	s.command("workspace", "create", workspace, "--plan=enterprise", fmt.Sprint("--per-minute=", perMinute), fmt.Sprint("--per-day=", perDay))
	key, _ = s.command("key", "create", workspace, "--scope=read,write,manage", "-o=json")["key"].(string)
	s.until(func() bool { return s.call(key, "GET", "/account", "") == http.StatusOK })
	return key
}

// call sends a request to the API and returns its status.
func (s *site) call(key, method, path, body string) int {
	s.t.Helper()
	status, _ := s.send(key, method, path, body)
	return status
}

// send sends a request to the API and returns its status and what it answers.
func (s *site) send(key, method, path, body string) (status int, text string) {
	s.t.Helper()
	a, err := servertest.Send(s.t.Context(), http.DefaultClient, servertest.Request{Method: method, URL: s.url + path, Key: key, Body: body})
	must(s.t, err)
	return a.Status, a.Body
}

// until waits for something to hold, at most as long as a busy machine takes.
func (s *site) until(holds func() bool) {
	s.t.Helper()
	servertest.Eventually(s.t, "something holds", holds)
}

// A key is what "petstore key list" says of one.
type key struct{ ID, Name, State string }

func (s *site) keys(workspace string) []key {
	s.t.Helper()
	out, err := petstore.Run(s.dir, "key", "list", workspace, "-o=json")
	var list []key
	if err := errors.Join(err, json.Unmarshal([]byte(out), &list)); err != nil {
		s.t.Fatalf("petstore key list: %v\n%s", err, out)
	}
	return list
}

func (s *site) isBanned(workspace string) bool {
	for _, k := range s.keys(workspace) {
		if k.State == "banned" {
			return true
		}
	}
	return false
}

func (s *site) keyNamed(workspace, name string) string {
	for _, k := range s.keys(workspace) {
		if k.Name == name {
			return k.ID
		}
	}
	s.t.Fatalf("there is no key named %s", name)
	return ""
}
