package access

import (
	"context"
	"crypto/sha256"
	"log/slog"
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
// found, only replaced; nor is its workspace, which all keys of one share.
type Entry[S any] struct {
	Key       Key
	Workspace *Workspace
	Slot      S // whatever the directory's owner attaches to the key
}

// A Directory holds the keys that are used in memory, by their hashes, so that a
// request with one of them is authenticated without touching the store. It reads a
// key at its first use, and follows the store: what another process changes shows
// within the interval of Run. All methods may be called concurrently.
type Directory[S any] struct {
	store  Store
	now    func() time.Time
	attach func(Workspace, Key) S
	detach func(Key)

	reading chan struct{} // holds a value while the store is read, which alone changes what stands below
	state   int64
	tenants map[int64]*tenant[S] // that have keys here

	asking chan struct{} // holds a value while one caller asks, for all that wait
	last   time.Time     // when the last one did; of the one that asks

	mu      sync.RWMutex // keeps readers out of the maps while they change
	byID    map[string]*Entry[S]
	byHash  map[halfHash]*Entry[S]
	unknown map[Hash]bool // keys that the store was asked for in vain
	next    *question     // that is asked next; nil if nobody waits
}

// A halfHash is the first half of a hash: enough to find a key by, and less to hold.
type halfHash [sha256.Size / 2]byte

// A question is for the keys that callers wait for together.
type question struct {
	ids    []string
	hashes []Hash
	asked  bool
	err    error
}

// NewDirectory returns an empty directory. Refresh has it follow the store, and take
// over the keys whose bans run. attach is called for every key that appears or whose
// key or workspace changed, before that shows, and makes the entry's slot; detach for
// every key that is gone, once it is no longer found. One of them is called at a
// time; neither may call the directory.
func NewDirectory[S any](store Store, now func() time.Time, attach func(Workspace, Key) S, detach func(Key)) *Directory[S] {
	return &Directory[S]{
		store: store, now: now, attach: attach, detach: detach,
		reading: make(chan struct{}, 1), asking: make(chan struct{}, 1),
		tenants: make(map[int64]*tenant[S]),
		byID:    make(map[string]*Entry[S]),
		byHash:  make(map[halfHash]*Entry[S]),
		unknown: make(map[Hash]bool),
	}
}

// remind is how often a failure that lasts is logged again.
const remind = time.Minute

// Run refreshes every interval until ctx ends. What is known stays while the
// store is away; that it is away is logged when it begins, each minute while it
// lasts, and when it is over.
func (d *Directory[S]) Run(ctx context.Context, every time.Duration, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var away outage
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := d.Refresh(ctx); ctx.Err() == nil {
				away.note(err, log)
			}
		}
	}
}

// An outage is what is known of a store that may be away.
type outage struct {
	failed       int // refreshes in a row
	began, noted time.Time
}

func (o *outage) note(err error, log *slog.Logger) {
	switch {
	case err == nil && o.failed > 0:
		log.Info("keys are refreshed again", "failed", o.failed, "after", time.Since(o.began).Round(time.Millisecond))
		*o = outage{}
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
// is over, and CodeServiceUnavailable for one that cannot be looked for. Only for a
// well-formed key that it meets for the first time does it ask the store, once for
// all callers that wait, and every askPause at most: guesses cost the store no more
// than that.
//
// A key is found by its hash and never compared itself. The time that takes
// depends on the SHA-256 of what was sent, which a caller cannot steer towards
// that of a key: it tells nothing, and needs no comparison in constant time.
func (d *Directory[S]) Verify(key string) (*Entry[S], error) {
	if len(key) != keyLen {
		return nil, invalidKey()
	}
	hash := HashOf(key)
	e, refused := d.find(hash)
	if e == nil && !refused && WellFormed(key) {
		if err := d.ask(func(q *question) { q.hashes = append(q.hashes, hash) }); err != nil {
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

// find returns the entry of a key, or nil, and whether the store was asked for it
// in vain.
func (d *Directory[S]) find(hash Hash) (e *Entry[S], refused bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if e = d.byHash[halfHash(hash[:])]; e != nil {
		return e, false
	}
	return nil, d.unknown[hash]
}

// For keys that are not here the store is asked so often at most, and waited for so
// long; so many unknown ones are remembered.
const (
	askPause    = 5 * time.Millisecond
	askTimeout  = time.Second
	mostUnknown = 4096
)

// ask takes over what add adds to a question, if the store has it.
func (d *Directory[S]) ask(add func(*question)) error {
	d.mu.Lock()
	if d.next == nil {
		d.next = new(question)
	}
	q := d.next
	add(q)
	d.mu.Unlock()

	d.asking <- struct{}{}
	defer func() { <-d.asking }()
	if q.asked { // by one that waited less
		return q.err
	}
	time.Sleep(askPause - time.Since(d.last))
	d.last = time.Now()
	d.mu.Lock()
	d.next = nil
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	q.asked, q.err = true, d.answer(ctx, q)
	return q.err
}

// answer takes over the keys of a question. A hash that no key has is not asked for
// again: if one comes all the same, by a restored backup, Refresh finds it.
func (d *Directory[S]) answer(ctx context.Context, q *question) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	defer d.end()
	keys, workspaces, err := d.store.LiveKeys(ctx, q.ids, q.hashes)
	if err != nil {
		return err
	}
	d.take(workspaces, keys, nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.unknown)+len(q.hashes) > mostUnknown {
		clear(d.unknown)
	}
	for _, hash := range q.hashes {
		if d.byHash[halfHash(hash[:])] == nil {
			d.unknown[hash] = true
		}
	}
	return nil
}

// invalidKey returns a new error, because its caller may add to it.
func invalidKey() error {
	return &petstore.Error{Code: CodeInvalidKey, Message: "The API key is not valid."}
}

func expiredKey() error {
	return &petstore.Error{Code: CodeExpiredKey, Message: "The API key has expired."}
}

// Entry returns the entry of the key with that id, which may have expired, or
// nil if there is none that is live, or the store cannot be asked for it.
func (d *Directory[S]) Entry(id string) *Entry[S] {
	e := d.entry(id)
	if e == nil && d.ask(func(q *question) { q.ids = append(q.ids, id) }) == nil {
		e = d.entry(id)
	}
	return e
}

func (d *Directory[S]) entry(id string) *Entry[S] {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.byID[id]
}

// Entries returns the entries that are here, in no order: of the keys that were used
// or changed since the directory began to follow the store, and of those whose bans
// run.
func (d *Directory[S]) Entries() []*Entry[S] {
	d.mu.RLock()
	defer d.mu.RUnlock()
	entries := make([]*Entry[S], 0, len(d.byID))
	for _, e := range d.byID {
		entries = append(entries, e)
	}
	return entries
}
