package store

import (
	"errors"
	"slices"
	"time"
)

// MaxPatient is how many workspaces may be aside: while another transaction holds the lock of
// such a workspace for long, its changes wait for a committer of its own, so that changes of
// other workspaces do not wait with them.
const MaxPatient = 4

// asideFor is how long a workspace stays aside after its last change: an import locks it again
// and again.
const asideFor = 100 * time.Millisecond

// ErrLocked is returned by an engine for a group that is not patient, if another transaction
// has held the lock of one of its workspaces for longer than groups take: an import does so,
// and a node that was stopped. Nothing of the group has happened.
var ErrLocked = errors.New("another transaction holds the lock of a workspace")

// An aside has the changes of a workspace that is aside.
type aside struct {
	changes []*change
	more    chan struct{} // has a place, which is taken when changes were added
}

// setAside puts the workspace of a group aside whose lock was not to be had, unless so many are
// that the committers have to wait.
func (s *Store) setAside(g *Group) {
	workspace := g.workspaces[slices.IndexFunc(g.workspaces, func(w *groupedWorkspace) bool { return !w.open })].id
	s.asideLock.Lock()
	defer s.asideLock.Unlock()
	if s.asides[workspace] == nil && len(s.asides) < MaxPatient {
		a := &aside{more: make(chan struct{}, 1)}
		s.asides[workspace] = a
		s.committers.Go(func() { s.commitAside(workspace, a) })
	}
}

// putAside returns the changes that are not of workspaces which are aside, and whether no
// other can be.
func (s *Store) putAside(changes []*change) (others []*change, full bool) {
	s.asideLock.Lock()
	defer s.asideLock.Unlock()
	for _, c := range changes {
		if c.Change == nil || s.asides[c.Workspace] == nil {
			others = append(others, c)
			continue
		}
		a := s.asides[c.Workspace]
		a.changes = append(a.changes, c)
		select {
		case a.more <- struct{}{}:
		default:
		}
	}
	return others, len(s.asides) == MaxPatient
}

// commitAside carries out the changes of a workspace that is aside, until none has come for
// asideFor.
func (s *Store) commitAside(workspace int64, a *aside) {
	for last := false; !last; {
		select {
		case <-a.more:
		case <-time.After(asideFor):
			last = true
		}
		s.asideLock.Lock()
		changes := a.changes
		a.changes = nil
		if last {
			delete(s.asides, workspace)
		}
		s.asideLock.Unlock()
		for group := range slices.Chunk(changes, MaxGroup) {
			s.commit(group, true)
		}
	}
}
