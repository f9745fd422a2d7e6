//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// writers make categories, one after another each, and keep the names of those
// that were acknowledged.
type writers struct {
	stop  context.CancelFunc
	all   sync.WaitGroup
	last  atomic.Int64 // when the last one was acknowledged, in Unix nanoseconds
	mu    sync.Mutex
	acked []string
}

func startWriters(url, key string) *writers {
	ctx, stop := context.WithCancel(context.Background())
	w := &writers{stop: stop}
	for i := range 4 {
		w.all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				w.write(ctx, url, key, fmt.Sprintf("Kind %d-%d", i, n))
			}
		})
	}
	return w
}

func (w *writers) write(ctx context.Context, url, key, name string) {
	a, err := servertest.Send(ctx, http.DefaultClient, request("POST", url+"/categories", key, fmt.Sprintf(`{"name":%q}`, name), ""))
	if err != nil {
		rest(ctx, 10*time.Millisecond) // the server has ended
		return
	}
	if a.Status == http.StatusCreated {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.acked = append(w.acked, name)
		w.last.Store(time.Now().UnixNano())
	}
}

// more waits until n more writes are acknowledged.
func (w *writers) more(t *testing.T, n int) {
	t.Helper()
	count := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.acked)
	}
	until := count() + n
	servertest.Eventually(t, fmt.Sprintf("%d writes are acknowledged", until), func() bool { return count() >= until })
}

// moved waits until the log was moved into the file twice: then a copy from before
// lacks what the log no longer has.
func (w *writers) moved(t *testing.T, dir string) {
	t.Helper()
	at := func() time.Time {
		info, err := os.Stat(filepath.Join(dir, "petstore.db"))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	for range 2 {
		before := at()
		servertest.Eventually(t, "the log is moved into the file", func() bool { return !at().Equal(before) })
		w.more(t, 200)
	}
}

func (w *writers) end() {
	w.stop()
	w.all.Wait()
	http.DefaultClient.CloseIdleConnections()
}

// A misfortune happens to the database file of a server.
type misfortune struct {
	name    string
	killed  bool   // the server, before it happens: its log is left
	happens string // commands of sh, in the folder of the database
	says    string // what the log of a server that was not killed says
	refuses string // what the next start says; "" if it starts
	mend    string // commands of sh after which it starts
	whole   bool   // everything acknowledged is there then
}

// In the folder are backup.db, made by petstore backup, and plain.db, a copy that
// was made while no server ran. More that may happen is in the tests of the package
// sqlite.
var misfortunes = []misfortune{
	{"removed", false, "rm petstore.db", "petstore.db was removed or moved", "petstore.db-wal is there", "$0 restore backup.db", false},
	{"moved away", false, "mv petstore.db elsewhere.db", "put it back", "petstore.db-wal is there", "mv elsewhere.db petstore.db", true},
	{
		"backup moved over it", false, "mv backup.db petstore.db", "petstore.db was replaced",
		"petstore.db-wal is not of this file", "mv petstore.db b.db; rm petstore.db-wal; $0 restore b.db", false,
	},
	{"log removed", false, "rm petstore.db-wal", "petstore.db-wal was removed or moved", "", "true", true},
	{"copy copied over it", true, "cp plain.db petstore.db", "", "petstore.db-wal is not of this file", "mv petstore.db b.db; rm petstore.db-wal; $0 restore b.db", false},
	{"removed while it is away", true, "rm petstore.db", "", "the file is missing, but its log", "$0 restore backup.db", false},
	{"moved with its folder", true, "mkdir new; cp petstore.db* new; rm petstore.db*; mv new/* .", "", "", "true", true},
}

func TestFileBeneathServer(t *testing.T) {
	for _, m := range misfortunes {
		t.Run(m.name, m.befall)
	}
}

func (m misfortune) befall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, key := shopWithCopies(t, dir)
	w := startWriters(s.URL, key)
	defer w.end()
	w.moved(t, dir)
	if m.killed {
		s.Kill()
		sh(t, dir, m.happens)
	} else {
		sh(t, dir, m.happens)
		m.wantEnd(t, s, w)
	}
	w.end()
	if m.refuses != "" {
		wantRefused(t, dir, m.refuses)
	}
	sh(t, dir, m.mend)
	s, err := petstore.Serve(servertest.Options{Dir: dir})
	if err != nil {
		t.Fatalf("after %q: %v", m.mend, err)
	}
	defer s.Kill()
	if m.whole {
		wantCategories(t, dir, w.acked)
	}
	if out, err := petstore.Run(dir, "doctor"); err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}

