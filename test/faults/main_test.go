package faults

import (
	"os"
	"testing"

	"example.com/petstore/test/servertest"
)

// petstore is the binary under test; TestMain sets it once.
var petstore servertest.Binary

func TestMain(m *testing.M) { os.Exit(servertest.Main(&petstore, m.Run)) }

// must ends the test if err is not nil.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
