package access

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/petstore/internal/petstore"
)

// The codes with which Verify refuses.
const (
	CodeInvalidKey petstore.Code = "invalid_api_key"
	CodeExpiredKey petstore.Code = "expired_api_key"
	CodeBannedKey  petstore.Code = "api_key_banned"
)

// An Entry is what a server holds of a live key. It is never changed once it is
// found, only replaced.
type Entry[S any] struct {
	Key        Key
	Workspace  *Workspace
	Attachment S // whatever the directory's owner attaches to the key

	round uint64 // of the cache, in which the store was read
}

// A Directory caches the keys that are used, by their hashes, so that a request with
// one of them is authenticated without touching the store. It reads a key at its first
// use. When the number of the store says that something changed, the cache begins
// anew: each key is read again at its next use. What was read before is used while
// the store is away. All methods may be called concurrently.
type Directory[S any] struct {
	store  Store
	now    func() time.Time
	attach func(Workspace, Key) S
	detach func(Key)

	lookupTurn     chan struct{} // holds a value while one caller asks the store, for all that wait
	unknownAskedAt time.Time     // when the store was last asked for keys that are not here; of the one whose turn it is

	mu      sync.RWMutex
	round   uint64 // grows when the cache begins anew
	state   int64  // the store's number then
	away    bool   // the store could not be read, and has not been since
	byID    map[string]*Entry[S]
	byHash  map[halfHash]*Entry[S]
	unknown map[Hash]bool // keys that the store was asked for in vain
	next    *lookup       // that is asked next; nil if nobody waits

	stale      []string // keys to read again
	staleRound uint64   // in which they were listed; both of Run
}

// A halfHash is the first half of a hash: enough to find a key by, and less to hold.
type halfHash [sha256.Size / 2]byte

// A lookup is for the keys that callers wait for together.
type lookup struct {
	ids        []string
	hashes     []Hash
	hasUnknown bool // some were never here
	begun      bool
	err        error
}

// NewDirectory returns an empty directory. Refresh has it follow the store. attach is
// called for every key that was read from the store, before that shows, and makes the
// entry's attachment; detach for every key that is gone, once it is no longer found. One of
// them is called at a time; neither may call the directory.
func NewDirectory[S any](store Store, now func() time.Time, attach func(Workspace, Key) S, detach func(Key)) *Directory[S] {
	return &Directory[S]{
		store: store, now: now, attach: attach, detach: detach,
		lookupTurn: make(chan struct{}, 1),
		byID:       make(map[string]*Entry[S]),
		byHash:     make(map[halfHash]*Entry[S]),
		unknown:    make(map[Hash]bool),
	}
}

// Refresh begins the cache anew if something changed in the store: what was committed
// before the call is in force after it.
func (d *Directory[S]) Refresh(ctx context.Context) error {
	state, err := d.store.AccessState(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.away = false
	changed := state != d.state
	if changed {
		d.state = state
		d.round++
		clear(d.unknown)
	}
	d.mu.Unlock()
	if changed {
		_ = d.store.Followed(ctx, state) // else who waits for it gives up
	}
	return nil
}

// remind is how often a failure that lasts is logged again.
const remind = time.Minute

// Run refreshes every interval until ctx ends, and has keys leave memory that are
// gone. That the store is away is logged when it begins, each minute while it lasts,
// and when it is over.
func (d *Directory[S]) Run(ctx context.Context, every time.Duration, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var away refreshFailures
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err := d.Refresh(ctx)
			for begun := time.Now(); err == nil && time.Since(begun) < every/2; {
				var more bool
				if more, err = d.renew(); !more {
					break
				}
			}
			if ctx.Err() == nil {
				away.note(err, log)
			}
		}
	}
}

// lookAtOnce is how many keys are renewed at once: others wait meanwhile.
const lookAtOnce = 128

