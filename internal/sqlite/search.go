package sqlite

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// A pace says how much a search does in a turn.
type pace struct {
	first int64 // ids are read before the index is asked: a frequent name fills a page with them
	on    int   // rows are read on in an index of the other filters
	ids   int64 // are read of those that the index of names named
	seeks int   // into the index of names
	dense int   // halves of the blocks of a segment: a gram in as many excludes too few to be looked up for one block
}

var usualPace = pace{first: 1024, on: 512, ids: 4096, seeks: 256, dense: 2 * fan * 7 / 8}

const mostGrams = 16 // of what is searched for

const sameCategory = " AND +category=?" // a test of the row, not the beginning of an index

// A search looks for pets by a part of their names. All up to its frontier is
// found. It moves the frontier in two ways: by jumping to blocks in which names
// may have the part, and, if there are other filters with an index, by reading on
// in that. Each has its turn, as nobody knows which is better, so that a page costs
// about twice what it costs in the better way.
type search struct {
	c         *conn
	workspace int64
	limit     int
	found     []petstore.Pet
	frontier  int64
	indexed   int64 // the names up to this id are
	issued    int64 // the last id; 0 if it did not matter
	damaged   bool  // a segment is missing

	pace   pace
	byLane *list[petstore.Pet] // reads in the index of the other filters
	byID   *list[petstore.Pet] // tests them row by row
	ids    *list[int64]        // what byLane reads, whatever the name
	grams  postings
	looked int64 // ids that were read in the order of ids, for tests
}

// search returns a page of pets by a part of their names.
func (db *DB) search(ctx context.Context, workspace int64, q *petstore.PetQuery) ([]petstore.Pet, error) {
	if q.Limit <= 0 {
		return []petstore.Pet{}, nil
	}
	s := &search{}
	err := db.readLong(ctx, snapshot(func(c *conn) error {
		s = newSearch(c, workspace, q, db.pace)
		return s.run()
	}))
	if s.damaged && !db.lost.Swap(true) {
		db.log.Warn("the index of names lacks a segment: a search reads row by row; see petstore doctor", "workspace", workspace)
	}
	if s.issued-s.indexed >= db.enough() { // left by another process
		db.namer.searched(workspace, s.issued)
	}
	return s.found, err
}

func newSearch(c *conn, workspace int64, of *petstore.PetQuery, p pace) *search {
	q := new(*of)
	if len(statusLanes(q.Statuses, false)) == len(petstore.Statuses()) {
		q.Statuses = nil
	}
	s := &search{
		c: c, workspace: workspace, pace: p, limit: q.Limit, frontier: max(q.After, 0), found: make([]petstore.Pet, 0, min(q.Limit, petstore.MaxPage+1)),
		byLane: petList(workspace, *q), byID: petsInOrder(workspace, q),
		grams: postings{c: c, workspace: workspace, grams: soughtFor(gramsOf(q.Name)...), most: p.seeks, dense: p.dense},
	}
	if len(s.byLane.lanes) > 0 {
		s.ids = idList(workspace, *q)
	}
	for _, l := range []*list[petstore.Pet]{s.byLane, s.byID} {
		l.filters = append(l.filters, filter{upTo, int64(0)})
	}
	return s
}

// petsInOrder is petList without an index.
func petsInOrder(workspace int64, q *petstore.PetQuery) *list[petstore.Pet] {
	l := petList(workspace, petstore.PetQuery{Page: q.Page, Name: q.Name})
	if q.CategoryID != 0 {
		l.filters = append(l.filters, filter{sameCategory, q.CategoryID})
	}
	l.filters = append(l.filters, statusTests(q.Statuses)...)
	return l
}

// idList is petList without the name, and for the ids alone.
func idList(workspace int64, q petstore.PetQuery) *list[int64] {
	q.Name = ""
	l := petList(workspace, q)
	return &list[int64]{from: "SELECT id FROM pets", index: l.index, workspace: workspace, filters: l.filters, lanes: l.lanes}
}

// gramsOf returns grams that every name has of which needle is a part.
func gramsOf(needle string) []string {
	runes := utf8.RuneCountInString(needle)
	if runes <= mostRunes {
		return []string{needle}
	}
	if runes > mostLetters {
		return []string{anyGram}
	}
	var grams []string
	eachGram(needle, func(gram string) {
		if utf8.RuneCountInString(gram) == mostRunes && !slices.Contains(grams, gram) {
			grams = append(grams, gram)
		}
	})
	if len(grams) <= mostGrams {
		return grams
	}
	some := make([]string, mostGrams) // from all over it
	for i := range some {
		some[i] = grams[i*(len(grams)-1)/(mostGrams-1)]
	}
	return some
}

