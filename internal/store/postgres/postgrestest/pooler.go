package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// pgbouncer is where Debian's package has the program.
const pgbouncer = "/usr/sbin/pgbouncer"

// Pooler starts PgBouncer in front of the server, in a mode of pooling such as
// "session", for the time of a test, and returns the URL of a database behind it. Where
// PgBouncer is not installed, the test is skipped or fails as [Start] says.
func (s *Server) Pooler(tb testing.TB, mode, database string) string {
	tb.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path = pgbouncer
	}
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "true" {
			tb.Skip("PgBouncer is not installed (Debian: pgbouncer)")
		}
		tb.Fatal(err)
	}
	dir, err := s.poolerFolder(mode)
	must(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(dir) }) // the server's folder is removed too
	at := "postgres:///" + database + "?" + url.Values{"host": {dir}, "port": {"6432"}, "user": {"postgres"}}.Encode()
	must(tb, s.runPooler(tb, path, dir, at))
	return at
}

// poolerFolder makes a folder with the settings of a pooler.
func (s *Server) poolerFolder(mode string) (string, error) {
	dir, err := os.MkdirTemp(s.dir, "pool")
	if err != nil {
		return "", err
	}
	ini := strings.Join([]string{
		"[databases]", "* = host=" + s.dir, "[pgbouncer]", "pool_mode = " + mode,
		"unix_socket_dir = " + dir, "listen_port = 6432", "auth_type = trust", "auth_file = " + filepath.Join(dir, "users"),
		"logfile = " + filepath.Join(dir, "log"), "default_pool_size = 60", "max_client_conn = 200", "",
	}, "\n")
	for name, text := range map[string]string{"pgbouncer.ini": ini, "users": `"postgres" ""` + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return dir, own(dir)
}

// runPooler starts the program, which ends with the test, and returns when it answers.
func (s *Server) runPooler(tb testing.TB, path, dir, at string) error {
	cmd := program(dir, path, filepath.Join(dir, "pgbouncer.ini"))
	if err := cmd.Start(); err != nil {
		return err
	}
	tb.Cleanup(func() {
		err := cmd.Process.Signal(syscall.SIGTERM)
		if _, waitErr := cmd.Process.Wait(); err != nil || waitErr != nil {
			tb.Error(errors.Join(err, waitErr))
		}
	})
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, at)
		if err == nil {
			return c.Close(ctx)
		}
		if ctx.Err() != nil {
			text, _ := os.ReadFile(filepath.Join(dir, "log"))
			return fmt.Errorf("PgBouncer does not answer: %w: %s", err, text)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