// renew reads some of the keys again that were not used since the cache began anew, and
// reports whether there are more.
func (d *Directory[S]) renew() (more bool, err error) {
	d.mu.RLock()
	if len(d.stale) == 0 && d.staleRound != d.round {
		d.stale, d.staleRound = slices.Collect(maps.Keys(d.byID)), d.round
	}
	n := min(len(d.stale), lookAtOnce)
	ids := slices.DeleteFunc(slices.Clone(d.stale[:n]), func(id string) bool {
		e := d.byID[id]
		return e == nil || e.round == d.round
	})
	d.mu.RUnlock()
	if len(ids) > 0 {
		if err := d.lookUp(false, func(q *lookup) { q.ids = append(q.ids, ids...) }); err != nil {
			return false, err
		}
	}
	d.stale = d.stale[n:]
	return len(d.stale) > 0, nil
}

// refreshFailures are those of a store that may be away, for the log.
type refreshFailures struct {
	failed       int // refreshes in a row
	began, noted time.Time
}

func (o *refreshFailures) note(err error, log *slog.Logger) {
	switch {
	case err == nil && o.failed > 0:
		log.Info("keys are refreshed again", "failed", o.failed, "after", time.Since(o.began).Round(time.Millisecond))
		*o = refreshFailures{}
	case err != nil:
		if o.failed == 0 {
			o.began = time.Now()
		}
		o.failed++
		if time.Since(o.noted) >= remind {
			o.noted = time.Now()
			log.Error("keys could not be refreshed", "err", err, "failed", o.failed)
		}
	}
}

// Verify returns the entry of a key. It returns CodeInvalidKey for one that is
// malformed, unknown or revoked, CodeExpiredKey, with the entry, for one whose time
// is over, and CodeServiceUnavailable for one that was never read and cannot be. Only
// for a well-formed key that was not read since the cache began anew does it ask the
// store, once for all callers that wait; and for keys that were never read every
// unknownInterval at most: guesses cost the store no more than that.
//
// A key is found by its hash and never compared itself. The time that takes
// depends on the SHA-256 of what was sent, which a caller cannot steer towards
// that of a key: it tells nothing, and needs no comparison in constant time.
func (d *Directory[S]) Verify(key string) (*Entry[S], error) {
	if len(key) != keyLen {
		return nil, invalidKey()
	}
	hash := HashOf(key)
	e, known := d.find(hash)
	if !known && (e != nil || WellFormed(key)) {
		err := d.lookUp(e == nil, func(q *lookup) { q.hashes = append(q.hashes, hash) })
		if err != nil && e == nil {
			return nil, petstore.Unavailable(err)
		}
		e, _ = d.find(hash)
	}
	if e == nil {
		return nil, invalidKey()
	}
	if !e.Key.ExpiresAt.IsZero() && e.Key.Expired(d.now()) {
		return e, expiredKey()
	}
	return e, nil
}

// find returns the entry of a key, or nil, and whether the store need not be asked.
func (d *Directory[S]) find(hash Hash) (e *Entry[S], known bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if e = d.byHash[halfHash(hash[:])]; e != nil {
		return e, d.fresh(e)
	}
	return nil, d.unknown[hash]
}

// fresh reports whether an entry may be used without asking the store. mu is held.
func (d *Directory[S]) fresh(e *Entry[S]) bool { return e != nil && (e.round == d.round || d.away) }

// For keys that were never read the store is asked so often at most; it is waited for
// so long; a look-up is for so many keys, but for what one caller adds; and so many
// unknown keys are remembered.
const (
	unknownInterval = 5 * time.Millisecond
	lookupTimeout   = time.Second
	maxLookup       = 512
	maxUnknown      = 4096
)

