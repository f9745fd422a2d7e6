package servertest

import (
	"testing"

	"example.com/petstore/internal/processtest"
)

// FreeAddr returns an address of the loopback at which nobody listens, and that
// no client's connection takes.
func FreeAddr(t *testing.T) string {
	t.Helper()
	addr, err := processtest.FreeAddr()
	Must(t, err)
	return addr
}
