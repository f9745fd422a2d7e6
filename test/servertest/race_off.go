//go:build !race

package servertest

// Raced is whether the tests run under the race detector; the binary does then too.
const Raced = false
