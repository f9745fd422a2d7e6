package servertest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// FreeAddr returns an address of the loopback at which nobody listens. Its port
// is below those that systems give to who asks for any (from 32768 on on Linux,
// from 49152 on by RFC 6335 §6), so that no client's connection takes it before
// the server that it is meant for, or while that restarts.
func FreeAddr(t *testing.T) string {
	t.Helper()
	const least, most = 15000, 32767
	var err error
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", least+rand.IntN(most-least+1)) //nolint:gosec // not a secret
		l, failed := net.Listen("tcp", addr)
		if failed == nil {
			_ = l.Close()
			return addr
		}
		err = failed
	}
	t.Fatal(err)
	return ""
}
