package node

import (
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endWithoutProgress has the kernel close connections of a listener whose client does not
// read, or does not acknowledge what was sent, for so long (RFC 5482). Write deadlines do
// not suffice, since what is sent now and then may fit into the kernel's buffers for many
// minutes. Connections inherit the option from the listener.
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
	if errors.Is(failed, unix.EOPNOTSUPP) || errors.Is(failed, unix.ENOPROTOOPT) { // a socket that is not one of TCP
		failed = nil
	}
	return errors.Join(err, failed)
}
