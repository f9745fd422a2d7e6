package postgrestest

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Standby starts a streaming standby of s, which is synchronous if s names
// standbys in synchronous_standby_names; its name is "standby".
func (s *Server) Standby(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	standby, err := newServer(settings)
	must(tb, err)
	standby.closeWith(tb)
	must(tb, standby.Follow(s))
	return standby
}

// Follow makes a server that does not run a streaming standby of another one,
// under its own address. What it had is replaced.
func (s *Server) Follow(primary *Server) error {
	if err := os.RemoveAll(s.data()); err != nil {
		return err
	}
	const setting = "primary_conninfo = "
	s.settings = slices.DeleteFunc(s.settings, func(line string) bool { return strings.HasPrefix(line, setting) })
	s.settings = append(s.settings, setting+"'host="+primary.dir+" user=postgres application_name=standby'")
	err := primary.program("pg_basebackup", "-D", s.data(), "--checkpoint=fast", "--wal-method=stream", "--write-recovery-conf", "--no-sync")
	if err != nil {
		return err
	}
	return s.start()
}

// Configure changes a setting of the running server, and returns when new
// connections and the checkpointer go by it.
func (s *Server) Configure(ctx context.Context, name, value string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, sql := range []string{"ALTER SYSTEM SET " + name + " = '" + value + "'", "SELECT pg_reload_conf()"} {
		if err := s.Exec(ctx, "postgres", sql); err != nil {
			return err
		}
	}
	// A new connection has the value when the other processes have been told. The
	// checkpointer, which says whether commits wait for a standby, reads it before a checkpoint.
	told := "DO $$ BEGIN ASSERT current_setting('" + name + "') = '" + value + "'; END $$"
	err := s.Exec(ctx, "postgres", told)
	for err != nil && ctx.Err() == nil {
		err = s.Exec(ctx, "postgres", told)
	}
	if err != nil {
		return err
	}
	return s.Exec(ctx, "postgres", "CHECKPOINT")
}

// Promote makes a standby a primary and returns when it is.
func (s *Server) Promote(ctx context.Context) error {
	return s.Exec(ctx, "postgres", "SELECT pg_promote(true, 20)")
}
