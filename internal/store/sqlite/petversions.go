package sqlite

import (
	"slices"
	"sync"
	"sync/atomic"

	"example.com/petstore/internal/petstore"
)

// A cache holds pets and pages of pets that were read. Each entry has the version
// that its workspace had before it was read, and counts as long as that is the
// workspace's version. What this process commits changes the versions of the workspaces
// that it wrote to, before and after, so that nobody who asks after a commit finds what
// was before it. What another process commits changes all, as soon as it is seen, see
// DB.notice.
//
// A nil cache holds nothing.
type cache struct {
	all      atomic.Uint64 // counts for every workspace
	versions [1 << 10]atomic.Uint64
	shards   [64]cacheShard

	mu    sync.Mutex
	pages map[pageKey]cached[[]petstore.Pet]
}

// A cacheKey names a pet.
type cacheKey struct{ workspace, id int64 }

func (k cacheKey) hash() uint64 { return uint64(k.workspace)*0x9E3779B97F4A7C15 + uint64(k.id) } //nolint:gosec // a hash

type cached[T any] struct {
	value   T
	version uint64
}

// A row is what reads need of a pet besides its id.
type row struct {
	name     string
	category int64
	quantity int64
	status   uint8 // its place in the order of petstore.Statuses
}

func (r *row) pet(id int64) petstore.Pet {
	return petstore.Pet{ID: id, Name: r.name, CategoryID: r.category, Status: statusAt[r.status]}
}

// statusAt are the statuses, not copied each time.
var statusAt = petstore.Statuses()

func placeOf(s petstore.Status) uint8 {
	return uint8(slices.Index(statusAt, s)) //nolint:gosec // there are three
}

// newCache returns a cache for so many pets.
func newCache(rows int) *cache {
	c := &cache{pages: map[pageKey]cached[[]petstore.Pet]{}}
	for i := range c.shards {
		c.shards[i] = cacheShard{most: max(1, rows/len(c.shards)/2), young: map[cacheKey]cached[row]{}, older: map[cacheKey]cached[row]{}}
	}
	return c
}

// version returns the version of a workspace. An odd one is being changed: nothing that
// was read meanwhile may be kept.
func (c *cache) version(workspace int64) uint64 {
	return c.slot(workspace).Load() + c.all.Load() // neither ever falls, so the sum is the same only if both are
}

func (c *cache) slot(workspace int64) *atomic.Uint64 {
	return &c.versions[uint64(workspace)%uint64(len(c.versions))] //nolint:gosec // a hash
}

// flush empties the cache.
func (c *cache) flush() {
	if c != nil {
		c.all.Add(2)
	}
}

// A cacheShard holds two generations of rows: when the younger one is full it becomes
// the older one, whose rows are forgotten unless they are asked for meanwhile.
type cacheShard struct {
	mu           sync.Mutex
	most         int // rows of a generation
	young, older map[cacheKey]cached[row]
}

func (s *cacheShard) get(k cacheKey) (cached[row], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.young[k]; ok {
		return e, true
	}
	e, ok := s.older[k]
	if ok {
		s.put(k, e)
	}
	return e, ok
}

// put keeps a row. The mutex is held.
func (s *cacheShard) put(k cacheKey, e cached[row]) {
	if len(s.young) >= s.most {
		s.young, s.older = s.older, s.young
		clear(s.young)
	}
	s.young[k] = e
}

func (c *cache) shard(k cacheKey) *cacheShard { return &c.shards[k.hash()%uint64(len(c.shards))] }

// row returns a row that is held, and the version to keep it with if it is not.
func (c *cache) row(k cacheKey) (r row, ok bool, version uint64) {
	if c == nil {
		return row{}, false, 0
	}
	version = c.version(k.workspace)
	e, ok := c.shard(k).get(k)
	return e.value, ok && e.version == version, version
}

// keep holds a row that was read after row returned the version.
func (c *cache) keep(k cacheKey, r row, version uint64) {
	if c == nil || version%2 == 1 {
		return
	}
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(k, cached[row]{r, version})
}

// mostPages is how many pages are held.
const mostPages = 256

// A pageKey is a query for a page.
type pageKey struct {
	workspace, after, category int64
	limit                      int
	statuses                   uint8 // a bit for each
}

// pageKeyOf returns the key of a query, and reports whether its pages are held:
// what people search for is seldom searched for again.
func pageKeyOf(workspace int64, q *petstore.PetQuery) (pageKey, bool) {
	k := pageKey{workspace: workspace, after: q.After, category: q.CategoryID, limit: q.Limit}
	for _, asked := range q.Statuses {
		k.statuses |= 1 << placeOf(asked)
	}
	return k, q.Name == "" && len(q.IDs) == 0 && !q.Newest
}

// page returns a page that is held, which nobody may change, and the version to keep
// it with if it is not.
func (c *cache) page(k pageKey) (pets []petstore.Pet, ok bool, version uint64) {
	if c == nil {
		return nil, false, 0
	}
	version = c.version(k.workspace)
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.pages[k]
	return e.value, ok && e.version == version, version
}

// keepPage holds a page that was read after page returned the version.
func (c *cache) keepPage(k pageKey, pets []petstore.Pet, version uint64) {
	if c == nil || version%2 == 1 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pages) >= mostPages {
		for other := range c.pages {
			delete(c.pages, other)
			break
		}
	}
	c.pages[k] = cached[[]petstore.Pet]{pets, version}
}

// A touched is what the writer's transaction changes of what is cached.
type touched struct {
	all        bool
	workspaces []int64
}

func (t *touched) reset() { t.all, t.workspaces = false, t.workspaces[:0] }

// commit carries out the transaction's commit. Only the writer calls it.
func (c *cache) commit(t *touched, commit func() error) error {
	if c == nil {
		return commit()
	}
	if t.all {
		c.all.Add(1)
		defer c.all.Add(1)
		return commit()
	}
	for _, w := range t.workspaces {
		c.slot(w).Or(1)
	}
	err := commit()
	for _, w := range t.workspaces {
		if s := c.slot(w); s.Load()%2 == 1 { // not yet, by another workspace with this slot
			s.Add(1)
		}
	}
	return err
}
