package webhook

import (
	"os"
	"testing"

	"example.com/petstore/internal/processtest"
	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind. Nothing listens at the proxy of the
// environment, which is not to be used.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
		if err := os.Setenv(name, "http://127.0.0.1:1"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// must ends the test if err is not nil.
var must = processtest.Must
