package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	bin      string // the binary under test; TestMain sets it once
	pictures = flag.String("pictures", "", "make pictures of the pages in `FOLDER`")
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	dir, err := os.MkdirTemp("", "petstore-browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = filepath.Join(dir, "petstore")
	build := exec.Command("go", "build", "-o", bin, "../../cmd/petstore")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// missing skips the test, or fails it where everything must be there.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", what)
	}
	t.Skipf("%s is not installed", what)
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
	return s.start(flags...)
}

func (s *site) start(flags ...string) *site {
	s.t.Helper()
	cmd := exec.Command(bin, append([]string{"serve", "--demo", "--addr=127.0.0.1:0", "--ops-addr=127.0.0.1:0", "--drain-delay=0s", "--console-pages=100000"}, flags...)...)
	cmd.Dir = s.dir
	cmd.Env = []string{"HOME=" + s.dir}
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
			s.t.Errorf("the service ended with %v:\n%s", err, log.String())
		}
		if strings.Contains(log.String(), `"level":"ERROR"`) {
			s.t.Errorf("the service logged errors:\n%s", log.String())
		}
	})
	for lines := bufio.NewScanner(out); s.signIn == "" && lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if _, after, ok := strings.Cut(line, " serves "); ok {
			s.url = after
		}
		if _, after, ok := strings.Cut(line, "with the key "); ok {
			s.key, _, _ = strings.Cut(after, " ")
		}
		if strings.Contains(line, "/console/link?") {
			s.signIn = line
		}
		if after, ok := strings.CutPrefix(line, "operations"); ok {
			s.ops = strings.TrimSpace(after)
		}
	}
	if s.signIn == "" {
		s.t.Fatalf("the service did not start:\n%s", log.String())
	}
	return s
}

// command runs another command on the service's database and returns its answer, if it is in JSON.
func (s *site) command(args ...string) map[string]any {
	s.t.Helper()
	cmd := exec.Command(bin, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"HOME=" + s.dir}
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("petstore %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	var answer map[string]any
	_ = json.Unmarshal(out, &answer) // some answer with a list, or nothing
	return answer
}

// newKey makes a workspace with limits of its own and returns a key to it.
func (s *site) newKey(workspace string, perMinute, perDay int) (key string) {
	s.t.Helper()
	s.command("workspace", "create", workspace, "--plan=enterprise", fmt.Sprint("--per-minute=", perMinute), fmt.Sprint("--per-day=", perDay))
	key, _ = s.command("key", "create", workspace, "-o=json")["key"].(string)
	s.until(func() bool { return s.call(key, "GET", "/account", "") == http.StatusOK })
	return key
}

// call sends a request to the API and returns its status.
func (s *site) call(key, method, path, body string) int {
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
	return answer.StatusCode
}

// until waits for something to hold, for at most ten seconds.
func (s *site) until(holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatal("it did not come to hold within ten seconds")
		}
	}
}

// A key is what "petstore key list" says of one.
type key struct{ ID, Name, State string }

func (s *site) keys(workspace string) []key {
	s.t.Helper()
	cmd := exec.Command(bin, "key", "list", workspace, "-o=json")
	cmd.Dir = s.dir
	cmd.Env = []string{"HOME=" + s.dir}
	out, err := cmd.Output()
	var list []key
	if err := errors.Join(err, json.Unmarshal(out, &list)); err != nil {
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
