package interchange_test

import (
	"os"
	"testing"

	"example.com/petstore/internal/store/postgres/postgrestest"
)

// shared is the server of PostgreSQL of this run.
var shared = postgrestest.Shared{Settings: postgrestest.Lax()}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { os.Exit(shared.Main(m.Run)) }

// must ends the test if err is not nil.
func must(tb failer, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
