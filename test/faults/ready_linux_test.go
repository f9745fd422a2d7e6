package faults

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// TestReadyFollowsDisk fills the disk: /readyz and the metric say so, and come
// right without a restart or a request.
func TestReadyFollowsDisk(t *testing.T) {
	disk := newRAM(t)
	s, key := serveShop(t, disk.dir())
	wantReady(t, s, http.StatusOK, "")
	r := &run{campaign: campaign{disk: disk}}
	if err := r.fill(); err != nil {
		t.Fatal(err)
	}
	w := startWriters(s.URL, key)
	wantReady(t, s, http.StatusServiceUnavailable, "nothing can be written")
	wantMetric(t, s, "petstore_ready 0")
	w.end()
	if err := r.free(); err != nil {
		t.Fatal(err)
	}
	wantReady(t, s, http.StatusOK, "")
	wantMetric(t, s, "petstore_ready 1")
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// TestStoppedWriter stops a process inside of its transaction: a command that waits
// says for which one.
func TestStoppedWriter(t *testing.T) {
	servertest.Need(t, "python3", "python3")
	dir := t.TempDir()
	if err := petstore.NewWorkspace(dir, "shop"); err != nil {
		t.Fatal(err)
	}
	holder := exec.Command("python3", "-c", `import sqlite3, sys
db = sqlite3.connect("petstore.db", isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()`)
	holder.Dir = dir
	in, err := holder.StdinPipe() // open until the end
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = holder.Process.Kill() // its end is not what is tested
		_ = holder.Wait()
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := freeze(holder.Process.Pid); err != nil {
		t.Fatal(err)
	}
	_, err = petstore.Run(dir, "workspace", "create", "other", "--plan=free")
	for _, want := range []string{
		fmt.Sprintf("petstore: waiting for process %d (python3, which is stopped", holder.Process.Pid),
		fmt.Sprintf("the process %d (python3, which is stopped: let it continue with kill -CONT %[1]d) has been writing for 5s", holder.Process.Pid),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a command beside a stopped process = %v, want %q", err, want)
		}
	}
}

// serveShop starts a server on a workspace, and returns a key to it.
func serveShop(t *testing.T, dir string) (*servertest.Server, string) {
	t.Helper()
	if err := petstore.NewWorkspace(dir, "shop"); err != nil {
		t.Fatal(err)
	}
	k, err := petstore.NewKey(dir, "shop")
	if err != nil {
		t.Fatal(err)
	}
	s, err := petstore.Serve(servertest.Options{Dir: dir, LogDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s, k.Key
}

// wantReady waits until /readyz answers so, with the reason.
func wantReady(t *testing.T, s *servertest.Server, status int, reason string) {
	t.Helper()
	for deadline := time.Now().Add(servertest.Patience); ; time.Sleep(time.Millisecond) { // between two polls
		code, text := ask(t, s.Ops+"/readyz")
		if code == status && strings.Contains(text, reason) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("GET /readyz = %d %s, want %d %s", code, text, status, reason)
		}
	}
}

func wantMetric(t *testing.T, s *servertest.Server, line string) {
	t.Helper()
	if _, text := ask(t, s.Ops+"/metrics"); !strings.Contains(text, "\n"+line+"\n") {
		t.Errorf("the metrics lack %q", line)
	}
}

func ask(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}
