package access

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.com/petstore/internal/petstore"
)

// The codes of the errors of Verify.
const (
	CodeInvalidKey petstore.Code = "invalid_api_key"
	CodeExpiredKey petstore.Code = "expired_api_key"
	CodeBannedKey  petstore.Code = "api_key_banned"
)

// An Entry is a cached key with its workspace. It is never changed after it was stored
// in the directory, only replaced.
type Entry[S any] struct {
	Key        Key
	Workspace  *Workspace
	Attachment S // whatever the directory's owner attaches to the key

	generation uint64 // of the cache, when the key was read
}

// A Directory caches the keys that are used, by their hashes, so that requests with
// them are authenticated without reading the store. It reads a key at its first use.
// When the store's AccessState has changed, a new generation of the cache begins, in
// which each key is read again at its next use. While the store is unavailable, keys of
// earlier generations are used. All methods may be called concurrently.
type Directory[S any] struct {
	store  Store
	now    func() time.Time
	attach func(w Workspace, k Key, before S) S

	lookupTurn     chan struct{} // holds a token while one caller reads the store, for all that wait
	unknownAskedAt time.Time     // when keys that were never read were last looked up; used by the holder of lookupTurn

	mu          sync.RWMutex
	generation  uint64 // of the cache
	state       int64  // the store's AccessState when the generation began
	unavailable bool   // the last read of the store failed
	byID        map[string]*Entry[S]
	byHash      map[Hash]*Entry[S]
	next        *lookup // the look-up that callers may join; nil if there is none

	renewed uint64 // the last generation in which all keys were read again; used by Renew
}

// A lookup reads the keys that several callers wait for.
type lookup struct {
	ids    []string
	hashes []Hash
	begun  bool
	err    error
}

// NewDirectory returns an empty directory. attach is called for every key that was read,
// before the key can be found, and returns the entry's attachment. before is that of the
// key's entry until now, or the zero value if there is none. The calls are made one at a
// time, and must not call the directory.
func NewDirectory[S any](store Store, now func() time.Time, attach func(w Workspace, k Key, before S) S) *Directory[S] {
	return &Directory[S]{
		store: store, now: now, attach: attach,
		lookupTurn: make(chan struct{}, 1),
		byID:       make(map[string]*Entry[S]),
		byHash:     make(map[Hash]*Entry[S]),
	}
}

