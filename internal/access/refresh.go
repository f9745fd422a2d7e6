package access

import (
	"context"
	"maps"
	"slices"
)

// tenant is a workspace with the entries of its live keys.
type tenant[S any] struct {
	*Workspace
	entries []*Entry[S]
}

// Refresh takes over what changed in the store since the last time. On an error,
// that of ctx included, nothing changes that was not so in the store.
//
// What it costs grows with what changed, and with all that is here only when the
// store says [Changes].All; requests wait no longer than the maps take to change.
func (d *Directory[S]) Refresh(ctx context.Context) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	defer d.end()
	changes, err := d.store.Changes(ctx, d.state)
	if err != nil || changes.State == d.state && !changes.All {
		return err
	}
	if changes.All {
		if err := d.lookAgain(ctx); err != nil {
			return err
		}
	}
	d.take(changes.Workspaces, changes.Keys, nil)
	d.state = changes.State
	_ = d.store.Followed(ctx, d.state) // else who waits for it gives up
	return nil
}

// begin waits for its turn to read the store, which lasts until end.
func (d *Directory[S]) begin(ctx context.Context) error {
	select {
	case d.reading <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *Directory[S]) end() { <-d.reading }

// lookAtOnce is how many keys the store is asked for at once.
const lookAtOnce = 512

// lookAgain takes over what became of the keys that are here. Those that were unknown
// are asked for again.
func (d *Directory[S]) lookAgain(ctx context.Context) error {
	d.mu.Lock()
	clear(d.unknown)
	d.mu.Unlock()
	for ids := range slices.Chunk(slices.Collect(maps.Keys(d.byID)), lookAtOnce) {
		keys, workspaces, err := d.store.LiveKeys(ctx, ids, nil)
		if err != nil {
			return err
		}
		gone := make(map[string]bool, len(ids))
		for _, id := range ids {
			gone[id] = true
		}
		for i := range keys {
			delete(gone, keys[i].ID)
		}
		d.take(workspaces, keys, gone)
	}
	return nil
}

// take takes over workspaces and keys of the store, and drops the keys that are gone.
func (d *Directory[S]) take(workspaces []Workspace, keys []Key, gone map[string]bool) {
	keys = d.takeWorkspaces(workspaces, keys)
	put, drop := d.compare(keys)
	for id := range gone {
		if old := d.byID[id]; old != nil {
			drop = append(drop, old)
		}
	}
	d.apply(put, drop, keys)
}

// takeWorkspaces takes over the workspaces of which keys are here or come. It returns
// the keys to look at: those, and the others of the workspaces that changed.
func (d *Directory[S]) takeWorkspaces(workspaces []Workspace, keys []Key) []Key {
	listed := make(map[string]bool, len(keys))
	coming := make(map[int64]bool)
	for i := range keys {
		listed[keys[i].ID] = true
		if keys[i].RevokedAt.IsZero() {
			coming[keys[i].WorkspaceID] = true
		}
	}
	for _, w := range workspaces {
		t := d.tenants[w.ID]
		kept := w
		switch {
		case t == nil && coming[w.ID]:
			d.tenants[w.ID] = &tenant[S]{Workspace: &kept}
		case t == nil || *t.Workspace == w:
		default:
			t.Workspace = &kept
			for _, e := range t.entries {
				if !listed[e.Key.ID] {
					keys = append(keys, e.Key)
				}
			}
		}
	}
	return keys
}

// compare returns the entries to put for keys, and those to drop.
func (d *Directory[S]) compare(keys []Key) (put, drop []*Entry[S]) {
	for _, k := range keys {
		old, t := d.byID[k.ID], d.tenants[k.WorkspaceID]
		switch {
		case t == nil || !k.RevokedAt.IsZero():
			if old != nil {
				drop = append(drop, old)
			}
		case old == nil || !sameKey(old.Key, k) || *old.Workspace != *t.Workspace:
			k = k.Clone()
			put = append(put, &Entry[S]{Key: k, Workspace: t.Workspace, Slot: d.attach(*t.Workspace, k)})
		}
	}
	return put, drop
}

// apply makes the changes show, all at once, and detaches what is gone. What is known
// of the keys is known.
func (d *Directory[S]) apply(put, drop []*Entry[S], known []Key) {
	d.regroup(put, drop)
	d.mu.Lock()
	for i := range known {
		delete(d.unknown, known[i].Hash)
	}
	for _, e := range drop {
		delete(d.byID, e.Key.ID)
		delete(d.byHash, halfHash(e.Key.Hash[:]))
	}
	for _, e := range put {
		if old := d.byID[e.Key.ID]; old != nil {
			delete(d.byHash, halfHash(old.Key.Hash[:]))
		}
		d.byID[e.Key.ID] = e
		d.byHash[halfHash(e.Key.Hash[:])] = e
	}
	d.mu.Unlock()

	for _, e := range drop {
		d.detach(e.Key)
	}
}

// regroup puts entries to their workspaces, and drops others.
func (d *Directory[S]) regroup(put, drop []*Entry[S]) {
	for _, e := range put {
		t := d.tenants[e.Workspace.ID]
		if i := slices.Index(t.entries, d.byID[e.Key.ID]); i >= 0 {
			t.entries[i] = e
		} else {
			t.entries = append(t.entries, e)
		}
	}
	for _, e := range drop {
		t := d.tenants[e.Workspace.ID]
		if i := slices.Index(t.entries, e); i >= 0 {
			t.entries = slices.Delete(t.entries, i, i+1)
		}
		if len(t.entries) == 0 {
			delete(d.tenants, e.Workspace.ID)
		}
	}
}

// sameKey reports whether nothing changed. A store gives the same instant in the same
// form each time.
func sameKey(a, b Key) bool {
	same := a.Ban == b.Ban || a.Ban != nil && b.Ban != nil && *a.Ban == *b.Ban
	a.Ban, b.Ban = nil, nil
	return same && a == b
}
