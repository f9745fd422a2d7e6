package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// An Archive has what is needed to recover a server up to any moment since its base
// backup: that, and the log from there on.
type Archive struct{ backup, log string }

// command returns the archive_command of a server.
func (a Archive) command() string {
	return "cp %p " + a.log + "/%f.part && mv " + a.log + "/%f.part " + a.log + "/%f"
}

// Archive begins to archive the log of a server, which must have been started with
// archive_mode = on, and takes a base backup while it runs.
func (s *Server) Archive(tb testing.TB) Archive {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "archive")
	a := Archive{backup: filepath.Join(dir, "backup"), log: filepath.Join(dir, "log")}
	must(tb, a.begin(tb.Context(), s, dir))
	return a
}

func (a Archive) begin(ctx context.Context, s *Server, dir string) error {
	for _, d := range []string{dir, a.log} {
		if err := errors.Join(os.Mkdir(d, 0o700), own(d)); err != nil {
			return err
		}
	}
	for d := filepath.Dir(dir); d != os.TempDir() && len(d) > 1; d = filepath.Dir(d) { // the server's user passes through
		if err := os.Chmod(d, 0o755); err != nil {
			return err
		}
	}
	if err := s.Configure(ctx, "archive_command", a.command()); err != nil {
		return err
	}
	return s.program("pg_basebackup", "-D", a.backup, "--checkpoint=fast", "--wal-method=none", "--no-sync")
}

// Archived ends the segment of the log that is being written, and returns when it is
// in the archive.
func (s *Server) Archived(ctx context.Context, a Archive) error {
	var name string
	err := s.ask(ctx, "SELECT pg_walfile_name(pg_switch_wal())", &name)
	for err == nil {
		if _, err = os.Stat(filepath.Join(a.log, name)); err == nil {
			return nil
		}
		if err = ctx.Err(); err == nil {
			time.Sleep(5 * time.Millisecond)
		}
	}
	return err
}

// Recover starts a server from an archive as it was at a moment, or with all that is
// there if that is zero, and returns when it takes writes. The server goes on archiving to
// the same place, so that it can be recovered from there again.
func Recover(tb testing.TB, a Archive, until time.Time) *Server {
	tb.Helper()
	settings := append(Lax(), "restore_command = 'cp "+a.log+"/%f %p'", "recovery_target_action = promote",
		"archive_mode = on", "archive_command = '"+a.command()+"'")
	if !until.IsZero() {
		settings = append(settings, "recovery_target_time = '"+until.UTC().Format("2006-01-02 15:04:05.999999+00")+"'")
	}
	s, err := newServer(settings)
	must(tb, err)
	s.closeWith(tb)
	must(tb, s.recover(tb.Context(), a))
	return s
}

func (s *Server) recover(ctx context.Context, a Archive) error {
	if out, err := exec.Command("cp", "-a", a.backup, s.data()).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(s.data(), "recovery.signal"), nil, 0o644); err != nil {
		return err
	}
	if err := s.start(); err != nil {
		return err
	}
	for {
		var recovering bool
		if err := s.ask(ctx, "SELECT pg_is_in_recovery()", &recovering); err != nil {
			return errors.Join(err, fmt.Errorf("the server said: %s", s.Log()))
		}
		if !recovering {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}
