package postgrestest

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// A Shared is one server for all the tests of a package. The first of them that
// asks for it starts it. Its methods may be called concurrently, but for Main.
type Shared struct {
	Settings []string            // as Open takes them
	Prepare  func(*Server) error // is called once, before any test has the server; nil for nothing

	once   sync.Once
	server *Server
	err    error
}

// Lax are the settings of a server that need not wait for the disk: it may crash, but
// the machine does not.
func Lax() []string { return []string{"fsync = off", "full_page_writes = off"} }

// Server returns the server, or ends the test as [Start] does.
func (s *Shared) Server(tb testing.TB) *Server {
	tb.Helper()
	s.once.Do(s.open)
	available(tb, s.err)
	return s.server
}

func (s *Shared) open() {
	if s.server, s.err = Open(s.Settings...); s.err == nil && s.Prepare != nil {
		s.err = s.Prepare(s.server)
	}
}

// Main runs the tests, closes the server, and fails if a goroutine is left
// behind: the body of a TestMain. The code is for os.Exit.
func (s *Shared) Main(run func() int) int {
	code := run()
	if s.server != nil {
		if err := s.server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	// A Redis client that was closed sleeps out the rest of a second.
	err := goleak.Find(goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
