package sqlite

import "sync/atomic"

// A petVersions has a version of the pets of each workspace, for caches of answers that
// were made of them. A commit of this process changes the versions of the workspaces that
// it wrote to, once before and once after the commit, so that no reader after it uses an
// older answer. A commit of another process changes the versions of all workspaces as
// soon as it is noticed, see DB.checkForeignCommit.
type petVersions struct {
	all   atomic.Uint64          // added to the version of every workspace
	slots [1 << 10]atomic.Uint64 // by the workspace; some share one
}

// of returns the version of a workspace. It is odd during a commit that changes its
// pets.
func (v *petVersions) of(workspace int64) uint64 {
	return v.slot(workspace).Load() + v.all.Load() // neither decreases, so the sum is unchanged only if both are
}

func (v *petVersions) slot(workspace int64) *atomic.Uint64 {
	return &v.slots[uint64(workspace)%uint64(len(v.slots))] //nolint:gosec // a hash
}

// commit carries out the commit of a transaction that changes pets of some workspaces. Only
// the writer calls it.
func (v *petVersions) commit(workspaces []int64, commit func() error) error {
	for _, w := range workspaces {
		v.slot(w).Or(1)
	}
	err := commit()
	for _, w := range workspaces {
		if s := v.slot(w); s.Load()%2 == 1 { // unless another workspace with this slot has done it
			s.Add(1)
		}
	}
	return err
}

// PetVersion returns a number that changes with each change of the pets of a workspace:
// before a change of this process is acknowledged, and soon after that of another one.
// It reports false while answers must not be cached.
func (db *DB) PetVersion(workspace int64) (version uint64, known bool) {
	version = db.versions.of(workspace)
	return version, version%2 == 0 && db.broken() == nil
}
