package node

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestConnectionsEndWithoutProgress(t *testing.T) {
	t.Parallel()
	l, err := tcp().Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	l = endWithoutProgress(l, 30*time.Second)
	client, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	defer client.Close()
	server, err := l.Accept()
	must(t, err)
	defer server.Close()
	raw, err := server.(*net.TCPConn).SyscallConn()
	must(t, err)
	var got int
	controlled := raw.Control(func(fd uintptr) { got, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT) })
	if controlled != nil || err != nil || got != 30_000 {
		t.Errorf("TCP_USER_TIMEOUT of a connection = %d ms (%v, %v), want 30000", got, controlled, err)
	}
}
