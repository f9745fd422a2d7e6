package servertest

import (
	"net"
	"testing"
)

// FreeAddr returns an address of the loopback at which nobody listens.
func FreeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
