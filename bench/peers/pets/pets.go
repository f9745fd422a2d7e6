// Package pets is the shop in memory that stands behind each of the peers.
package pets

import (
	"fmt"
	"sync"
)

// Count is how many pets there are at the start, with the ids from 1 on.
const Count = 1000

// A Pet is what the shop sells.
type Pet struct {
	ID, CategoryID int64
	Name, Status   string
}

// A Store keeps pets. It may be used concurrently.
type Store struct {
	mu  sync.RWMutex
	all []Pet
}

// New returns a store with Count pets.
func New() *Store {
	s := &Store{}
	for i := range int64(Count) {
		s.all = append(s.all, Pet{ID: i + 1, Name: fmt.Sprintf("Beagle %07d", i+1), CategoryID: 1 + (i+1)%10, Status: "available"})
	}
	return s
}

// Find returns the pet with the id, and false if there is none.
func (s *Store) Find(id int64) (Pet, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if id < 1 || id > int64(len(s.all)) {
		return Pet{}, false
	}
	return s.all[id-1], true
}

// First returns the first n pets.
func (s *Store) First(n int) []Pet {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append([]Pet(nil), s.all[:min(max(n, 0), len(s.all))]...)
}

// Add gives the pet the next id and keeps it. It is available unless it says
// otherwise.
func (s *Store) Add(p Pet) Pet {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.ID = int64(len(s.all)) + 1
	if p.Status == "" {
		p.Status = "available"
	}
	s.all = append(s.all, p)
	return p
}
