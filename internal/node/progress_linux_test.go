package node

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestConnectionsEndWithoutProgress: the kernel ends a connection whose client is gone
// without a word, so that what it holds is free again.
func TestConnectionsEndWithoutProgress(t *testing.T) {
	t.Parallel()
	l := listenLocal(t)
	must(t, endWithoutProgress(l, 100*time.Millisecond))
	client, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	defer client.Close()
	server, err := l.Accept()
	must(t, err)
	defer server.Close()
	vanish(t, client)
	if _, err := server.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	must(t, server.SetReadDeadline(time.Now().Add(30*time.Second)))
	if _, err := server.Read(make([]byte, 1)); !errors.Is(err, syscall.ETIMEDOUT) {
		t.Errorf("Read = %v, want %v", err, syscall.ETIMEDOUT)
	}
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
	must(t, errors.Join(err, failed))
}
