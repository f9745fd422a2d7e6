//go:build race

package servertest

// raced is whether the tests run under the race detector; the binary does then too.
const raced = true