func (s *search) run() error {
	if err := s.read(s.byLane, min(s.frontier, math.MaxInt64-s.pace.first)+s.pace.first); err != nil || s.full() {
		return err
	}
	if err := s.ready(); err != nil {
		return err
	}
	for s.frontier < s.indexed {
		err := s.jump()
		if errors.Is(err, errNoSegment) { // what is behind the frontier is read row by row then
			s.damaged = true
			break
		}
		if err != nil || s.full() {
			return err
		}
		if s.ids == nil || s.frontier >= s.indexed {
			continue
		}
		if err := s.readOn(); err != nil || s.full() {
			return err
		}
	}
	last, err := s.c.lastIDs(s.workspace)
	if err != nil {
		return err
	}
	s.issued = last.Pets
	return s.read(s.byLane, math.MaxInt64)
}

func (s *search) full() bool { return len(s.found) >= s.limit }

// ready finds out how far the index of names goes.
func (s *search) ready() error {
	last, err := find(s.c, selectReady, s.workspace, 0, scanSegment)
	if err == nil && last != nil && !slices.ContainsFunc(s.grams.grams, (*sought).invalid) {
		s.indexed, s.grams.segments = last.last, last.number+1
	}
	return err
}

// read moves the frontier to an id, and finds what there is before, or fills the
// page.
func (s *search) read(l *list[petstore.Pet], to int64) error {
	if to <= s.frontier {
		return nil
	}
	l.page = petstore.Page{After: s.frontier, Limit: s.limit - len(s.found)}
	l.filters[len(l.filters)-1].arg = to
	pets, err := l.run(s.c)
	s.found = append(s.found, pets...)
	s.frontier = to
	return err
}

// readOn moves the frontier over some rows of each lane.
func (s *search) readOn() error {
	to := int64(math.MaxInt64)
	s.ids.page.After = s.frontier
	for i := range s.ids.lanes {
		end, err := s.ids.nth(s.c, s.pace.on, s.ids.lanes[i:i+1])
		if err != nil {
			return err
		}
		to = min(to, end)
	}
	return s.read(s.byLane, to)
}

// nth returns the n-th id of a lane, MaxInt64 if it has fewer.
func (l *list[T]) nth(c *conn, n int, lane []filter) (int64, error) {
	stmt, err := l.prepare(c, lane, " OFFSET ?", 1, n-1)
	if err != nil {
		return 0, err
	}
	id := int64(math.MaxInt64)
	err = rows(stmt, func(row *sqlite.Stmt) { id = row.ColumnInt64(0) })
	return id, err
}

// jump moves the frontier over blocks that the index excludes, and reads those that
// it does not, until it has read many.
func (s *search) jump() error {
	at, err := find(s.c, selectSegmentOf, s.workspace, s.frontier+1, scanSegment)
	if err == nil && (at == nil || at.first > s.frontier+1) {
		err = errNoSegment
	}
	if err != nil {
		return err
	}
	position := at.number*fan + (s.frontier+1-at.first)/at.width()
	s.grams.seeks = 0
	first, last, end := int64(0), int64(-1), int64(0) // ids to read, and the end of their block
	for looked := int64(0); looked < s.pace.ids; {
		var found spot
		if position, found, err = s.grams.next(blockLevel, position); err != nil {
			return err
		}
		if found == atEnd || position/fan >= s.grams.segments {
			return s.readBlocks(first, last, s.indexed)
		}
		if at, err = s.segment(at, position/fan); err != nil {
			return err
		}
		block := position % fan
		start, stop := at.ids(block)
		if found == onTheWay {
			return s.readBlocks(first, last, start-1)
		}
		from, to := at.idsOf(block, s.grams.at[blockLevel].bits)
		if from != last+1 {
			if err := s.readBlocks(first, last, from-1); err != nil || s.full() {
				return err
			}
			first = from
		}
		last, end = to, stop
		looked += to - from + 1
		position++
	}
	return s.readBlocks(first, last, end)
}

var errNoSegment = errors.New("the index of names lacks a segment")

// segment returns the one with the number, which at may be already.
func (s *search) segment(at *segment, number int64) (*segment, error) {
	if at.number == number {
		return at, nil
	}
	at, err := find(s.c, selectSegment, s.workspace, number, scanSegment)
	if err == nil && at == nil {
		err = errNoSegment
	}
	return at, err
}

