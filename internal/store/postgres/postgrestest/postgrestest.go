// Package postgrestest runs PostgreSQL servers for tests: a server of one's
// own in a temporary folder, reached through a Unix socket in it, with the
// durability that users have (fsync is on). It is imported by tests alone.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/processtest"
	"github.com/jackc/pgx/v5"
)

// ErrNoPrograms is returned where PostgreSQL's programs are not installed.
var ErrNoPrograms = errors.New("PostgreSQL's programs are not installed (Debian: postgresql-15)")

// A Server is a PostgreSQL server. Its methods may be called concurrently,
// but for Stop, Kill, Restart and Promote, which take turns.
type Server struct {
	bin, dir string
	settings []string

	mu      sync.Mutex
	process *exec.Cmd
	ended   chan struct{} // closed when process has ended

	databases atomic.Int64
}

// Open makes a cluster and starts its server. Each setting is a line of
// postgresql.conf.
func Open(settings ...string) (*Server, error) {
	s, err := newServer(settings)
	if err != nil {
		return nil, err
	}
	err = s.program("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	if err == nil {
		err = s.start()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Start is Open for the time of one test. Where PostgreSQL is not installed
// the test is skipped, or fails if the variable CI is "true".
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	s, err := Open(settings...)
	available(tb, err)
	s.closeWith(tb)
	return s
}

// closeWith closes the server at the end of a test.
func (s *Server) closeWith(tb testing.TB) {
	tb.Cleanup(func() { must(tb, s.Close()) })
}

// available ends a test that has no server because of err: it skips the test if
// PostgreSQL is not installed and the variable CI is not "true", else fails it.
func available(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, ErrNoPrograms) && os.Getenv("CI") != "true" {
		tb.Skip(err)
	}
	must(tb, err)
}

// must ends a test if err is not nil.
var must = processtest.Must

// newServer prepares a folder that the server's user owns.
func newServer(settings []string) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir, settings: append([]string{
		"listen_addresses = ''",
		"unix_socket_directories = '" + dir + "'",
		"max_connections = 300",
		"shared_buffers = 64MB",
		"deadlock_timeout = 200ms",
		"hot_standby_feedback = on",
	}, settings...)}
	if err := own(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// programs returns the folder of the newest PostgreSQL of Debian's packages, or
// of the one in PATH.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err == nil && len(found) > 0 {
		return filepath.Dir(slices.Max(found)), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", ErrNoPrograms
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Program returns the command of one of PostgreSQL's programs, to run as the
// server's user with the environment of its clients.
func (s *Server) Program(name string, args ...string) *exec.Cmd {
	cmd := program(s.dir, filepath.Join(s.bin, name), args...)
	cmd.Env = append(os.Environ(), "PGHOST="+s.dir, "PGUSER=postgres", "LC_ALL=C.UTF-8")
	return cmd
}

func (s *Server) program(name string, args ...string) error {
	if out, err := s.Program(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// start runs the server and returns when it answers.
func (s *Server) start() error {
	conf := filepath.Join(s.data(), "postgresql.auto.conf")
	if err := os.WriteFile(conf, []byte(strings.Join(s.settings, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	if err := own(conf); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd, ended := s.Program("postgres", "-D", s.data()), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended shows in its log
	}()
	s.mu.Lock()
	s.process, s.ended = cmd, ended
	s.mu.Unlock()
	return s.await(ended)
}

// await returns when the server answers, or an error with its log.
func (s *Server) await(ended chan struct{}) error {
	for deadline := time.After(30 * time.Second); ; {
		if err := s.ping(); err == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("the server ended: %s", s.Log())
		case <-deadline:
			return fmt.Errorf("the server does not answer: %s", s.Log())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *Server) ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return s.Exec(ctx, "postgres", "")
}

// Log returns what the server has said.
func (s *Server) Log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// URL returns the URL of a database of the server.
func (s *Server) URL(database string) string { return URL(database, s) }

// URL returns the URL of a database that one of several servers has.
func URL(database string, servers ...*Server) string {
	hosts := make([]string, len(servers))
	for i, s := range servers {
		hosts[i] = s.dir
	}
	q := url.Values{"host": {strings.Join(hosts, ",")}, "user": {"postgres"}}
	return "postgres:///" + database + "?" + q.Encode()
}

// Exec carries out SQL in a database of the server.
func (s *Server) Exec(ctx context.Context, database, sql string) error {
	return s.with(ctx, database, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// ask reads the one value that a query returns.
func (s *Server) ask(ctx context.Context, query string, value any) error {
	return s.with(ctx, "postgres", func(c *pgx.Conn) error { return c.QueryRow(ctx, query).Scan(value) })
}

func (s *Server) with(ctx context.Context, database string, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, s.URL(database))
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close(ctx))
}

// Create makes a database with the contents of template, or an empty one if
// that is "", and returns its name.
func (s *Server) Create(ctx context.Context, template string) (string, error) {
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	if template == "" {
		template = "template1"
	}
	return name, s.Exec(ctx, "postgres", "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY FILE_COPY") // quicker than through the log
}

// Database is Create for the time of one test; it returns the URL.
func (s *Server) Database(tb testing.TB, template string) string {
	tb.Helper()
	name, err := s.Create(context.Background(), template)
	must(tb, err)
	tb.Cleanup(func() { must(tb, s.Exec(context.Background(), "postgres", "DROP DATABASE "+name+" WITH (FORCE)")) })
	return s.URL(name)
}

// PID returns the id of the server's first process, whose children serve.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Process.Pid
}

// signal sends sig to the server and waits for its end; one that is not
// running is left alone.
func (s *Server) signal(sig syscall.Signal) error {
	s.mu.Lock()
	process, ended := s.process, s.ended
	s.mu.Unlock()
	if process == nil {
		return nil
	}
	if err := process.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-ended:
		return nil
	case <-time.After(20 * time.Second):
		return errors.Join(errors.New("the server does not end"), process.Process.Kill())
	}
}

// Stop shuts the server down: sessions end with an error, nothing is lost.
func (s *Server) Stop() error { return s.signal(syscall.SIGINT) }

// Crash ends the server as a fault would: it recovers when it starts again.
func (s *Server) Crash() error { return s.signal(syscall.SIGQUIT) }

// Restart starts a server that was stopped or has crashed.
func (s *Server) Restart() error { return s.start() }

// Close stops the server and removes all that it has.
func (s *Server) Close() error {
	return errors.Join(s.signal(syscall.SIGINT), os.RemoveAll(s.dir))
}
