package sqlite

import "sync"

// A rowStripe is one part of the animals that a cache holds, with a lock of its
// own. It is made of sets: an animal has its place in one of them, and when that
// is full the one goes that was asked for least, see rowSet.victim. Sets are
// made, some at a time, when they are needed, and have no pointers: what collects
// garbage does not look into them.
type rowStripe struct {
	mu      sync.Mutex
	era     uint32 // sets of another one are empty
	sets    uint64 // how many there may be
	shelves []*shelf
	long    map[rowKey]string // the names that are too long for their rows; nil if there are none
}

const (
	setRows   = 8
	shelfSets = 8
	shortName = 25  // bytes of a name that a row has room for
	longName  = 255 // the size of one that is in the stripe
)

type shelf [shelfSets]rowSet

type rowSet struct {
	era  uint32
	hand uint8 // the row to be looked at next when one has to go
	rows [setRows]packedRow
}

// A packedRow is a row in 48 bytes.
type packedRow struct {
	id                            int64 // 0 if there is none
	workspace, category, quantity uint32
	status, size                  uint8
	heat                          uint8 // how often it was asked for, lately
	name                          [shortName]byte
}

// hottest is the greatest heat of a row.
const hottest = 3

// makeRoom sets how many rows the stripe may hold.
func (s *rowStripe) makeRoom(rows int) {
	s.sets = uint64(max(1, rows/setRows)) //nolint:gosec // positive
	s.shelves = make([]*shelf, (s.sets+shelfSets-1)/shelfSets)
}

// packs reports whether a row fits into a packedRow, but for its name.
func packs(k rowKey, r *row) bool {
	const most = 1<<32 - 1
	return k.id > 0 && uint64(k.workspace) <= most && uint64(r.category) <= most && uint64(r.quantity) <= most //nolint:gosec // negative ones are greater
}

// set returns the set that an animal belongs to, or nil if nothing was kept on
// its shelf yet, unless there is need of it. spread is what chose the stripe. The mutex is held.
func (s *rowStripe) set(spread uint64, need bool) *rowSet {
	n := spread % s.sets
	on := &s.shelves[n/shelfSets]
	if *on == nil {
		if !need {
			return nil
		}
		*on = new(shelf)
	}
	set := &(*on)[n%shelfSets]
	if set.era != s.era {
		*set = rowSet{era: s.era}
	}
	return set
}

// find returns the place of an animal in the set, or nil.
func (set *rowSet) find(k rowKey) *packedRow {
	if set == nil {
		return nil
	}
	for i := range set.rows {
		if p := &set.rows[i]; p.id == k.id && int64(p.workspace) == k.workspace {
			return p
		}
	}
	return nil
}

// victim returns the place of the row that has to go: the first in turn that
// was not asked for since its turn before (the CLOCK algorithm, with small
// counters). One that was read once goes before one that is read all the time.
func (set *rowSet) victim() *packedRow {
	for {
		p := &set.rows[set.hand]
		set.hand = (set.hand + 1) % setRows
		if p.heat == 0 {
			return p
		}
		p.heat--
	}
}

// get returns the row of an animal, if it is there.
func (s *rowStripe) get(k rowKey, spread uint64) (row, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.set(spread, false).find(k)
	if p == nil {
		return row{}, false
	}
	p.heat = min(p.heat+1, hottest)
	r := row{category: int64(p.category), quantity: int64(p.quantity), status: p.status}
	if p.size == longName {
		r.name = s.long[k]
	} else {
		r.name = string(p.name[:p.size])
	}
	return r, true
}

// put holds a row, if it fits. The mutex is held.
func (s *rowStripe) put(k rowKey, spread uint64, r *row) {
	set := s.set(spread, true)
	p := set.find(k)
	if p != nil {
		s.empty(p)
	}
	if !packs(k, r) {
		return
	}
	if p == nil {
		p = set.victim()
		s.empty(p)
	}
	held := packedRow{id: k.id, workspace: uint32(k.workspace), category: uint32(r.category), quantity: uint32(r.quantity), status: r.status} //nolint:gosec // see packs
	if len(r.name) <= shortName {
		held.size = uint8(copy(held.name[:], r.name)) //nolint:gosec // at most shortName
	} else if held.size = longName; !s.putLong(k, r.name) {
		return
	}
	*p = held
}

// putLong holds a long name, unless there are too many: for an eighth of the
// animals there is room.
func (s *rowStripe) putLong(k rowKey, name string) bool {
	if uint64(len(s.long)) >= s.sets*setRows/8 {
		return false
	}
	if s.long == nil {
		s.long = make(map[rowKey]string)
	}
	s.long[k] = name
	return true
}

// empty makes a place free.
func (s *rowStripe) empty(p *packedRow) {
	if p.size == longName {
		delete(s.long, rowKey{int64(p.workspace), p.id})
	}
	*p = packedRow{}
}

// drop takes an animal out.
func (s *rowStripe) drop(k rowKey, spread uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.set(spread, false).find(k); p != nil {
		s.empty(p)
	}
}

// flush takes everything out.
func (s *rowStripe) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.long = nil
	if s.era++; s.era == 0 { // sets from so long ago must not come back
		clear(s.shelves)
	}
}
