package node

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endWithoutProgress has the kernel end the connections of a listener whose client takes
// nothing of what was sent for so long, or acknowledges nothing of it (RFC 5482). What a
// process sends now and then may fit into the kernel's memory for many minutes.
func endWithoutProgress(l net.Listener, after time.Duration) error {
	socket, ok := l.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(after.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
