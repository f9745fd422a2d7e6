package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
)

const (
	gramsAtOnce = 256              // in a transaction: a millisecond or two
	tryAgain    = 30 * time.Second // after a failure
)

// A namer indexes names in the background, when enough animals have come since.
// It takes a part of the writer's time alone: its transactions are small, and it
// rests between them.
type namer struct {
	db    *DB
	mu    sync.Mutex
	due   map[int64]bool  // workspaces with names to index, perhaps
	few   map[int64]int64 // the last id of workspaces when they had too few animals for it
	wake  chan struct{}
	told  bool // that it did not work
	end   context.CancelFunc
	ended chan struct{}
}

// newNamer returns one for the open database.
func newNamer(db *DB) *namer {
	ctx, end := context.WithCancel(context.Background())
	n := &namer{db: db, due: map[int64]bool{}, few: map[int64]int64{}, wake: make(chan struct{}, 1), end: end, ended: make(chan struct{})}
	go n.work(ctx)
	return n
}

// close waits for a transaction under way.
func (n *namer) close() {
	if n == nil {
		return
	}
	n.end()
	<-n.ended
}

// grown is called by the writer for workspaces that got animals.
func (n *namer) grown(workspaces []int64) {
	if n == nil || len(workspaces) == 0 {
		return
	}
	n.mu.Lock()
	for _, w := range workspaces {
		n.due[w] = true
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// mostFew bounds what is remembered; what is forgotten is looked at once more.
const mostFew = 1000

// tooFew notes that a workspace has many ids, but not animals, that are not indexed.
func (n *namer) tooFew(workspace, last int64) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.few) >= mostFew {
		clear(n.few)
	}
	n.few[workspace] = last
}

// searched is called for a workspace with many ids that are not indexed, the last
// of which is given. It reports whether there may be something to do.
func (n *namer) searched(workspace, last int64) bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	before, few := n.few[workspace]
	n.mu.Unlock()
	if few && last >= before && last-before < n.db.quarter() {
		return false
	}
	n.grown([]int64{workspace})
	return true
}

func (n *namer) take() []int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	var taken []int64
	for w := range n.due {
		taken = append(taken, w)
	}
	clear(n.due)
	return taken
}

func (n *namer) work(ctx context.Context) {
	defer close(n.ended)
	all := true // the file may be behind
	for {
		err := n.index(ctx, all)
		if ctx.Err() != nil {
			return
		}
		all = err != nil
		wake, again := n.wake, (<-chan time.Time)(nil)
		if err != nil {
			if !n.told && !errors.Is(err, errTaken) {
				n.db.log.Warn("names could not be indexed; a search may read more than it had to", "err", err)
			}
			wake, again = nil, time.After(n.db.tryAgain) // whoever searches wakes it: that must not be a write each
		}
		n.told = err != nil
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-again:
		}
	}
}

// index indexes what is due, or whatever is.
func (n *namer) index(ctx context.Context, all bool) error {
	due := n.take()
	if all {
		var err error
		if due, err = n.db.unnamed(ctx); err != nil {
			return err
		}
	}
	var failed error
	for _, workspace := range due {
		if ctx.Err() != nil {
			break
		}
		failed = errors.Join(failed, n.db.name(ctx, workspace, rest)) // one that cannot be indexed keeps no other from it
	}
	return failed
}

// rest leaves the writer to others for as long as it was taken from them.
func rest(ctx context.Context, took time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(max(took, longRest)):
	}
}

// IndexNames indexes the names that are due, which otherwise is done in the
// background: of every workspace all but some thousands.
func (db *DB) IndexNames(ctx context.Context) error {
	due, err := db.unnamed(ctx)
	for i := 0; err == nil && i < len(due); i++ {
		err = db.name(ctx, due[i], func(context.Context, time.Duration) {})
	}
	return err
}

// unnamed returns the workspaces with names to index.
func (db *DB) unnamed(ctx context.Context) (due []int64, err error) {
	err = db.read(ctx, func(c *conn) error {
		return c.each(`SELECT workspace FROM counters c WHERE pets - coalesce((SELECT max(last) FROM name_segments s WHERE s.workspace=c.workspace), 0) >= ?
			OR EXISTS (SELECT 1 FROM name_segments s WHERE s.workspace=c.workspace AND builder<>0)`,
			func(row *sqlite.Stmt) { due = append(due, row.ColumnInt64(0)) }, db.enough())
	})
	return due, err
}

