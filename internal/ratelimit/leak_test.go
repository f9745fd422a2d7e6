package ratelimit

import (
	"testing"

	"example.com/petstore/internal/processtest"
	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// A client that was closed sleeps out the rest of a second.
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		// A client of a cluster closes connections five seconds after it stopped using them.
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"))
}

// must ends the test if err is not nil.
var must = processtest.Must
