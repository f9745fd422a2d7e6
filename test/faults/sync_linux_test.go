package faults

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// TestFailedSync follows one failure of fsync from the outside: 503, not ready,
// the end of the process, and everything there again after a restart.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	needStrace(t)
	c := campaign{binary: petstore, disk: folder(t.TempDir())}
	r := &run{campaign: c}
	_, key, err := r.prepare()
	must(t, err)
	t.Cleanup(func() { r.server.Kill() })
	b := &buyers{key: key, client: http.DefaultClient, giveUp: t.Context()}
	b.url.Store(&r.server.URL)
	held := hang(t, r.server.URL, key) // a request in flight keeps the process answering until it is done
	end, err := inject(r.server.Cmd.Process.Pid, "fsync,fdatasync", "error=EIO")
	must(t, err)
	defer end()
	o := order{pet: 1, quantity: 2}
	if got, err := b.send("POST", "/store/orders", "once", orderBody(o)); err != nil || got.status != 503 || got.code != "service_unavailable" {
		t.Errorf("an order while fsync fails = %d %s, %v; want 503 service_unavailable", got.status, got.code, err)
	}
	if err := r.awaitReady(http.StatusServiceUnavailable, `"store"`); err != nil {
		t.Error(err)
	}
	held.Close()
	must(t, endedByItself(r.server))
	must(t, r.start())
	b.url.Store(&r.server.URL)
	first, err := b.send("POST", "/store/orders", "once", orderBody(o))
	if err != nil || first.status != 201 {
		t.Fatalf("the same order after the restart = %d %s, %v; want 201", first.status, first.code, err)
	}
	if again, err := b.send("POST", "/store/orders", "once", orderBody(o)); err != nil || again.order != first.order || !again.replayed {
		t.Errorf("the same order again = %+v, %v; want the replay of %+v", again, err, first)
	}
}

// hang begins a request whose body does not come.
func hang(t *testing.T, url, key string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	must(t, err)
	t.Cleanup(func() { c.Close() })
	head := "POST /pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\nAuthorization: Bearer " + key + "\r\n\r\n"
	if _, err := io.WriteString(c, head); err != nil {
		t.Fatal(err)
	}
	must(t, c.SetReadDeadline(time.Now().Add(servertest.Patience)))
	line := make([]byte, len("HTTP/1.1 100"))
	if _, err := io.ReadFull(c, line); err != nil || string(line) != "HTTP/1.1 100" { // its handler reads
		t.Fatalf("a request that waits for 100 was answered %q, %v", line, err)
	}
	return c
}
