//go:build linux || darwin

package node

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endWithoutProgress has the kernel close connections of a listener whose client does not
// acknowledge sent data for so long (RFC 5482), and on Linux also those whose client does
// not read. Write deadlines do not suffice, since what is sent now and then may fit into
// the kernel's buffers for many minutes.
func endWithoutProgress(l net.Listener, after time.Duration) net.Listener {
	return progressListener{l, int(after / progressUnit)}
}

// A progressListener sets the socket option of each connection, since macOS does not
// inherit it from the listener.
type progressListener struct {
	net.Listener
	value int
}

func (l progressListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if socket, ok := c.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) {
				_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, progressOption, l.value) // only TCP has the option
			})
		}
	}
	return c, err
}