// wantEnd waits until the server has noticed, says so, and acknowledges nothing more.
func (m misfortune) wantEnd(t *testing.T, s *servertest.Server, w *writers) {
	t.Helper()
	happened := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
	defer cancel()
	_ = s.Wait(ctx) // judged by its code
	w.end()
	if code := s.Cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("the server ended with %d, want 1", code)
	}
	if late := time.Unix(0, w.last.Load()).Sub(happened); late > 5*time.Second { // the server looks several times a second, but on a busy machine
		t.Errorf("a write was acknowledged %v after the file was %s", late, m.name)
	}
	if text := s.LogText(); !strings.Contains(text, m.says) {
		t.Errorf("the log lacks %q:\n%s", m.says, text[max(0, len(text)-2000):])
	}
}

// shopWithCopies starts a server on a shop of which there are two copies.
func shopWithCopies(t *testing.T, dir string) (*servertest.Server, string) {
	t.Helper()
	k, err := petstore.NewShop(dir, "shop")
	if err != nil {
		t.Fatal(err)
	}
	serve := func() *servertest.Server {
		s, err := petstore.Serve(servertest.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Kill)
		return s
	}
	s := serve()
	w := startWriters(s.URL, k.Key)
	w.more(t, 500)
	w.end()
	if _, err := petstore.Run(dir, "backup", "backup.db"); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "cp petstore.db plain.db")
	return serve(), k.Key
}

// sh runs commands in dir; $0 is the binary.
func sh(t *testing.T, dir, commands string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", commands, string(petstore)) //nolint:gosec // a test says what to run
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, out)
	}
}

// wantRefused starts a server that must end with one line, and leave no database
// that was not there.
func wantRefused(t *testing.T, dir, says string) {
	t.Helper()
	before, _ := filepath.Glob(filepath.Join(dir, "petstore.db*"))
	s, err := petstore.Serve(servertest.Options{Dir: dir})
	if err == nil {
		s.Kill()
		t.Fatalf("the next start was not refused with %q", says)
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("the next start = %v, want it refused with %q", err, says)
	}
	after, _ := filepath.Glob(filepath.Join(dir, "petstore.db*"))
	if !slices.Equal(before, after) {
		t.Errorf("the start that was refused left %q of %q", after, before)
	}
	if _, err := petstore.Run(dir, "workspace", "list"); err == nil {
		t.Error("workspace list works on a database that is not whole")
	}
	if out, err := petstore.Run(dir, "doctor", "-o=json"); err == nil || !strings.Contains(out, says) {
		t.Errorf("doctor = %v\n%s\nwant %q", err, out, says)
	}
}

// wantCategories fails unless the shop has the categories.
func wantCategories(t *testing.T, dir string, want []string) {
	t.Helper()
	out, err := petstore.Run(dir, "export", "shop")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for line := range strings.Lines(out) {
		var row struct{ Name string }
		if err := json.Unmarshal([]byte(line), &row); err == nil {
			there[row.Name] = true
		}
	}
	lost := 0
	for _, name := range want {
		if !there[name] {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged categories are lost", lost, len(want))
	}
}

// TestOneServer: a second server on one file is refused in words.
func TestOneServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := petstore.Serve(servertest.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	_, err = petstore.Serve(servertest.Options{Dir: dir})
	if want := fmt.Sprintf("petstore.db: is served by the process %d", s.Cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a second server = %v, want %q", err, want)
	}
}
