package tenants

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

var (
	matrix   = flag.Bool("matrix", false, "run every row, at each size of memory")
	holdTime = flag.Duration("hold", 250*time.Millisecond, "how long the modest workspace is measured among the greedy ones")
)

// petstore is the binary under test without the race detector, which needs several
// times the memory; TestMain sets it once.
var petstore servertest.Binary

// tenants are those of all tests; the first test that needs them makes them.
var tenants func() (*installation, error)

// must ends a test if there is an error.
var must = servertest.Must

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(&petstore, func() int {
		dir, err := os.MkdirTemp("", "petstore-tenants-")
		if err == nil && servertest.Raced {
			petstore, err = servertest.Build(dir, "petstore")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		r := receive()
		defer r.close()
		tenants = sync.OnceValues(func() (*installation, error) { return newInstallation(filepath.Join(dir, "db"), r) })
		return m.Run()
	}))
}