// Refresh begins a new generation of the cache if something has changed in the store.
// Changes that were committed before the call are in effect after it.
func (d *Directory[S]) Refresh(ctx context.Context) error {
	state, err := d.store.AccessState(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.unavailable = false
	changed := state != d.state
	if changed {
		d.state = state
		d.generation++
	}
	d.mu.Unlock()
	if changed {
		_ = d.store.SetAppliedState(ctx, state) // after an error, those who wait for it give up
	}
	return nil
}

// renewBatch is how many keys are read again at once, since other look-ups wait
// meanwhile.
const renewBatch = 128

// Renew reads keys again that were not used since something has changed, for so long, and
// removes those that have ended.
func (d *Directory[S]) Renew(within time.Duration) error {
	began := time.Now()
	for ids := range slices.Chunk(d.stale(), renewBatch) {
		if err := d.lookUp(false, func(q *lookup) { q.ids = append(q.ids, ids...) }); err != nil {
			return err
		}
		if time.Since(began) > within {
			break
		}
	}
	return nil
}

// stale returns the ids of the keys that were not read in this generation. Requests go
// on meanwhile.
func (d *Directory[S]) stale() (ids []string) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.renewed == d.generation {
		return nil
	}
	for id, e := range d.byID {
		if e.generation != d.generation {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		d.renewed = d.generation
	}
	return ids
}

// Verify returns the entry of a key. It returns CodeInvalidKey if the key is malformed,
// unknown or revoked, CodeExpiredKey with the entry if it has expired, and
// CodeServiceUnavailable if it was never read and the store is unavailable. It reads
// the store only for a well-formed key that was not read in this generation, once for
// all callers that wait. Keys that were never read are looked up at most every
// unknownInterval, so guesses cost the store no more than that.
//
// A key is found by its hash and never compared itself. The time that this takes
// depends on the SHA-256 of what was sent, which a caller cannot choose close to that
// of a key. So it reveals nothing, and no comparison in constant time is needed.
func (d *Directory[S]) Verify(key string) (*Entry[S], error) {
	if len(key) != keyLen {
		return nil, invalidKey()
	}
	hash := HashOf(key)
	e, fresh := find(d, d.byHash, hash)
	if !fresh && (e != nil || WellFormed(key)) {
		err := d.lookUp(e == nil, func(q *lookup) { q.hashes = append(q.hashes, hash) })
		if err != nil && e == nil {
			return nil, petstore.Unavailable(err)
		}
		e, _ = find(d, d.byHash, hash)
	}
	if e == nil {
		return nil, invalidKey()
	}
	if !e.Key.ExpiresAt.IsZero() && e.Key.Expired(d.now()) {
		return e, expiredKey()
	}
	return e, nil
}

// find returns the entry of a key in one of the maps, or nil. fresh is whether it may be
// used without reading the store.
func find[K comparable, S any](d *Directory[S], in map[K]*Entry[S], key K) (e *Entry[S], fresh bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	e = in[key]
	return e, e != nil && (e.generation == d.generation || d.unavailable)
}

const (
	unknownInterval = 5 * time.Millisecond // the least time between two look-ups of keys that were never read
	lookupTimeout   = time.Second          // of the store
	maxLookup       = 512                  // keys of a look-up, apart from those that the last caller adds
)

// lookUp reads keys from the store. add adds them to a look-up, which several callers
// may share. unknown is whether they were never read.
func (d *Directory[S]) lookUp(unknown bool, add func(*lookup)) error {
	d.mu.Lock()
	if d.next == nil || len(d.next.ids)+len(d.next.hashes) >= maxLookup {
		d.next = new(lookup) // the callers of the former one keep waiting for it
	}
	q := d.next
	add(q)
	d.mu.Unlock()

	d.lookupTurn <- struct{}{}
	defer func() { <-d.lookupTurn }()
	if q.begun { // another caller has carried it out
		return q.err
	}
	if unknown { // others join the look-up meanwhile
		time.Sleep(unknownInterval - time.Since(d.unknownAskedAt))
		d.unknownAskedAt = time.Now()
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	q.begun, q.err = true, d.readKeys(ctx, q)
	return q.err
}

// readKeys reads the keys of a look-up, which nobody can join any more.
func (d *Directory[S]) readKeys(ctx context.Context, q *lookup) error {
	d.mu.Lock()
	if d.next == q {
		d.next = nil
	}
	generation := d.generation // before the store is read: a change meanwhile begins another generation
	d.mu.Unlock()
	keys, workspaces, err := d.store.LiveKeys(ctx, q.ids, q.hashes)
	if err != nil {
		d.mu.Lock()
		d.unavailable = true
		d.mu.Unlock()
		return err
	}
	of := make(map[int64]*Workspace, len(workspaces))
	for i := range workspaces {
		of[workspaces[i].ID] = &workspaces[i]
	}
	var entries []*Entry[S]
	for _, k := range keys {
		if w := of[k.WorkspaceID]; w != nil { // nil if it was deleted between the queries
			entries = append(entries, &Entry[S]{Key: k, Workspace: w, Attachment: d.attach(*w, k, d.attached(k.ID)), generation: generation})
		}
	}
	d.put(q, entries)
	return nil
}

// attached returns the attachment of a key, or the zero value if it has no entry.
func (d *Directory[S]) attached(id string) (s S) {
	if e := d.Held(id); e != nil {
		s = e.Attachment
	}
	return s
}

// put stores the result of a look-up, and removes the keys that have ended.
func (d *Directory[S]) put(q *lookup, entries []*Entry[S]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range q.ids {
		d.removeEntry(d.byID[id])
	}
	for _, hash := range q.hashes {
		d.removeEntry(d.byHash[hash])
	}
	for _, e := range entries {
		d.byID[e.Key.ID], d.byHash[e.Key.Hash] = e, e
	}
}

func (d *Directory[S]) removeEntry(e *Entry[S]) {
	if e != nil {
		delete(d.byID, e.Key.ID)
		delete(d.byHash, e.Key.Hash)
	}
}

// invalidKey returns a new error each time, since callers may change it.
func invalidKey() error {
	return &petstore.Error{Code: CodeInvalidKey, Message: "The API key is not valid."}
}

func expiredKey() error {
	return &petstore.Error{Code: CodeExpiredKey, Message: "The API key has expired."}
}

// Entry returns the entry of the key with the id, which may have expired. It returns
// nil if the key is revoked or does not exist, or if it was never read and the store is
// unavailable.
func (d *Directory[S]) Entry(id string) *Entry[S] {
	e, fresh := find(d, d.byID, id)
	if !fresh {
		_ = d.lookUp(false, func(q *lookup) { q.ids = append(q.ids, id) })
		e, _ = find(d, d.byID, id)
	}
	return e
}

// Len returns how many keys are cached: those that were used since the server started.
func (d *Directory[S]) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.byID)
}

// Held returns the cached entry of the key with the id, even if it should be read
// again, or nil.
func (d *Directory[S]) Held(id string) *Entry[S] {
	e, _ := find(d, d.byID, id)
	return e
}