// errTaken says that another process, or one before this, goes on with a segment. It
// may end before the segment is ready.
var errTaken = errors.New("another process has taken over a segment")

// name indexes segments of a workspace while there are any, and calls pause after
// each transaction. It leaves one to who has taken it over.
func (db *DB) name(ctx context.Context, workspace int64, pause func(context.Context, time.Duration)) error {
	for {
		if more, err := db.nameOne(ctx, workspace, pause); err != nil || !more {
			return err
		}
	}
}

// nameOne indexes a segment, and reports whether there may be more.
func (db *DB) nameOne(ctx context.Context, workspace int64, pause func(context.Context, time.Duration)) (more bool, err error) {
	db.naming.Lock()
	defer db.naming.Unlock()
	n, err := db.beginNaming(ctx, workspace)
	if err != nil || n == nil {
		return false, err
	}
	for !n.done {
		began := time.Now()
		if err := n.step(ctx, gramsAtOnce); err != nil {
			return false, err
		}
		pause(ctx, time.Since(began))
	}
	if n.lost {
		return false, errTaken
	}
	return true, nil
}

// A naming is the indexing of one segment. First it is noted, with what this
// naming has drawn: from then on who names an animal of it adds its grams. Only
// then the names are read, and added bit by bit. What is added has no other use
// until the segment is ready.
type naming struct {
	db        *DB
	workspace int64
	segment   segment
	read      bool         // the names are
	grams     []gramHalves // what is left to be added, in the order of the rows
	done      bool
	lost      bool // another naming has the segment, or it is gone
}

type gramHalves struct {
	gram string
	in   halves
}

// beginNaming returns nil if there is nothing to do.
func (db *DB) beginNaming(ctx context.Context, workspace int64) (*naming, error) {
	next, err := db.nextSegment(ctx, workspace)
	if err != nil || next == nil {
		return nil, err
	}
	n := &naming{db: db, workspace: workspace, segment: *next}
	n.segment.builder = 1 + rand.Int64N(1<<62) //nolint:gosec // not a secret
	if err := n.change(ctx, n.begin); err != nil {
		return nil, err
	}
	n.done = n.lost
	return n, nil
}

// readNames finds the grams that are to be added.
func (n *naming) readNames(ctx context.Context) error {
	var grams map[string]halves
	err := n.db.readLong(ctx, func(c *conn) (err error) {
		grams, err = c.gramsIn(n.workspace, n.segment)
		return err
	})
	n.grams = make([]gramHalves, 0, len(grams))
	for gram, in := range grams {
		n.grams = append(n.grams, gramHalves{gram, in})
	}
	slices.SortFunc(n.grams, func(a, b gramHalves) int { return cmp.Compare(a.gram, b.gram) })
	n.read = err == nil
	return err
}

// enough is how many animals there are when the first of them become a segment: the
// newest are left, as they are those that are corrected most.
func (db *DB) enough() int64 { return db.segment + db.quarter() }

// quarter is after how many new animals it is worth while to look again.
func (db *DB) quarter() int64 { return max(1, db.segment/4) }

// nextSegment returns the segment that is to be indexed next: one that was begun
// and is not ready, or the next animals, if enough are there.
func (db *DB) nextSegment(ctx context.Context, workspace int64) (next *segment, err error) {
	err = db.readLong(ctx, snapshot(func(c *conn) error {
		last, err := find(c, selectLastSegment, workspace, 0, scanSegment)
		if err != nil {
			return err
		}
		if last == nil {
			last = &segment{number: -1}
		} else if last.builder != 0 {
			next = last
			return nil
		}
		issued, err := c.lastIDs(workspace)
		if err != nil || issued.Pets-last.last < db.enough() {
			return err
		}
		end, many, err := c.petAfter(workspace, last.last, db.segment)
		if err == nil && many {
			_, many, err = c.petAfter(workspace, end, db.quarter())
		}
		switch {
		case err != nil:
			return err
		case !many:
			db.namer.tooFew(workspace, issued.Pets)
			return nil
		}
		next = &segment{number: last.number + 1, first: last.last + 1, last: end}
		return nil
	}))
	return next, err
}

