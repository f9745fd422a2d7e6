package sandbox

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Simulator counts the requests that were made to fail.
type Simulator struct {
	now       func() time.Time
	simulated atomic.Int64

	mu   sync.Mutex
	seen map[int64]map[string]*series // by the shop and the id
}

// A series counts the requests with one id.
type series struct {
	failed int
	last   time.Time
}

// How many series of each shop are kept, and how long.
const (
	mostSeries = 100
	keepSeries = time.Hour
)

// Applies reports whether the fault applies to a request to a shop, and counts it if so.
func (s *Simulator) Applies(shop int64, f *Fault) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.ID != "" && !s.count(shop, f) {
		return false
	}
	s.simulated.Add(1)
	return true
}

func (s *Simulator) count(shop int64, f *Fault) bool {
	now := s.now()
	known := s.seen[shop]
	if known == nil {
		s.forget(now)
		known = make(map[string]*series)
		s.seen[shop] = known
	}
	one := known[f.ID]
	if one == nil || now.Sub(one.last) >= keepSeries {
		if len(known) >= mostSeries {
			delete(known, oldest(known))
		}
		one = new(series)
		known[f.ID] = one
	}
	if one.failed >= f.Times {
		return false
	}
	one.failed++
	one.last = now
	return true
}

// forget removes series that were not used for keepSeries.
func (s *Simulator) forget(now time.Time) {
	if s.seen == nil {
		s.seen = make(map[int64]map[string]*series)
	}
	for shop, known := range s.seen {
		for id, one := range known {
			if now.Sub(one.last) >= keepSeries {
				delete(known, id)
			}
		}
		if len(known) == 0 {
			delete(s.seen, shop)
		}
	}
}

func oldest(known map[string]*series) (id string) {
	for other, one := range known {
		if id == "" || one.last.Before(known[id].last) {
			id = other
		}
	}
	return id
}
