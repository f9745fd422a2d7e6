package browser

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// petstore is the binary under test; TestMain sets it once.
var petstore servertest.Binary

var (
	pictures   = flag.String("pictures", "", "make pictures of the pages in `FOLDER`")
	everyWidth = flag.Bool("every-width", false, "have axe-core look at each page in four widths")
)

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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("the service ended with %v:\n%s", err, server.LogText())
		}
		if log := server.LogText(); strings.Contains(log, `"level":"ERROR"`) {
			t.Errorf("the service logged errors:\n%s", log)
		}
	})
	s.url, s.ops = server.URL, server.Ops
	found := regexp.MustCompile(`with the key (\S+)[^$]*?\s(http\S+/console/link\?\S+)\n`)
	s.until(func() bool {
		if m := found.FindStringSubmatch(server.Printed()); m != nil {
			s.key, s.signIn = m[1], m[2]
		}
		return s.signIn != ""
	})
	return s
}

// command runs another command on the service's database and returns its answer, if it is in JSON.
func (s *site) command(args ...string) map[string]any {
	s.t.Helper()
	out, err := petstore.Run(s.dir, args...)
	if err != nil {
		s.t.Fatal(err)
	}
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
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(read)
}

// until waits for something to hold, at most as long as a busy machine takes.
func (s *site) until(holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(servertest.Patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatal("it did not come to hold")
		}
	}
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
