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
