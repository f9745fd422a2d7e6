package sqlite

import "sync/atomic"

// A petVersions has a version of the pets of each workspace, for who holds answers that
// were made of them. What this process commits changes the versions of the workspaces
// that it wrote to, before and after, so that nobody who asks after a commit goes by what
// was before it. What another process commits changes all, as soon as it is seen, see
// DB.checkForeignCommit.
type petVersions struct {
	all   atomic.Uint64          // counts for every workspace
	slots [1 << 10]atomic.Uint64 // by the workspace; some share one
}

// of returns the version of a workspace. An odd one is being changed.
func (v *petVersions) of(workspace int64) uint64 {
	return v.slot(workspace).Load() + v.all.Load() // neither ever falls, so the sum is the same only if both are
}

func (v *petVersions) slot(workspace int64) *atomic.Uint64 {
	return &v.slots[uint64(workspace)%uint64(len(v.slots))] //nolint:gosec // a hash
}

// A petChanges is what the writer's transaction changes of pets.
type petChanges struct{ workspaces []int64 }

func (t *petChanges) reset() { t.workspaces = t.workspaces[:0] }

// commit carries out the transaction's commit. Only the writer calls it.
func (v *petVersions) commit(t *petChanges, commit func() error) error {
	for _, w := range t.workspaces {
		v.slot(w).Or(1)
	}
	err := commit()
	for _, w := range t.workspaces {
		if s := v.slot(w); s.Load()%2 == 1 { // not yet, by another workspace with this slot
			s.Add(1)
		}
	}
	return err
}

// PetVersion returns a number that is another one after each change of the pets of a
// workspace: when this process has acknowledged it, and soon after another one has. It
// reports false if nothing may be held meanwhile.
func (db *DB) PetVersion(workspace int64) (version uint64, known bool) {
	version = db.versions.of(workspace)
	return version, version%2 == 0 && db.broken() == nil
}
