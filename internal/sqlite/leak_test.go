package sqlite

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	arrangeMemory(1000) // before any test opens a database
	goleak.VerifyTestMain(m)
}
