package clients

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// binary is the program under test; TestMain sets it once.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "petstore-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "petstore")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/petstore").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// A server is the binary at work on a database of its own.
type server struct {
	url  string
	dir  string
	cmd  *exec.Cmd
	keys map[string]string // by workspace
}

// serve makes workspaces on a plan, which may have flags after it, with a key each, and serves them until the test ends.
func serve(t *testing.T, plan string, workspaces ...string) *server {
	t.Helper()
	s := &server{dir: t.TempDir(), keys: map[string]string{}}
	for _, name := range workspaces {
		s.add(t, name, plan)
	}
	s.cmd = exec.Command(binary, "serve", "--addr=127.0.0.1:0", "--ops-addr=off", "--log-level=error", "--webhook-allow-http", "--webhook-allow-to=127.0.0.0/8")
	s.cmd.Dir = s.dir
	s.url = started(t, s.cmd, regexp.MustCompile(`serves (http://\S+)`))
	return s
}

// add makes a workspace, with a key.
func (s *server) add(t *testing.T, name, plan string) {
	t.Helper()
	run(t, s.dir, binary, append([]string{"workspace", "create", name, "--plan"}, strings.Fields(plan)...)...)
	out := run(t, s.dir, binary, "key", "create", name, "--scope", "read,write,manage", "-o", "json")
	s.keys[name] = regexp.MustCompile(`pst_\w{38}`).FindString(out)
}

// serveDemo serves a demo until the test ends, on which anybody may make a sandbox. The demo is none: each example of the
// description succeeds there, but the one that resets a sandbox, which is refused with 403.
func serveDemo(t *testing.T) *server {
	t.Helper()
	s := &server{dir: t.TempDir(), keys: map[string]string{}}
	s.cmd = exec.Command(binary, "serve", "--demo", "--sandbox", "--addr=127.0.0.1:0", "--ops-addr=off", "--log-level=error")
	s.cmd.Dir = s.dir
	said := started(t, s.cmd, regexp.MustCompile(`(curl .*pst_\w{38}.*)`))
	s.keys["demo"] = regexp.MustCompile(`pst_\w{38}`).FindString(said)
	s.url = regexp.MustCompile(`http://[\d.:]+`).FindString(said)
	return s
}

// description saves the description that the server gives out, and returns where.
func (s *server) description(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openapi.json")
	run(t, s.dir, "curl", "--silent", "--fail", "--output", path, s.url+"/openapi.json")
	return path
}

// started starts a server and returns the address that it prints. The server is killed when the test ends.
func started(t *testing.T, cmd *exec.Cmd, address *regexp.Regexp) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone
		_ = cmd.Wait()
	})
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, out)
			return m[1]
		}
	}
	t.Fatalf("%s ended before it was ready:\n%s", filepath.Base(cmd.Path), said.String())
	return ""
}

// stop ends the server in good order, so that it stores what it counted.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
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
	out := run(t, s.dir, binary, "key", "list", workspace, "-o", "json")
	if err := json.Unmarshal([]byte(out), &keys); err != nil || len(keys) != 1 {
		t.Fatalf("key list %s = %s (%v), want one key", workspace, out, err)
	}
	return keys[0]
}
