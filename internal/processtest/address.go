// Package processtest helps tests and benchmarks run servers as processes of
// their own. It knows nothing of what these are, and is imported by tests,
// benchmarks and packages for tests alone.
package processtest

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// The ports to choose from are below those that systems choose when a program asks for
// any (from 32768 on on Linux, from 49152 on by RFC 6335 §6).
const leastPort, mostPort = 15000, 32767

// FreePort returns a port of the loopback at which nobody listens. No client's
// connection takes it before the server that it is meant for, or while that
// restarts, for clients get theirs from the system. Another server may; and a process
// that this one is just starting holds it until its program runs.
func FreePort() (port int, err error) {
	for range 100 {
		port = leastPort + rand.IntN(mostPort-leastPort+1) //nolint:gosec // not a secret
		l, failed := net.Listen("tcp", address(port))
		if failed == nil {
			return port, l.Close()
		}
		err = failed
	}
	return 0, err
}

// FreeAddr is FreePort with the loopback before the port.
func FreeAddr() (string, error) {
	port, err := FreePort()
	return address(port), err
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
