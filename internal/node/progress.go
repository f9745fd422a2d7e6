//go:build linux || darwin

package node

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endWithoutProgress has the kernel end the connections of a listener whose client
// acknowledges nothing of what was sent for so long (RFC 5482), and on Linux those whose
// client takes nothing. What a process sends now and then may fit into the kernel's memory
// for many minutes.
func endWithoutProgress(l net.Listener, after time.Duration) net.Listener {
	return progressListener{l, int(after / progressUnit)}
}

// A progressListener sets the option of each connection: macOS does not inherit it.
type progressListener struct {
	net.Listener
	value int
}

func (l progressListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if socket, ok := c.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) {
				_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, progressOption, l.value) // a socket that is not TCP has none
			})
		}
	}
	return c, err
}
