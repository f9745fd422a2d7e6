//go:build unix

package httpapi

import "syscall"

// gone waits until the peer closes the connection or sends something, and
// reports whether it closed it. Nothing is read. The connection's read deadline
// ends the waiting.
func gone(raw syscall.RawConn) bool {
	closed := false
	var one [1]byte
	err := raw.Read(func(fd uintptr) bool {
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
		if err == syscall.EAGAIN || err == syscall.EINTR {
			return false
		}
		closed = n == 0 || err != nil
		return true
	})
	return err == nil && closed
}