const selectPetAfter = "SELECT id FROM pets WHERE workspace=? AND id>? ORDER BY id LIMIT 1 OFFSET ?"

// petAfter returns the id of the n-th pet behind one, if there are so many.
func (c *conn) petAfter(workspace, id, n int64) (after int64, found bool, err error) {
	found, err = c.one(selectPetAfter, func(row *sqlite.Stmt) { after = row.ColumnInt64(0) }, workspace, id, n-1)
	return after, found, err
}

// change carries out a part of the naming. It changes nothing that the cache
// holds.
func (n *naming) change(ctx context.Context, part func(*conn) error) error {
	err := n.db.changeOf(ctx, named, func(c *conn) error {
		c.touched.wrote, n.lost = true, false // what fails half way is undone
		return part(c)
	})
	if err != nil {
		return fmt.Errorf("names of workspace %d from pet %d to %d: %w", n.workspace, n.segment.first, n.segment.last, err)
	}
	return nil
}

// begin notes the segment, or takes it over. If another was faster, or the
// workspace is gone, it is lost.
func (n *naming) begin(c *conn) error {
	last, err := find(c, selectLastSegment, n.workspace, 0, scanSegment)
	if err != nil {
		return err
	}
	if last == nil {
		last = &segment{number: -1}
	}
	s := n.segment
	switch {
	case last.number == s.number && last.builder != 0 && last.first == s.first && last.last == s.last:
		if err := c.exec(deleteGrams, n.workspace, blockLevel, s.number); err != nil { // of names that may be gone, and not all of them
			return err
		}
		return c.exec("UPDATE name_segments SET builder=? WHERE workspace=? AND number=?", s.builder, n.workspace, s.number)
	case last.number != s.number-1 || last.builder != 0 || last.last != s.first-1:
		return n.lose(c, nil)
	}
	found, err := c.one(selectIDs, func(*sqlite.Stmt) {}, n.workspace)
	if err != nil || !found {
		return n.lose(c, err)
	}
	return c.exec("INSERT INTO name_segments (workspace, number, first, last, builder) VALUES (?, ?, ?, ?, ?)",
		n.workspace, s.number, s.first, s.last, s.builder)
}

// deleteGrams is carried out as a whole: half of a name's grams must not stay.
const deleteGrams = "DELETE FROM name_grams WHERE workspace=? AND level=? AND node=?"

func (n *naming) lose(c *conn, err error) error {
	c.touched.wrote, n.lost = false, err == nil
	return err
}

// step reads the names, the first time, and then adds some grams, at most so many; it
// ends with the last of them.
func (n *naming) step(ctx context.Context, most int) error {
	if !n.read {
		return n.readNames(ctx)
	}
	some := min(len(n.grams), most)
	err := n.change(ctx, func(c *conn) error { return n.add(c, n.grams[:some], some == len(n.grams)) })
	if err == nil {
		n.grams = n.grams[some:]
		n.done = n.lost || len(n.grams) == 0
	}
	return err
}

// add adds grams in the writer's transaction. After the last ones the segment is
// ready.
func (n *naming) add(c *conn, grams []gramHalves, last bool) error {
	s, err := find(c, selectSegment, n.workspace, n.segment.number, scanSegment)
	if err != nil {
		return err
	}
	if s == nil || *s != n.segment {
		return n.lose(c, nil)
	}
	for _, g := range grams {
		if err := c.addGram(n.workspace, s.number, g.gram, g.in); err != nil {
			return err
		}
	}
	if last {
		return c.exec("UPDATE name_segments SET builder=0 WHERE workspace=? AND number=?", n.workspace, s.number)
	}
	return nil
}

// grew notes that a workspace got the pet with the id: the namer looks from time to
// time.
func (c *conn) grew(workspace, id int64) {
	if id%c.quarter == 0 {
		c.touched.grown = append(c.touched.grown, workspace)
	}
}

// due notes that a workspace may have names to index.
func (l *load) due() { l.touched.grown = append(l.touched.grown, l.workspace) }
