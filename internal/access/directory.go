package access

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
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
	Key       Key
	Workspace Workspace
	Slot      S // whatever the directory's owner attaches to the key
}

// A Directory holds every live key in memory, by its hash, so that a request
// with a known key is authenticated without touching the store. It follows the
// store: what another process changes shows within the interval of Run, and a
// key that another process made with its first use. All methods may be called
// concurrently.
type Directory[S any] struct {
	store  Store
	now    func() time.Time
	attach func(Workspace, Key) S
	detach func(Key)

	refreshing chan struct{} // holds a value during a refresh, which alone changes what stands below
	state      int64
	tenants    map[int64]*tenant

	asking chan struct{} // holds a value while one caller asks for an unknown key
	asked  atomic.Int64  // how many did
	last   time.Time     // when the last one did; of the one that asks

	mu      sync.RWMutex // keeps readers out of the maps while they change
	byID    map[string]*Entry[S]
	byHash  map[Hash]*Entry[S]
	unknown map[Hash]bool // keys that the store was asked for in vain
}

// NewDirectory returns an empty directory; Refresh fills it. attach is called
// for every key that appears or whose key or workspace changed, before that
// shows, and makes the entry's slot; detach for every key that is gone, once it
// is no longer found. One of them is called at a time; neither may call Refresh.
func NewDirectory[S any](store Store, now func() time.Time, attach func(Workspace, Key) S, detach func(Key)) *Directory[S] {
	return &Directory[S]{
		store: store, now: now, attach: attach, detach: detach,
		refreshing: make(chan struct{}, 1), asking: make(chan struct{}, 1),
		tenants: make(map[int64]*tenant),
		byID:    make(map[string]*Entry[S]),
		byHash:  make(map[Hash]*Entry[S]),
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
// malformed, unknown or revoked, and CodeExpiredKey, with the entry, for one
// whose time is over. Only for a well-formed key that it meets for the first time
// does it ask the store, once for all callers that wait, and every askPause at
// most: guesses cost the store no more than that.
//
// A key is found by its hash and never compared itself. The time that takes
// depends on the SHA-256 of what was sent, which a caller cannot steer towards
// that of a key: it tells nothing, and needs no comparison in constant time.
func (d *Directory[S]) Verify(key string) (*Entry[S], error) {
	if !WellFormed(key) {
		return nil, invalidKey()
	}
	hash := HashOf(key)
	e, refused := d.find(hash)
	if e == nil && !refused {
		e = d.ask(hash)
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
	if e = d.byHash[hash]; e != nil {
		return e, false
	}
	return nil, d.unknown[hash]
}

// For unknown keys the store is asked so often at most, and waited for so long;
// so many are remembered.
const (
	askPause    = 5 * time.Millisecond
	askTimeout  = time.Second
	mostUnknown = 4096
)

// ask returns the entry of a key after what the store has now was taken over, or
// nil. That key is not asked for again: if it comes to the store all the same, by a
// restored backup, Run finds it.
func (d *Directory[S]) ask(hash Hash) *Entry[S] {
	d.refreshAfter()
	e, _ := d.find(hash)
	if e == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.unknown) >= mostUnknown {
			clear(d.unknown)
		}
		d.unknown[hash] = true
	}
	return e
}

// refreshAfter returns after a refresh that began after the call, by whomever. A
// failure leaves what was known; Run tells of it.
func (d *Directory[S]) refreshAfter() {
	before := d.asked.Load()
	d.asking <- struct{}{}
	defer func() { <-d.asking }()
	if d.asked.Load() > before { // by one that waited less
		return
	}
	time.Sleep(askPause - time.Since(d.last))
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	d.last = time.Now()
	d.asked.Add(1)
	_ = d.Refresh(ctx)
}

// invalidKey returns a new error, because its caller may add to it.
func invalidKey() error {
	return &petstore.Error{Code: CodeInvalidKey, Message: "The API key is not valid."}
}

func expiredKey() error {
	return &petstore.Error{Code: CodeExpiredKey, Message: "The API key has expired."}
}

// Entry returns the entry of the key with that id, which may have expired, or
// nil if there is none that is live.
func (d *Directory[S]) Entry(id string) *Entry[S] {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.byID[id]
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
