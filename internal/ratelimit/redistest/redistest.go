// Package redistest runs Redis servers for tests: a server of one's own on a
// free port of the loopback, which keeps nothing on disk. It is imported by
// tests alone.
package redistest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/processtest"
	"github.com/redis/rueidis"
)

// ErrNoProgram is returned where Redis is not installed.
var ErrNoProgram = errors.New("not installed (Debian: redis-server, redis-sentinel)")

// A Server is a Redis server. Its methods take turns.
type Server struct {
	program, dir string
	args         []string
	port         int
	process      *exec.Cmd
	ended        chan struct{} // closed when process has ended
}

// Start runs a server for the time of one test. Each argument is one of
// redis-server's command line. Where Redis is not installed the test is skipped,
// or fails if the variable CI is "true".
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return start(tb, "redis-server", args)
}

func start(tb testing.TB, program string, args []string) *Server {
	tb.Helper()
	s, err := open(program, args)
	if err != nil {
		Missing(tb, err)
	}
	tb.Cleanup(func() { processtest.Must(tb, s.Close()) })
	return s
}

func open(program string, args []string) (*Server, error) {
	s, err := newServer(program, args)
	if err != nil {
		return nil, err
	}
	if err := s.runFirst(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends the server and removes all that it has.
func (s *Server) Close() error {
	s.Kill()
	return os.RemoveAll(s.dir)
}

// Missing ends a test that has no server because of err: it skips the test if
// Redis is not installed and the variable CI is not "true", else fails it.
func Missing(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, ErrNoProgram) && os.Getenv("CI") != "true" {
		tb.Skip(err)
	}
	tb.Fatal(err)
}

// runFirst is Run, on another port if another process has taken this one.
func (s *Server) runFirst() (err error) {
	for range 10 {
		if err = s.Run(); err == nil {
			return nil
		}
		s.Kill()
		if s.port, err = processtest.FreePort(); err != nil {
			return err
		}
	}
	return err
}

func newServer(program string, args []string) (*Server, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrNoProgram, program)
	}
	port, err := processtest.FreePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		return nil, err
	}
	s := &Server{program: path, dir: dir, port: port, args: args}
	if who := unprivileged(); who != nil {
		err = os.Chown(dir, int(who.Uid), int(who.Gid))
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// unprivileged returns the user nobody if the test runs as root, else nil.
func unprivileged() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: 65534, Gid: 65534}
}

// Addr returns the server's host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns the server's address as a URL.
func (s *Server) URL() string { return "redis://" + s.Addr() }

// Port returns the server's port.
func (s *Server) Port() int { return s.port }

// Run starts the server, again on the same port after Kill, and returns when it
// answers.
func (s *Server) Run() error {
	args := append(slices.Clone(s.args),
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no")
	s.process = exec.Command(s.program, args...) //nolint:gosec // the tests choose both
	s.process.Dir = s.dir
	s.process.SysProcAttr = &syscall.SysProcAttr{Credential: unprivileged()}
	processtest.EndWithParent(s.process)
	if err := s.process.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // a killed server always returns an error
		close(ended)
	}(s.process, s.ended)
	return s.await()
}

// await returns nil when the process itself answers, not another that has its port.
func (s *Server) await() error {
	self := fmt.Sprintf("process_id:%d\r\n", s.process.Process.Pid)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if strings.Contains(s.ask("INFO server"), self) {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("%s ended at its start", s.program)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s does not answer after 10 s", s.program)
}

// ask sends a command without arguments of any length and returns all that the
// server answers, or "" if it says nothing.
func (s *Server) ask(command string) string {
	c, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return ""
	}
	defer c.Close() //nolint:errcheck // it was only read
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return ""
	}
	if _, err := c.Write([]byte(command + "\r\n")); err != nil {
		return ""
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil { // a sentinel knows no QUIT
		return ""
	}
	all, err := io.ReadAll(c)
	if err != nil {
		return ""
	}
	return string(all)
}

// Kill ends the server at once. What it held is lost.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill() // it may have ended
	<-s.ended
	s.process = nil
}

// Pause stops the server without its connections noticing, until Resume.
func (s *Server) Pause(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGSTOP)
}

// Resume lets a paused server go on.
func (s *Server) Resume(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGCONT)
}

func (s *Server) signal(tb testing.TB, sig os.Signal) {
	tb.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		tb.Fatal(err)
	}
}

// Do sends one command and returns its answer as text, "" for nil.
func (s *Server) Do(tb testing.TB, words ...string) string {
	tb.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Addr()}, ForceSingleClient: true, DisableCache: true, DisableRetry: true, AlwaysRESP2: true,
		ClientSetInfo: rueidis.DisableClientSetInfo, Dialer: net.Dialer{Timeout: 10 * time.Second}, ConnWriteTimeout: 10 * time.Second,
	})
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	answer, err := c.Do(tb.Context(), c.B().Arbitrary(words...).Build()).ToAny()
	switch {
	case rueidis.IsRedisNil(err):
		return ""
	case err != nil:
		tb.Fatalf("%s: %v", strings.Join(words, " "), err)
	}
	return fmt.Sprint(answer)
}
