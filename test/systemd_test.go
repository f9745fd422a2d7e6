package test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// TestSystemd starts the server as systemd does: with sockets to inherit, and
// with one to say how it stands.
func TestSystemd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	public, ops := inheritable(t), inheritable(t)
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	must(t, err)
	defer told.Close()
	// LISTEN_PID must be that of the process, which only the process knows.
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" serve`, string(petstore))
	cmd.Dir = dir
	cmd.Env = []string{"LISTEN_FDS=2", "LISTEN_FDNAMES=petstore.socket:ops", "NOTIFY_SOCKET=" + filepath.Join(dir, "notify")}
	cmd.ExtraFiles = []*os.File{public.file, ops.file}
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	expectTold(t, told, "READY=1")
	expectStatus(t, "http://"+public.addr+"/pets", http.StatusUnauthorized)
	expectStatus(t, "http://"+ops.addr+"/readyz", http.StatusOK)
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	expectTold(t, told, "STOPPING=1")
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v, want success", err)
	}
}

// A socket is open in this process, to be inherited by another.
type socket struct {
	addr string
	file *os.File
}

func inheritable(t *testing.T) socket {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	f, err := l.(*net.TCPListener).File()
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return socket{l.Addr().String(), f}
}

func expectTold(t *testing.T, told *net.UnixConn, want string) {
	t.Helper()
	must(t, told.SetReadDeadline(time.Now().Add(servertest.Patience)))
	text := make([]byte, 4096)
	n, err := told.Read(text)
	if err != nil {
		t.Fatalf("systemd was told nothing, want %s: %v", want, err)
	}
	if got := strings.TrimSpace(string(text[:n])); got != want {
		t.Errorf("systemd was told %q, want %q", got, want)
	}
}

func expectStatus(t *testing.T, url string, want int) {
	t.Helper()
	a, err := do(servertest.Request{Method: http.MethodGet, URL: url})
	must(t, err)
	if a.Status != want {
		t.Errorf("GET %s = %d %s, want %d", url, a.Status, a.Body, want)
	}
}
