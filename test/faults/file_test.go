//go:build linux

package faults

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// TestFileBeneathServer removes the database of a server under load: it ends with a line that says so, acknowledges nothing
// more, and the next start is refused until there is a database again. What else may happen to a file, and what is left
// then, is in the tests of the package sqlite.
func TestFileBeneathServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := petstore.Shop(t, dir, "shop")
	s := petstore.Start(t, servertest.Options{Dir: dir})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var acknowledged, last atomic.Int64
	go func() {
		for n := 0; ctx.Err() == nil; n++ {
			a, err := servertest.Send(ctx, http.DefaultClient, request("POST", s.URL+"/categories", k.Key, fmt.Sprintf(`{"name":"Kind %d"}`, n), ""))
			if err == nil && a.Status == http.StatusCreated {
				acknowledged.Add(1)
				last.Store(time.Now().UnixNano())
			} else {
				rest(ctx, 10*time.Millisecond) // the server has ended
			}
		}
	}()
	servertest.Eventually(t, "200 writes are acknowledged", func() bool { return acknowledged.Load() >= 200 })
	petstore.Must(t, dir, "backup", "backup.db")
	must(t, os.Remove(filepath.Join(dir, "petstore.db")))
	removed := time.Now()
	wait, cancel := context.WithTimeout(t.Context(), servertest.Patience)
	defer cancel()
	_ = s.Wait(wait) // judged by its code
	if code := s.Cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(s.LogText(), "petstore.db was removed or moved") {
		t.Errorf("the server ended with %d and said\n%s\nwant 1, and that its file was removed", code, s.LogText())
	}
	stop()
	if late := time.Unix(0, last.Load()).Sub(removed); late > 5*time.Second { // the server looks several times a second, but on a busy machine
		t.Errorf("a write was acknowledged %v after the file was removed", late)
	}
	wantRefused(t, dir, "petstore.db-wal is there")
	petstore.Must(t, dir, "restore", "backup.db")
	petstore.Start(t, servertest.Options{Dir: dir})
	if out, err := petstore.Run(dir, "doctor"); err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}

// wantRefused fails the test unless a server does not start, makes no database, and doctor finds none.
func wantRefused(t *testing.T, dir, says string) {
	t.Helper()
	if s, err := petstore.Serve(servertest.Options{Dir: dir}); err == nil {
		s.Kill()
		t.Fatalf("the next start was not refused with %q", says)
	} else if !strings.Contains(err.Error(), says) {
		t.Errorf("the next start = %v, want it refused with %q", err, says)
	}
	if _, err := os.Stat(filepath.Join(dir, "petstore.db")); err == nil {
		t.Error("the start that was refused made a database")
	}
	if _, err := petstore.Run(dir, "workspace", "list"); err == nil {
		t.Error("workspace list works on a database that is not whole")
	}
	if out, err := petstore.Run(dir, "doctor", "-o=json"); err == nil || !strings.Contains(out, "no such file") {
		t.Errorf("doctor = %v\n%s\nwant that there is no file", err, out)
	}
}

// TestOneServer: a second server on one file is refused in words.
func TestOneServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := petstore.Start(t, servertest.Options{Dir: dir})
	_, err := petstore.Serve(servertest.Options{Dir: dir})
	if want := fmt.Sprintf("petstore.db: is served by the process %d", s.Cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a second server = %v, want %q", err, want)
	}
}