// readBlocks reads the ids from first to last, which are all that may have the name
// before the id to, and moves the frontier there.
func (s *search) readBlocks(first, last, to int64) error {
	if first <= last {
		s.frontier = max(s.frontier, first-1)
		s.looked += max(0, last-s.frontier)
		if err := s.read(s.byID, last); err != nil || s.full() {
			return err
		}
	}
	s.frontier = max(s.frontier, to)
	return nil
}

// postings say in which halves of a workspace's blocks names may have all of some
// grams.
type postings struct {
	c         *conn
	workspace int64
	grams     []*sought // in the order in which they are looked up
	segments  int64     // how many are ready
	seeks     int       // so far in this turn
	most      int       // in a turn
	dense     int       // see pace

	at [blockLevel + 1]struct { // what was read last, of each level
		node int64
		bits halves
		long halves // those of longer names
		is   bool
	}
}

// A sought is a gram of what is searched for.
type sought struct {
	gram   string
	halves int // of blocks that had it where it was looked up last, in a segment
}

// A spot says what is at a position of the postings.
type spot int

const (
	atBlock  spot = iota // one with all grams
	onTheWay             // nothing before it; the turn is over
	atEnd                // no more
)

// next returns the least i from the given one on whose bit is set in a level, the
// bits of which are numbered through: those of a block are its number in the
// workspace.
func (p *postings) next(level int, i int64) (int64, spot, error) {
	if level < 0 { // the nodes of level 0 are looked at one by one
		return i, atBlock, nil
	}
	last := (p.segments - 1) >> (fanBits * (blockLevel - level))
	for {
		node := i / fan
		switch {
		case node > last:
			return i, atEnd, nil
		case p.seeks >= p.most:
			return i, onTheWay, nil
		}
		all, err := p.node(level, node)
		if err != nil {
			return 0, atEnd, err
		}
		if left := all.either() >> (i % fan) << (i % fan); left != 0 {
			return node*fan + int64(bits.TrailingZeros64(left)), atBlock, nil
		}
		if node == last {
			return (node + 1) * fan, atEnd, nil
		}
		next, found, err := p.next(level-1, node+1)
		if i = next * fan; err != nil || found != atBlock {
			return i, found, err
		}
	}
}

// node returns the bits that all grams have in a node, of a segment perhaps those of a
// block more.
func (p *postings) node(level int, node int64) (halves, error) {
	at := &p.at[level]
	if at.is && at.node == node {
		return at.bits, nil
	}
	long, err := p.long(level, node)
	if err != nil {
		return halves{}, err
	}
	all := halves{^uint64(0), ^uint64(0)}
	for i, gram := range p.grams {
		if level == blockLevel && bits.OnesCount64(all.either()) == 1 && gram.skip(p.dense) {
			continue
		}
		have, err := p.look(level, node, gram.gram)
		if err != nil {
			return halves{}, err
		}
		if level == blockLevel {
			gram.halves = have.count()
		}
		if all = all.and(have.or(long)); all == (halves{}) { // that gram first, then those it has nothing in common with
			copy(p.grams[1:], p.grams[:i])
			p.grams[0] = gram
			break
		}
	}
	if all != (halves{}) {
		slices.SortStableFunc(p.grams, func(a, b *sought) int { return cmp.Compare(a.halves/p.dense, b.halves/p.dense) })
	}
	at.node, at.bits, at.long, at.is = node, all, long, true
	return all, nil
}

func soughtFor(grams ...string) []*sought {
	all := make([]*sought, len(grams))
	for i, gram := range grams {
		all[i] = &sought{gram: gram}
	}
	return all
}

// invalid reports whether the gram is not text.
func (s *sought) invalid() bool { return !utf8.ValidString(s.gram) }

// skip reports whether one block had better be read than the gram be looked up: to
// read a block costs as much as looking up ten grams. Segments differ, so each time
// it is less sure.
func (s *sought) skip(dense int) bool {
	if s.halves < dense {
		return false
	}
	s.halves -= 2
	return true
}

// long returns the bits of a node for longer names. Mostly there are none, which
// the node above knows.
func (p *postings) long(level int, node int64) (halves, error) {
	if level > 0 {
		above := p.at[level-1]
		if above.is && above.node == node/fan && above.long.early>>(node%fan)&1 == 0 {
			return halves{}, nil
		}
	}
	return p.look(level, node, anyGram)
}

func (p *postings) look(level int, node int64, gram string) (halves, error) {
	p.seeks++
	return p.c.bits(p.workspace, int64(level), node, gram)
}
