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

// A workspace is no longer aside if none of its changes has waited for longLock within asideFor:
// an import locks it again and again.
const asideFor, longLock = 100 * time.Millisecond, 25 * time.Millisecond

// ErrLocked is returned by an engine for a group that is not patient, if another transaction
// has held the lock of one of its workspaces for longer than groups take: an import does so,
// and a node that was stopped. Nothing of the group has happened.
var ErrLocked = errors.New("another transaction holds the lock of a workspace")

// An aside has the changes of a workspace that is aside.
type aside struct {
	changes []*change
	more    chan struct{} // has a place, which is taken when changes were added
}

// setAside puts the workspace of a group aside whose lock was not to be had. It reports false if
// the committers have to wait: so many are aside, or another lock was in the way, as of a table.
func (s *Store) setAside(g *Group) bool {
	i := slices.IndexFunc(g.workspaces, func(w *groupedWorkspace) bool { return !w.open })
	if i < 0 {
		return false
	}
	workspace := g.workspaces[i].id
	s.asideLock.Lock()
	defer s.asideLock.Unlock()
	if s.asides[workspace] == nil {
		if len(s.asides) == MaxPatient {
			return false
		}
		a := &aside{more: make(chan struct{}, 1)}
		s.asides[workspace] = a
		s.committers.Go(func() { s.commitAside(workspace, a) })
	}
	return true
}

// putAside returns the changes that are not of workspaces which are aside.
func (s *Store) putAside(changes []*change) (others []*change) {
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
	return others
}

// commitAside carries out the changes of a workspace while it is aside.
func (s *Store) commitAside(workspace int64, a *aside) {
	for waited, last := time.Now(), false; !last; {
		select {
		case <-a.more:
		case <-time.After(asideFor):
		}
		s.asideLock.Lock()
		changes := a.changes
		a.changes = nil
		if last = time.Since(waited) >= asideFor; last {
			delete(s.asides, workspace)
		}
		s.asideLock.Unlock()
		for group := range slices.Chunk(changes, MaxGroup) {
			begun := time.Now()
			if s.commit(group, true); time.Since(begun) >= longLock {
				waited = time.Now()
			}
		}
	}
}
