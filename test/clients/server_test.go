package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// petstore is the binary under test; TestMain sets it once.
var petstore servertest.Binary

// must ends a test if there is an error.
var must = servertest.Must

func TestMain(m *testing.M) { os.Exit(servertest.Main(&petstore, m.Run)) }

// A server is the binary at work on a database of its own.
type server struct {
	*servertest.Server
	dir  string
	keys map[string]string // by workspace
}

// serve makes workspaces on a plan, which may have flags after it, with a key each, and serves them until the test ends.
func serve(t *testing.T, plan string, workspaces ...string) *server {
	t.Helper()
	s := &server{dir: t.TempDir(), keys: map[string]string{}}
	for _, name := range workspaces {
		s.add(t, name, plan)
	}
	s.Server = petstore.Start(t, servertest.Options{Dir: s.dir, Flags: []string{"--log-level=error", "--webhook-allow-http", "--webhook-allow-to=127.0.0.0/8"}})
	return s
}

// add makes a workspace, with a key.
func (s *server) add(t *testing.T, name, plan string) {
	t.Helper()
	s.keys[name] = petstore.Shop(t, s.dir, name, strings.Fields(plan)...).Key
}

// serveDemo serves a demo until the test ends, on which anybody may make a sandbox. The demo is none: each example of the
// description succeeds there, but the one that resets a sandbox, which is refused with 403.
func serveDemo(t *testing.T) *server {
	t.Helper()
	s := &server{dir: t.TempDir(), keys: map[string]string{}}
	s.Server = petstore.Start(t, servertest.Options{Dir: s.dir, Flags: []string{"--demo", "--sandbox", "--log-level=error"}})
	s.keys["demo"] = regexp.MustCompile(`pst_\w{38}`).FindString(s.Printed())
	return s
}

// description saves the description that the server gives out, and returns where.
func (s *server) description(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openapi.json")
	run(t, s.dir, "curl", "--silent", "--fail", "--output", path, s.URL+"/openapi.json")
	return path
}

// A usage is what the server knows of a key.
type usage struct {
	UsedToday    int64
	RefusedToday int64
	BannedUntil  string
}

func (s *server) usage(t *testing.T, workspace string) usage {
	t.Helper()
	var keys []usage
	out := petstore.Must(t, s.dir, "key", "list", workspace, "-o=json")
	if err := json.Unmarshal([]byte(out), &keys); err != nil || len(keys) != 1 {
		t.Fatalf("key list %s = %s (%v), want one key", workspace, out, err)
	}
	return keys[0]
}