// lookUp reads what add adds to a look-up from the store.
func (d *Directory[S]) lookUp(hasUnknown bool, add func(*lookup)) error {
	d.mu.Lock()
	if d.next == nil || len(d.next.ids)+len(d.next.hashes) >= maxLookup {
		d.next = new(lookup) // those who wait with another ask it
	}
	q := d.next
	q.hasUnknown = q.hasUnknown || hasUnknown
	add(q)
	d.mu.Unlock()

	d.lookupTurn <- struct{}{}
	defer func() { <-d.lookupTurn }()
	if q.begun { // by one that waited less
		return q.err
	}
	for pause := d.begin(q); pause > 0; pause = d.begin(q) {
		time.Sleep(pause)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	q.begun, q.err = true, d.readKeys(ctx, q)
	return q.err
}

// begin returns how long to wait before a look-up begins. If that is not at all, nobody
// adds to it any more.
func (d *Directory[S]) begin(q *lookup) (pause time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if q.hasUnknown {
		if pause = unknownInterval - time.Since(d.unknownAskedAt); pause > 0 {
			return pause
		}
		d.unknownAskedAt = time.Now()
	}
	if d.next == q {
		d.next = nil
	}
	return 0
}

// readKeys reads the keys of a look-up. A hash that no key has is not asked for again
// in this round.
func (d *Directory[S]) readKeys(ctx context.Context, q *lookup) error {
	d.mu.RLock()
	round := d.round // before the store is read: what changes meanwhile begins another
	d.mu.RUnlock()
	keys, workspaces, err := d.store.LiveKeys(ctx, q.ids, q.hashes)
	if err != nil {
		d.mu.Lock()
		d.away = true
		d.mu.Unlock()
		return err
	}
	of := make(map[int64]*Workspace, len(workspaces))
	for i := range workspaces {
		of[workspaces[i].ID] = &workspaces[i]
	}
	var entries []*Entry[S]
	for _, k := range keys {
		if w := of[k.WorkspaceID]; w != nil { // else it was deleted between the queries
			entries = append(entries, &Entry[S]{Key: k, Workspace: w, Attachment: d.attach(*w, k), round: round})
		}
	}
	for _, e := range d.put(q, entries, round) {
		d.detach(e.Key)
	}
	return nil
}

// put makes the result of a look-up show, all at once, and returns the entries of keys
// that are gone, by their ids.
func (d *Directory[S]) put(q *lookup, entries []*Entry[S], round uint64) (gone map[string]*Entry[S]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	gone = make(map[string]*Entry[S])
	for _, id := range q.ids {
		d.removeEntry(d.byID[id], gone)
	}
	for _, hash := range q.hashes {
		d.removeEntry(d.byHash[halfHash(hash[:])], gone)
	}
	for _, e := range entries {
		d.byID[e.Key.ID], d.byHash[halfHash(e.Key.Hash[:])] = e, e
		delete(gone, e.Key.ID)
	}
	if len(d.unknown)+len(q.hashes) > maxUnknown {
		clear(d.unknown)
	}
	for _, hash := range q.hashes {
		if d.byHash[halfHash(hash[:])] == nil && d.round == round {
			d.unknown[hash] = true
		}
	}
	return gone
}

// removeEntry moves an entry out of the maps, if there is one.
func (d *Directory[S]) removeEntry(e *Entry[S], into map[string]*Entry[S]) {
	if e != nil {
		delete(d.byID, e.Key.ID)
		delete(d.byHash, halfHash(e.Key.Hash[:]))
		into[e.Key.ID] = e
	}
}

// invalidKey returns a new error, because its caller may add to it.
func invalidKey() error {
	return &petstore.Error{Code: CodeInvalidKey, Message: "The API key is not valid."}
}

func expiredKey() error {
	return &petstore.Error{Code: CodeExpiredKey, Message: "The API key has expired."}
}

// Entry returns the entry of the key with that id, which may have expired, or
// nil if there is none that is live, or it was never read and cannot be.
func (d *Directory[S]) Entry(id string) *Entry[S] {
	e, known := d.entry(id)
	if !known {
		_ = d.lookUp(false, func(q *lookup) { q.ids = append(q.ids, id) })
		e, _ = d.entry(id)
	}
	return e
}

func (d *Directory[S]) entry(id string) (e *Entry[S], known bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	e = d.byID[id]
	return e, d.fresh(e)
}

// Len returns how many keys are here: those that were used since the server began.
func (d *Directory[S]) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.byID)
}

// Held returns what is here of the key with that id, read again or not, or nil.
func (d *Directory[S]) Held(id string) *Entry[S] {
	e, _ := d.entry(id)
	return e
}
