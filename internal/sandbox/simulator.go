package sandbox

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A Simulator counts the requests with an id that were made to fail.
type Simulator struct {
	now func() time.Time

	mu   sync.Mutex
	seen map[int64][]series // by the shop; those that failed last come last
}

// A series counts the requests with one id.
type series struct {
	id     string
	failed int
	last   time.Time
}

// How many series of each shop are kept, and how long.
const (
	mostSeries = 100
	keepSeries = time.Hour
)

// Applies reports whether the fault applies to a request to a shop. A fault with an ID is
// counted then.
func (s *Simulator) Applies(shop int64, f *Fault) bool {
	if f.ID == "" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	old := func(one series) bool { return now.Sub(one.last) >= keepSeries }
	if s.seen[shop] == nil { // one shop more, so others may go
		maps.DeleteFunc(s.seen, func(_ int64, all []series) bool { return old(all[len(all)-1]) })
	}
	all, one := slices.DeleteFunc(s.seen[shop], old), series{id: f.ID}
	s.seen[shop] = all
	if i := slices.IndexFunc(all, func(one series) bool { return one.id == f.ID }); i >= 0 {
		if one = all[i]; one.failed >= f.Times {
			return false
		}
		all = slices.Delete(all, i, i+1)
	}
	one.failed++
	one.last = now
	s.seen[shop] = append(all[max(0, len(all)+1-mostSeries):], one)
	return true
}
