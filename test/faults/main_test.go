package faults

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"

	"example.com/petstore/test/servertest"
)

// petstore is the binary under test; TestMain sets it once.
var petstore servertest.Binary

func TestMain(m *testing.M) { os.Exit(servertest.Main(&petstore, m.Run)) }

// must ends a test if there is an error.
var must = servertest.Must

// exchange sends a request. It returns the body of the answer, and an error unless that
// is a success.
func exchange(ctx context.Context, c *http.Client, r servertest.Request) (string, error) {
	a, err := servertest.Send(ctx, c, r)
	if err == nil && a.Status >= 300 {
		err = fmt.Errorf("%v = %d %s", r, a.Status, a.Body)
	}
	return a.Body, err
}
