package faults

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/test/servertest"
)

// TestVanishedClients: clients that have all streams of a workspace, and are gone without a
// word, leave room for a new one within the time that docs/events.md names.
func TestVanishedClients(t *testing.T) {
	t.Parallel()
	b := besiegeWith(t, servertest.Options{}, false)
	for range 50 {
		vanish(t, b.follow(t))
	}
	client := &http.Client{Timeout: servertest.Patience, Transport: b.visitors()}
	if _, err := exchange(t.Context(), client, http.MethodPost, b.URL+"/categories", b.key, `{"name":"Lost"}`, ""); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if c, status := b.stream(t); !strings.Contains(status, "429") {
		t.Fatalf("a stream besides those of 50 clients = %q, want 429", status)
	} else {
		_ = c.Close() // only read
	}
	for range time.Tick(time.Second) {
		c, status := b.stream(t)
		_ = c.Close() // only read
		took := time.Since(began)
		if strings.Contains(status, "200") {
			t.Logf("there was room after %v", took.Round(time.Second))
			return
		}
		if took > 45*time.Second {
			t.Fatalf("a new stream after %v = %q, want 200", took, status)
		}
	}
}

// follow returns a connection with a stream of events.
func (b besieged) follow(t *testing.T) net.Conn {
	t.Helper()
	c, status := b.stream(t)
	t.Cleanup(func() { _ = c.Close() }) // only read
	if !strings.Contains(status, "200") {
		t.Fatalf("a stream = %q, want 200", status)
	}
	return c
}

// stream asks for a stream on a connection of its own, and returns that and the status line.
func (b besieged) stream(t *testing.T) (net.Conn, string) {
	t.Helper()
	address := strings.TrimPrefix(b.URL, "http://")
	c, err := net.Dial("tcp", address)
	must(t, err)
	must(t, c.SetReadDeadline(time.Now().Add(servertest.Patience)))
	if _, err := fmt.Fprintf(c, "GET /events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", address, b.key); err != nil {
		t.Fatal(err)
	}
	status, err := bufio.NewReader(c).ReadString('\n')
	must(t, err)
	return c, status
}

// vanish has the kernel drop all that comes to a connection before TCP sees it: it is
// acknowledged no more, as if the client were not there.
func vanish(t *testing.T, c net.Conn) {
	t.Helper()
	raw, err := c.(syscall.Conn).SyscallConn()
	must(t, err)
	var failed error
	err = raw.Control(func(fd uintptr) {
		drop := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}
		failed = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &drop})
	})
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}
