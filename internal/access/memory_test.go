package access

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/petstore"
)

// memory is the part of a Store that a Directory reads. The methods that a Directory
// does not use are left to the nil Store.
type memory struct {
	Store
	mu         sync.Mutex
	state      int64
	workspaces map[int64]Workspace
	keys       map[string]Key
	hashes     map[Hash]string
	fault      error
	looked     int           // how often keys were looked for
	most       int           // keys that were looked for at once
	hang       chan struct{} // LiveKeys waits for it when it has read, unless it is nil
	followed   int64
}

func newStore() *memory {
	return &memory{state: 1, workspaces: map[int64]Workspace{}, keys: map[string]Key{}, hashes: map[Hash]string{}}
}

func (m *memory) putWorkspace(w Workspace) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state++
	m.workspaces[w.ID] = w
}

// putKey adds a key, or changes one.
func (m *memory) putKey(k Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.keys[k.ID]; there {
		m.state++
	}
	m.keys[k.ID], m.hashes[k.Hash] = k, k.ID
}

// deleteWorkspace removes it with its keys.
func (m *memory) deleteWorkspace(id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state++
	delete(m.workspaces, id)
	maps.DeleteFunc(m.keys, func(_ string, k Key) bool { return k.WorkspaceID == id })
}

// fail lets every later call fail; nil lets them work again.
func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = err
}

func (m *memory) SetAppliedState(_ context.Context, state int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.followed = state
	return nil
}

func (m *memory) AccessState(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state, m.fault
}

func (m *memory) LiveKeys(ctx context.Context, ids []string, hashes []Hash) ([]Key, []Workspace, error) {
	keys, of, err := m.look(ids, hashes)
	if m.hang != nil {
		select {
		case <-m.hang:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	return keys, of, err
}

func (m *memory) look(ids []string, hashes []Hash) (keys []Key, of []Workspace, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looked++
	m.most = max(m.most, len(ids)+len(hashes))
	found := map[string]Key{}
	for _, id := range ids {
		found[id] = m.keys[id]
	}
	for _, hash := range hashes {
		id := m.hashes[hash]
		found[id] = m.keys[id]
	}
	for _, k := range found {
		if k.ID != "" && k.RevokedAt.IsZero() {
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
	key    string
	quota  Quota
	banned bool
}

// house is a directory over a memory store, with a clock that stands still.
type house struct {
	*Directory[*slot]
	t     testing.TB
	store *memory
	mu    sync.Mutex
	time  time.Time
}

// newHouse returns one that follows its store, which has the workspaces.
func newHouse(t testing.TB, workspaces ...Workspace) *house {
	h := &house{t: t, store: newStore(), time: time.Unix(1_000_000, 0).UTC()}
	for _, w := range workspaces {
		h.store.putWorkspace(w)
	}
	h.Directory = NewDirectory(h.store, h.now, attach)
	h.refresh()
	return h
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

func attach(w Workspace, k Key, before *slot) *slot {
	s := before
	if s == nil {
		s = &slot{key: k.ID}
	}
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

// wantVerify compares the outcome for a key; "" wants its live entry.
func (h *house) wantVerify(what, key string, want petstore.Code) *Entry[*slot] {
	h.t.Helper()
	e, err := h.Verify(key)
	if got := petstore.CodeOf(err); got != want || (err == nil) != (want == "") {
		h.t.Errorf("%s: Verify = %v, want code %q", what, err, want)
	}
	if (e != nil) != (want == "" || want == CodeExpiredKey) {
		h.t.Errorf("%s: Verify = %+v with the code %q", what, e, want)
	}
	return e
}
