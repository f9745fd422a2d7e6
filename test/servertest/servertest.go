// Package servertest builds the petstore binary and runs it for tests, as an
// operator does: with its commands, its flags and its signals.
package servertest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/processtest"
	"go.uber.org/goleak"
)

// Patience is how long anything may take before it counts as failed.
const Patience = 30 * time.Second

// A Binary is the path of a built petstore.
type Binary string

// Build builds the binary into dir; args are further arguments of go build. Go keeps the
// programs of "go run", so that the packages of tests do not link one each.
func Build(dir, name string, args ...string) (Binary, error) {
	path := filepath.Join(dir, name)
	// It is linked quicker without the tables of a debugger.
	build := exec.Command("go", append(append([]string{"run", "-ldflags=-s -w", "-exec", `sh -c 'cp "$0" ` + path + `'`}, args...), "example.com/petstore/cmd/petstore")...) //nolint:gosec // a test says what to build
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return Binary(path), nil
}

// Main builds the binary, stores it in to, runs the tests, and fails if they
// leave a goroutine behind: the body of a TestMain. Under the race detector the
// binary is built with it too, and Main fails if it has found anything in any
// process, whichever way that ended.
func Main(to *Binary, run func() int) int {
	dir, err := os.MkdirTemp("", "petstore-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err = os.Chmod(dir, 0o755); err == nil { //nolint:gosec // for tests that run it as another user
		*to, err = buildRaced(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := run()
	if err = to.races(); code == 0 {
		err = errors.Join(err, goleak.Find())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Run runs a command in dir and returns what it printed to stdout.
func (b Binary) Run(dir string, args ...string) (string, error) {
	cmd := exec.Command(string(b), args...) //nolint:gosec // a test says what to run
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, b.reportRaces()}
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("petstore %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
	}
	return string(out), err
}

// A Key is a new API key.
type Key struct{ ID, Key string }

// NewWorkspace makes a workspace with quotas that no test reaches, unless plan
// names another plan and its flags; other flags may follow.
func (b Binary) NewWorkspace(dir, name string, plan ...string) error {
	if len(plan) == 0 || strings.HasPrefix(plan[0], "-") {
		plan = append([]string{"enterprise", "--per-minute=1000000000", "--per-day=1000000000"}, plan...)
	}
	_, err := b.Run(dir, append([]string{"workspace", "create", name, "--plan"}, plan...)...)
	return err
}

// NewKey makes a key; flags are those of "key create". A running server knows
// it within one second.
func (b Binary) NewKey(dir, workspace string, flags ...string) (k Key, err error) {
	out, err := b.Run(dir, append([]string{"key", "create", workspace, "-o=json"}, flags...)...)
	if err == nil {
		err = json.Unmarshal([]byte(out), &k)
	}
	return k, err
}

// NewShop makes a workspace as NewWorkspace does, and a key to it with every scope.
func (b Binary) NewShop(dir, name string, plan ...string) (Key, error) {
	if err := b.NewWorkspace(dir, name, plan...); err != nil {
		return Key{}, err
	}
	flags := slices.DeleteFunc(slices.Clone(plan), func(flag string) bool { return !strings.HasPrefix(flag, "--db=") })
	return b.NewKey(dir, name, append(flags, "--scope=read,write,manage")...)
}

// Shop is NewShop, of a test.
func (b Binary) Shop(t testing.TB, dir, name string, plan ...string) Key {
	t.Helper()
	k, err := b.NewShop(dir, name, plan...)
	Must(t, err)
	return k
}

// Must runs a command that must succeed, and returns what it printed to stdout.
func (b Binary) Must(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := b.Run(dir, args...)
	Must(t, err)
	return out
}

// Must ends the test if err is not nil.
var Must = processtest.Must

// Start is Serve, for the time of a test.
func (b Binary) Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := b.Serve(o)
	Must(t, err)
	t.Cleanup(s.Kill)
	return s
}

// Options say how a server is started.
type Options struct {
	Dir    string               // where it runs, and keeps petstore.db
	Flags  []string             // of serve; ports are free ones unless given here
	Env    []string             // besides HOME
	Files  []*os.File           // to inherit, from descriptor 3 on
	Attr   *syscall.SysProcAttr // of the process; nil for the default
	Shell  string               // run by sh before the server takes its place
	LogDir string               // where its log is written; "" for Dir
}

// A Server is a running "petstore serve".
type Server struct {
	URL, Ops string // of the public and of the operations listener
	Cmd      *exec.Cmd
	Log      string        // the path of its log
	Ended    chan struct{} // closed when the process is gone
	Err      error         // of its end; valid when Ended is closed

	printed processtest.Buffer
}

// Printed returns what the server has printed so far.
func (s *Server) Printed() string { return s.printed.String() }

// Serve starts the server, and returns when it has announced all that it announces.
func (b Binary) Serve(o Options) (*Server, error) {
	words := append([]string{string(b), "serve", "--addr=127.0.0.1:0", "--ops-addr=127.0.0.1:0"}, o.Flags...)
	if o.Shell != "" {
		words = append([]string{"sh", "-c", o.Shell + `; exec "$0" "$@"`}, words...)
	}
	log, err := os.CreateTemp(cmp.Or(o.LogDir, o.Dir), "serve-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(words[0], words[1:]...) //nolint:gosec // a test says what to run
	cmd.Dir, cmd.Env, cmd.Stderr = o.Dir, append([]string{"HOME=" + o.Dir, "PATH=" + os.Getenv("PATH"), b.reportRaces()}, o.Env...), log
	cmd.ExtraFiles, cmd.SysProcAttr = o.Files, o.Attr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{Cmd: cmd, Log: log.Name(), Ended: make(chan struct{})}
	said := make(chan struct{})
	last := "  database"
	if slices.Contains(o.Flags, "--demo") {
		last = "  curl "
	}
	go s.follow(stdout, last, said)
	return s, s.announced(said)
}

// follow reads what the server prints until it ends. The line that begins with last ends the announcement.
func (s *Server) follow(stdout io.Reader, last string, said chan<- struct{}) {
	lines := bufio.NewScanner(stdout)
	serves := regexp.MustCompile(`^Petstore .* serves (\S+)$`)
	operations := regexp.MustCompile(`^  operations +(\S+)$`)
	for lines.Scan() {
		fmt.Fprintln(&s.printed, lines.Text())
		if m := serves.FindStringSubmatch(lines.Text()); m != nil {
			s.URL = m[1]
		}
		if m := operations.FindStringSubmatch(lines.Text()); m != nil {
			s.Ops = m[1]
		}
		if strings.HasPrefix(lines.Text(), last) {
			close(said)
		}
	}
	s.Err = s.Cmd.Wait()
	close(s.Ended)
}

func (s *Server) announced(said <-chan struct{}) error {
	select {
	case <-said:
		return nil
	case <-s.Ended:
		return fmt.Errorf("the server ended before it was ready: %w\n%s", s.Err, s.LogText())
	case <-time.After(Patience):
		s.Kill()
		return fmt.Errorf("the server was not ready within %v\n%s", Patience, s.LogText())
	}
}

// LogText returns what the server has logged so far.
func (s *Server) LogText() string {
	text, err := os.ReadFile(s.Log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Kill ends the process at once, and returns when it is gone.
func (s *Server) Kill() {
	_ = s.Cmd.Process.Kill() // it may be gone
	<-s.Ended
}

// Stop asks the process to end in good order, and returns how it ended.
func (s *Server) Stop() error {
	_ = s.Cmd.Process.Signal(syscall.SIGTERM) // it may be gone
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	return s.Wait(ctx)
}

// Wait returns how the process ended. It kills it when ctx ends.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-s.Ended:
		return s.Err
	case <-ctx.Done():
		s.Kill()
		return fmt.Errorf("the server did not end: %w", ctx.Err())
	}
}
