package sqlite

import (
	"slices"
	"sync"
	"sync/atomic"

	"example.com/petstore/internal/petstore"
)

// A cache holds rows and pages that were read before, as long as they are what
// the database holds: whoever asks it may as well have asked the file.
//
// It knows by the header of the log's index, see walIndex. What this process
// commits is taken out row by row; when another process has committed, all of
// it goes. A row gets in only if nothing was committed since before it was read.
// A nil cache holds nothing.
type cache struct {
	index      *walIndex
	known      atomic.Pointer[walHeader] // the state that the entries are of
	committing atomic.Bool               // the writer is about to set known itself
	others     func()                    // told that another process has committed
	flushing   sync.Mutex

	rows  [rowStripes]rowStripe
	pages pages
}

const rowStripes = 64

// A rowKey names an animal.
type rowKey struct{ workspace, id int64 }

// A row is what reads need of an animal besides its id.
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

func newCache(index *walIndex, rows int) *cache {
	c := &cache{index: index, others: func() {}}
	c.makeRoom(rows)
	c.pages.all = make(map[pageKey]page)
	c.known.Store(index.header())
	return c
}

func (c *cache) makeRoom(rows int) {
	for i := range c.rows {
		c.rows[i].makeRoom(rows / rowStripes)
	}
}

// stripe returns the stripe that an animal belongs to, and what chooses its set
// there: ids that follow each other fill all sets evenly.
func (c *cache) stripe(k rowKey) (s *rowStripe, spread uint64) {
	n := uint64(k.workspace)*0x9E3779B97F4A7C15 + uint64(k.id) //nolint:gosec // a hash
	return &c.rows[n%rowStripes], n / rowStripes
}

// state returns the state of the database if the entries are of it, else nil.
func (c *cache) state() *walHeader {
	if c == nil {
		return nil
	}
	known := c.known.Load()
	if c.index.is(known) {
		return known
	}
	if !c.committing.Load() {
		c.catchUp()
	}
	return nil
}

// notice tells if another process has committed.
func (c *cache) notice() { _ = c.state() }

// catchUp empties the cache if another process has committed.
func (c *cache) catchUp() {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	if !c.index.is(c.known.Load()) {
		c.flush()
		c.others()
	}
}

// flush empties the cache. c.flushing is held, or the writer is committing.
func (c *cache) flush() {
	now := c.index.header() // before: what is committed meanwhile must not count as known
	for i := range c.rows {
		c.rows[i].flush()
	}
	c.pages.flush()
	c.known.Store(now)
}

// row returns a row that is held, and the state to keep it with if it is not.
func (c *cache) row(k rowKey) (row, bool, *walHeader) {
	state := c.state()
	if state == nil {
		return row{}, false, nil
	}
	s, spread := c.stripe(k)
	r, ok := s.get(k, spread)
	return r, ok, state
}

// keep holds a row that was read after row returned the state.
func (c *cache) keep(k rowKey, r row, state *walHeader) {
	if state == nil {
		return
	}
	s, spread := c.stripe(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.index.is(state) { // inside the lock: the writer takes it to drop the row
		s.put(k, spread, &r)
	}
}

// A touched is what the writer's transaction changes of what is cached.
type touched struct {
	wrote   bool // a row at least
	all     bool
	rows    []rowKey
	catalog []int64 // workspaces whose lists of pets change
	grown   []int64 // workspaces that may have names to index; not the cache's
}

func (t *touched) reset() {
	t.wrote, t.all, t.rows, t.catalog, t.grown = false, false, t.rows[:0], t.catalog[:0], t.grown[:0]
}

// animal notes the change of an animal; listed, if lists of pets show it.
func (t *touched) animal(workspace, id int64, listed bool) {
	t.rows = append(t.rows, rowKey{workspace, id})
	if listed {
		t.catalog = append(t.catalog, workspace)
	}
}

// begin is called when the writer's transaction has begun: from now on nobody
// else commits.
func (c *cache) begin() (before *walHeader) {
	if c == nil {
		return nil
	}
	c.catchUp()
	return c.index.header()
}

// commit carries out the transaction's commit, and takes out what it changed.
func (c *cache) commit(before *walHeader, t *touched, commit func() error) error {
	commits := uint32(0)
	if t.wrote {
		commits = 1
	}
	if c == nil {
		return commit()
	}
	c.flushing.Lock()
	defer c.flushing.Unlock()
	c.committing.Store(true)
	defer c.committing.Store(false)
	err := commit()
	now := c.index.header()
	if err != nil || t.all || !now.follows(before, commits) {
		c.flush()
		return err
	}
	for _, k := range t.rows {
		s, spread := c.stripe(k)
		s.drop(k, spread)
	}
	for _, workspace := range t.catalog {
		c.pages.drop(workspace)
	}
	c.known.Store(now)
	return nil
}
