package access

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"
)

// memory is the part of a Store that a Directory follows: workspaces and keys
// in maps, and a log of which changed when. The methods that a Directory does
// not use are left to the nil Store.
type memory struct {
	Store
	mu         sync.Mutex
	state      int64
	lost       int64 // changes up to this state are no longer known one by one
	workspaces map[int64]Workspace
	keys       map[string]Key
	changed    map[any]int64 // by workspace or key id: the state in which it last changed
	fault      error
	asked      []int64 // the states that readers had
	looked     int     // how often keys were looked for
}

func newStore() *memory {
	return &memory{lost: 1, state: 1, workspaces: map[int64]Workspace{}, keys: map[string]Key{}, changed: map[any]int64{}}
}

func (m *memory) putWorkspace(w Workspace) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state++
	m.workspaces[w.ID], m.changed[w.ID] = w, m.state
}

func (m *memory) putKey(k Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state++
	m.keys[k.ID], m.changed[k.ID] = k, m.state
}

// deleteWorkspace removes it with its keys; nobody can be told of them one by one.
func (m *memory) deleteWorkspace(id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state++
	m.lost = m.state
	delete(m.workspaces, id)
	maps.DeleteFunc(m.keys, func(_ string, k Key) bool { return k.WorkspaceID == id })
}

// fail lets every later call fail; nil lets them work again.
func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = err
}

// Followed does nothing: nobody waits here.
func (m *memory) Followed(context.Context, int64) error { return nil }

func (m *memory) Changes(_ context.Context, since int64) (Changes, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, since)
	if m.fault != nil {
		return Changes{}, m.fault
	}
	c := Changes{State: m.state, All: since < m.lost}
	for id, w := range m.workspaces {
		if !c.All && m.changed[id] > since {
			c.Workspaces = append(c.Workspaces, w)
		}
	}
	for id, k := range m.keys {
		if c.All && k.RevokedAt.IsZero() && k.Ban != nil || !c.All && m.changed[id] > since {
			c.Keys = append(c.Keys, k.Clone())
			if w, ok := m.workspaces[k.WorkspaceID]; ok {
				c.Workspaces = append(c.Workspaces, w)
			}
		}
	}
	return c, nil
}

func (m *memory) LiveKeys(_ context.Context, ids []string, hashes []Hash) (keys []Key, of []Workspace, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looked++
	for id, k := range m.keys {
		if k.RevokedAt.IsZero() && (slices.Contains(ids, id) || slices.Contains(hashes, k.Hash)) {
			keys = append(keys, k.Clone())
			if w, ok := m.workspaces[k.WorkspaceID]; ok {
				of = append(of, w)
			}
		}
	}
	return keys, of, m.fault
}

// slot is what the tests attach: the owner of a key, which stays the same, with
// what it was last told.
type slot struct {
	keyID    string
	attached int
	quota    Quota
	banned   bool
}

// house is a directory over a memory store, with a clock that stands still.
type house struct {
	*Directory[*slot]
	t        testing.TB
	store    *memory
	mu       sync.Mutex
	time     time.Time
	slots    map[string]*slot
	detached []string
}

// newHouse returns one that follows its store, which is empty.
func newHouse(t testing.TB) *house {
	h := &house{t: t, store: newStore(), time: time.Unix(1_000_000, 0).UTC(), slots: map[string]*slot{}}
	h.restart()
	return h
}

// restart begins with an empty directory.
func (h *house) restart() {
	h.t.Helper()
	h.Directory = NewDirectory(h.store, h.now, h.attach, func(k Key) { h.detached = append(h.detached, k.ID) })
	h.refresh()
}

func (h *house) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.time
}

func (h *house) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.time = h.time.Add(d)
}

func (h *house) attach(w Workspace, k Key) *slot {
	s := h.slots[k.ID]
	if s == nil {
		s = &slot{keyID: k.ID}
		h.slots[k.ID] = s
	}
	s.attached++
	s.quota, s.banned = w.Quota, k.Ban != nil
	return s
}

func (h *house) refresh() {
	h.t.Helper()
	if err := h.Refresh(context.Background()); err != nil {
		h.t.Fatalf("Refresh: %v", err)
	}
}

// mint puts a new key into the store.
func (h *house) mint(workspace int64, edit func(*Key)) (Key, string) {
	key, prefix := Mint()
	k := Key{ID: MintID(), WorkspaceID: workspace, Name: "test", Prefix: prefix, Hash: HashOf(key), Scopes: Read, CreatedAt: h.now()}
	if edit != nil {
		edit(&k)
	}
	h.store.putKey(k)
	return k, key
}

// edit changes a key in the store.
func (h *house) edit(k Key, edit func(*Key)) {
	edit(&k)
	h.store.putKey(k)
}

// wantEntries compares the ids of the entries.
func (h *house) wantEntries(after string, want ...string) {
	h.t.Helper()
	var got []string
	for _, e := range h.Entries() {
		got = append(got, e.Key.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		h.t.Errorf("after %s: Entries = %v, want %v", after, got, want)
	}
}
