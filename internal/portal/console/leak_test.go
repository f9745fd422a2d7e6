package console_test

import (
	"testing"

	"example.com/petstore/internal/processtest"
	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// must ends the test if err is not nil.
var must = processtest.Must

// errOf returns the error of a call.
func errOf[T any](_ T, err error) error { return err }
