package access

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.com/petstore/internal/petstore"
)

// The codes with which Verify refuses.
const (
	CodeInvalidKey petstore.Code = "invalid_api_key"
	CodeExpiredKey petstore.Code = "expired_api_key"
)

// An Entry is what a server holds of a live key. It is never changed once it is
// found, only replaced.
type Entry[S any] struct {
	Key       Key
	Workspace Workspace
	Slot      S // whatever the directory's owner attaches to the key
}

// A Directory holds every live key in memory, by its hash, so that a request
// is authenticated without touching the store, and a guess costs nothing more.
// It follows the store: what another process changes shows within the interval
// of Run. All methods may be called concurrently.
type Directory[S any] struct {
	store  Store
	now    func() time.Time
	attach func(Workspace, Key) S
	detach func(Key)

	refreshing sync.Mutex // one refresh at a time
	mu         sync.RWMutex
	state      int64
	workspaces map[int64]Workspace
	byID       map[string]*Entry[S]
	byHash     map[Hash]*Entry[S]
}

// NewDirectory returns an empty directory; Refresh fills it. attach is called
// for every key that appears or whose key or workspace changed, and makes the
// entry's slot; detach for every key that is gone.
func NewDirectory[S any](store Store, now func() time.Time, attach func(Workspace, Key) S, detach func(Key)) *Directory[S] {
	return &Directory[S]{
		store: store, now: now, attach: attach, detach: detach,
		workspaces: make(map[int64]Workspace),
		byID:       make(map[string]*Entry[S]),
		byHash:     make(map[Hash]*Entry[S]),
	}
}

// Run refreshes every interval until ctx ends. A failure is logged, and what is
// known stays.
func (d *Directory[S]) Run(ctx context.Context, every time.Duration, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := d.Refresh(ctx); err != nil && ctx.Err() == nil {
				log.Error("keys could not be refreshed", "err", err)
			}
		}
	}
}

// Refresh takes over what changed in the store since the last time.
func (d *Directory[S]) Refresh(ctx context.Context) error {
	d.refreshing.Lock()
	defer d.refreshing.Unlock()
	changes, err := d.store.Changes(ctx, d.state)
	if err != nil || changes.State == d.state && !changes.All {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if changes.All {
		d.dropOthers(changes)
	}
	for _, w := range changes.Workspaces {
		d.putWorkspace(w)
	}
	for _, k := range changes.Keys {
		d.putKey(k)
	}
	d.state = changes.State
	return nil
}

// dropOthers removes what is no longer there.
func (d *Directory[S]) dropOthers(all Changes) {
	live := make(map[string]bool, len(all.Keys))
	for _, k := range all.Keys {
		live[k.ID] = true
	}
	for id, e := range d.byID {
		if !live[id] {
			d.drop(e)
		}
	}
	clear(d.workspaces)
}

func (d *Directory[S]) putWorkspace(w Workspace) {
	if d.workspaces[w.ID] == w {
		return
	}
	d.workspaces[w.ID] = w
	for _, e := range d.byID {
		if e.Workspace.ID == w.ID {
			d.put(w, e.Key)
		}
	}
}

func (d *Directory[S]) putKey(k Key) {
	w, ok := d.workspaces[k.WorkspaceID]
	if old := d.byID[k.ID]; !ok || !k.RevokedAt.IsZero() {
		if old != nil {
			d.drop(old)
		}
		return
	}
	d.put(w, k)
}

func (d *Directory[S]) put(w Workspace, k Key) {
	e := &Entry[S]{Key: k, Workspace: w, Slot: d.attach(w, k)}
	d.byID[k.ID] = e
	d.byHash[k.Hash] = e
}

func (d *Directory[S]) drop(e *Entry[S]) {
	delete(d.byID, e.Key.ID)
	delete(d.byHash, e.Key.Hash)
	d.detach(e.Key)
}

// Verify returns the entry of a key. It returns CodeInvalidKey for one that is
// malformed, unknown or revoked, and CodeExpiredKey, with the entry, for one
// whose time is over. It touches no store.
func (d *Directory[S]) Verify(key string) (*Entry[S], error) {
	if !WellFormed(key) {
		return nil, invalidKey
	}
	hash := HashOf(key)
	d.mu.RLock()
	e := d.byHash[hash]
	d.mu.RUnlock()
	if e == nil {
		return nil, invalidKey
	}
	if !e.Key.ExpiresAt.IsZero() && e.Key.Expired(d.now()) {
		return e, expiredKey
	}
	return e, nil
}

// Entries returns the live entries, in no order.
func (d *Directory[S]) Entries() []*Entry[S] {
	d.mu.RLock()
	defer d.mu.RUnlock()
	entries := make([]*Entry[S], 0, len(d.byID))
	for _, e := range d.byID {
		entries = append(entries, e)
	}
	return entries
}

var (
	invalidKey = petstore.Errorf(CodeInvalidKey, "The API key is not valid.")
	expiredKey = petstore.Errorf(CodeExpiredKey, "The API key has expired.")
)
