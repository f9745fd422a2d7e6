package sqlite

import (
	"sync"
	"sync/atomic"

	"example.com/petstore/internal/petstore"
)

// pages are the part of a cache that holds pages of pets, until a pet of their
// workspace changes. Stock is not among what they show.
type pages struct {
	versions [256]atomic.Uint64 // of the workspaces whose number ends so
	mu       sync.Mutex
	all      map[pageKey]page
}

// mostPages is how many pages are held.
const mostPages = 256

// A pageKey is a query for a page.
type pageKey struct {
	workspace, after, category int64
	limit                      int
	statuses                   uint8 // a bit for each
}

// A page is an answer, which nobody may change.
type page struct {
	pets    []petstore.Pet
	version uint64
}

// keyOf returns the key of a query, and reports whether its pages are held:
// what people search for is seldom searched for again.
func keyOf(workspace int64, q *petstore.PetQuery) (pageKey, bool) {
	k := pageKey{workspace: workspace, after: q.After, category: q.CategoryID, limit: q.Limit}
	for _, asked := range q.Statuses {
		k.statuses |= 1 << placeOf(asked)
	}
	return k, q.Name == "" && len(q.IDs) == 0
}

func (p *pages) version(workspace int64) *atomic.Uint64 {
	return &p.versions[uint64(workspace)%uint64(len(p.versions))] //nolint:gosec // ids are positive
}

// drop makes the pages of a workspace void.
func (p *pages) drop(workspace int64) { p.version(workspace).Add(1) }

func (p *pages) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.all)
}

// page returns a page that is held, or else the state and the version to keep
// it with.
func (c *cache) page(k pageKey) (pets []petstore.Pet, ok bool, state *walHeader, version uint64) {
	if state = c.state(); state == nil {
		return nil, false, nil, 0
	}
	version = c.pages.version(k.workspace).Load()
	c.pages.mu.Lock()
	held, ok := c.pages.all[k]
	c.pages.mu.Unlock()
	if ok && held.version == version {
		return held.pets, true, state, version
	}
	return nil, false, state, version
}

// keepPage holds a page that was read after page returned state and version.
func (c *cache) keepPage(k pageKey, pets []petstore.Pet, state *walHeader, version uint64) {
	if state == nil {
		return
	}
	c.pages.mu.Lock()
	defer c.pages.mu.Unlock()
	if !c.index.is(state) {
		return
	}
	if len(c.pages.all) >= mostPages {
		for other := range c.pages.all {
			delete(c.pages.all, other)
			break
		}
	}
	c.pages.all[k] = page{pets, version}
}
