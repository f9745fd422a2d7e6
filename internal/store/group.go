package store

import (
	"cmp"
	"context"
	"errors"

	"example.com/petstore/internal/petstore"
)

// Do implements [petstore.Store].
//
// The changes that wait when a committer is free are carried out together, as a [Group].
// If the database refuses what one of them writes, all are tried again one by one.
func (s *Store) Do(ctx context.Context, c *petstore.Change) (*petstore.Receipt, error) {
	w := newChange(c)
	if err := s.queue.do(ctx, w); err != nil {
		return nil, petstore.Unavailable(err)
	}
	return w.answer, w.err
}

// CommitChanges is a committer: it carries out the changes of [Store.Do] until
// EndChanges was called and none waits any more.
func (s *Store) CommitChanges() { s.queue.run(s.options.Writer, s.commit) }

// EndChanges refuses further changes. Those that wait are still carried out.
func (s *Store) EndChanges() { s.queue.close() }

// Waiting returns how many changes wait for a committer.
func (s *Store) Waiting() int { return s.queue.len() }

// ChangeStats counts the groups of changes.
func (s *Store) ChangeStats() Stats { return s.counted.Stats() }

// ErrSplit is the error of a group that is not written, because its changes have to be
// tried one by one.
var ErrSplit = errors.New("one of several changes failed after others had built on it")

// commit carries out a group and answers its callers. If one change makes the whole
// group fail, it carries out the changes one by one.
func (s *Store) commit(changes []*change) {
	g := s.group(changes)
	err := s.carryOut(g)
	if err != nil && petstore.CodeOf(err) != petstore.CodeServiceUnavailable && len(changes) > 1 {
		s.counted.split.Add(1)
		for i := range changes {
			s.commit(changes[i : i+1])
		}
		return
	}
	s.counted.Add(len(changes), err)
	g.answer(err)
	if err == nil {
		g.notify()
	}
}

func (s *Store) group(changes []*change) *Group {
	g := &Group{store: s, dialect: &s.options.Dialect, changes: make([]groupedChange, len(changes))}
	for i, c := range changes {
		g.changes[i].change = c
	}
	return g
}

// notify calls Options.Written for each workspace whose events were committed.
func (g *Group) notify() {
	for _, w := range g.workspaces {
		if len(w.events) > 0 {
			g.store.options.Written(w.id)
		}
	}
}

// carryOut has the engine carry out a group. If that panics, the group fails with
// ErrPanicked, and the panic is passed on to the caller of the first change.
func (s *Store) carryOut(g *Group) error {
	panicked, err := Guard(func() error { return s.db.Group(context.Background(), g) })
	if panicked != nil {
		g.changes[0].panicked = panicked
	}
	return err
}

// A Group is a number of changes that share a transaction. An engine calls Load,
// LoadRest, Decide and Write, in this order. Each adds statements to a batch, which the
// engine runs before it calls the next. The statements of Load, LoadRest and Write run
// in one transaction; those of Decide run in the same one, or in one of their own that
// is committed first. If the transaction fails, the engine may begin again with Load.
type Group struct {
	store   *Store
	dialect *Dialect
	changes []groupedChange
	whole   bool // nothing is written if a change is refused

	now        petstore.Time
	workspaces []*groupedWorkspace // in order
	pets       map[rowID]*loadedPet
	categories map[rowID]*loadedRow[petstore.Category]
	orders     map[rowID]*loadedRow[petstore.Order]
	inUse      bool // the category that the only change would delete has pets
	receipts   map[receiptID]*storedReceipt
	firsts     map[receiptID]*groupedChange // the first change with each idempotency key
}

// A groupedChange is a change with its outcome.
type groupedChange struct {
	*change
	workspace *groupedWorkspace
	effects   petstore.Effects
	before    *petstore.Receipt // of an earlier transaction with the same idempotency key
	first     *groupedChange    // the change of this group that has the same key and came first
	receipt   *petstore.Receipt // what is kept under the idempotency key
	inserted  struct{ pet, category, order bool }
	movement  storedMovement
}

// effective reports whether the change was decided and not refused, and is no replay of
// another.
func (m *groupedChange) effective() bool { return m.err == nil && m.first == nil && m.before == nil }

// A groupedWorkspace is what a group knows of a workspace.
type groupedWorkspace struct {
	id       int64
	removing bool     // its rows are being removed
	needs    idCounts // how many ids new rows need
	issued   *idCounts
	letters  string // of all names of its pets until now, as its row in counters has them
	named    string // letters of new names
	events   []petstore.Event
}

// A rowID is the key of a row of a workspace.
type rowID struct{ workspace, id int64 }

func (a rowID) compare(b rowID) int {
	return cmp.Or(cmp.Compare(a.workspace, b.workspace), cmp.Compare(a.id, b.id))
}

// A loadedRow is a row in the state in which the changes decided so far have left it.
type loadedRow[T any] struct {
	row           T
	changed, gone bool
}

// A loadedPet is a pet in the state in which the changes decided so far have left it,
// and as it was loaded.
type loadedPet struct {
	loadedRow[storedPet]
	loaded petstore.Pet
}

// answer gives every caller the outcome. If the transaction has failed, the callers of
// refused changes get its error too: what made the store refuse them may not have
// happened.
func (g *Group) answer(err error) {
	for i := range g.changes {
		m := &g.changes[i]
		switch {
		case err != nil:
			m.err = err
		case m.before != nil:
			m.answer = m.before
		case m.first != nil:
			m.answer = m.first.receipt
		}
		close(m.done)
	}
}

// Len returns how many changes the group has.
func (g *Group) Len() int { return len(g.changes) }

// Workspaces returns the workspaces of the changes.
func (g *Group) Workspaces() []int64 {
	ids := make([]int64, len(g.workspaces))
	for i, w := range g.workspaces {
		ids[i] = w.id
	}
	return ids
}

// Run carries out the group in a transaction.
func (g *Group) Run(tx Tx) error {
	var b Batch
	for _, add := range []func(*Batch){g.Load, g.LoadRest, g.Decide} {
		add(&b)
		if err := tx.Run(&b); err != nil {
			return err
		}
		b.Reset()
	}
	if err := g.Write(&b); err != nil {
		return err
	}
	return tx.Run(&b)
}
