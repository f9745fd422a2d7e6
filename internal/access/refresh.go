package access

import (
	"context"
	"maps"
	"slices"
	"time"
)

// tenant is a workspace with the ids of its live keys.
type tenant struct {
	Workspace
	keys map[string]bool
}

// Refresh takes over what changed in the store since the last time. On an error,
// that of ctx included, nothing changes.
//
// What it costs grows with what changed, and with everything only when the
// store says [Changes].All; requests wait no longer than the maps take to change.
func (d *Directory[S]) Refresh(ctx context.Context) error {
	select {
	case d.refreshing <- struct{}{}:
		defer func() { <-d.refreshing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	changes, err := d.store.Changes(ctx, d.state)
	if err != nil || changes.State == d.state && !changes.All {
		return err
	}
	keys := d.putWorkspaces(changes)
	put, drop := d.compare(keys)
	if changes.All {
		drop = append(drop, d.others(changes.Keys)...)
	}
	d.apply(put, drop)
	d.state = changes.State
	_ = d.store.Followed(ctx, d.state) // else who waits for it gives up
	return nil
}

// putWorkspaces takes over the workspaces. It returns the keys to look at: those
// that changed, and the others of the workspaces that did.
func (d *Directory[S]) putWorkspaces(c Changes) []Key {
	keys, listed := slices.Clip(c.Keys), idsOf(c.Keys)
	stay := make(map[int64]bool, len(c.Workspaces))
	for _, w := range c.Workspaces {
		stay[w.ID] = true
		t := d.tenants[w.ID]
		if t == nil {
			d.tenants[w.ID] = &tenant{Workspace: w, keys: make(map[string]bool)}
			continue
		}
		if sameWorkspace(t.Workspace, w) {
			continue
		}
		t.Workspace = w
		for id := range t.keys {
			if e := d.byID[id]; e != nil && !listed[id] {
				keys = append(keys, e.Key)
			}
		}
	}
	if c.All {
		maps.DeleteFunc(d.tenants, func(id int64, _ *tenant) bool { return !stay[id] })
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
		case old == nil || !sameKey(old.Key, k) || !sameWorkspace(old.Workspace, t.Workspace):
			k = k.Clone()
			put = append(put, &Entry[S]{Key: k, Workspace: t.Workspace, Slot: d.attach(t.Workspace, k)})
		}
	}
	return put, drop
}

// others returns the entries of the keys that are not among all.
func (d *Directory[S]) others(all []Key) (gone []*Entry[S]) {
	listed := idsOf(all)
	for id, e := range d.byID {
		if !listed[id] {
			gone = append(gone, e)
		}
	}
	return gone
}

// apply makes the changes show, all at once, and detaches what is gone.
func (d *Directory[S]) apply(put, drop []*Entry[S]) {
	d.mu.Lock()
	for _, e := range drop {
		delete(d.byID, e.Key.ID)
		delete(d.byHash, e.Key.Hash)
	}
	for _, e := range put {
		if old := d.byID[e.Key.ID]; old != nil {
			delete(d.byHash, old.Key.Hash)
		}
		d.byID[e.Key.ID] = e
		d.byHash[e.Key.Hash] = e
	}
	d.mu.Unlock()

	for _, e := range put {
		d.tenants[e.Workspace.ID].keys[e.Key.ID] = true
	}
	for _, e := range drop {
		if t := d.tenants[e.Workspace.ID]; t != nil {
			delete(t.keys, e.Key.ID)
		}
		d.detach(e.Key)
	}
}

func idsOf(keys []Key) map[string]bool {
	ids := make(map[string]bool, len(keys))
	for _, k := range keys {
		ids[k.ID] = true
	}
	return ids
}

// sameWorkspace and sameKey report whether nothing changed, whatever the
// locations and the pointers in which a store says so.
func sameWorkspace(a, b Workspace) bool {
	equal := a.CreatedAt.Equal(b.CreatedAt)
	a.CreatedAt, b.CreatedAt = time.Time{}, time.Time{}
	return equal && a == b
}

func sameKey(a, b Key) bool {
	equal := a.CreatedAt.Equal(b.CreatedAt) && a.ExpiresAt.Equal(b.ExpiresAt) && a.RevokedAt.Equal(b.RevokedAt) && sameBan(a.Ban, b.Ban)
	for _, k := range []*Key{&a, &b} {
		k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.Ban = time.Time{}, time.Time{}, time.Time{}, nil
	}
	return equal && a == b
}

func sameBan(a, b *Ban) bool {
	if a == nil || b == nil {
		return a == b
	}
	equal := a.From.Equal(b.From) && a.Until.Equal(b.Until)
	x, y := *a, *b
	x.From, x.Until, y.From, y.Until = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return equal && x == y
}
