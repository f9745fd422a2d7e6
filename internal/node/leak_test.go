package node

import (
	"testing"

	"example.com/petstore/internal/processtest"
	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1")) // a client that was closed sleeps out the rest of a second
}

// must ends the test if err is not nil.
var must = processtest.Must
