package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
)

// A banSync tells the limiter of the keys of the directory and of their bans. The
// directory makes one call at a time, the keeper of bans another.
type banSync struct {
	limiter *ratelimit.Limiter

	mu   sync.Mutex
	bans map[string]access.Ban // by key, as the store had it last
}

func newBanSync(l *ratelimit.Limiter) *banSync {
	return &banSync{limiter: l, bans: make(map[string]access.Ban)}
}

// attach returns the handle of a key. It hands on the store's ban only if that
// changed: a ban of the limiter that is not stored yet must not be lifted by a
// change of something else.
func (s *banSync) attach(w access.Workspace, k access.Key) *ratelimit.Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.limiter.Caller(w.ID, k.ID, ratelimit.Limits(w.Quota))
	before, had := s.bans[k.ID]
	switch {
	case k.Ban == nil && had:
		delete(s.bans, k.ID)
		s.limiter.SetBan(k.ID, nil)
	case k.Ban != nil && (!had || before != *k.Ban):
		s.bans[k.ID] = *k.Ban
		b := ratelimit.Ban(*k.Ban)
		s.limiter.SetBan(k.ID, &b)
	}
	return c
}

// stored notes that the store has a ban of the limiter: it may be lifted before the key
// is read again. What was read before it was stored lifts it here until the key is read
// again, soon: to store it was a change, too.
func (s *banSync) stored(b access.Ban) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bans[b.KeyID] = b
}

func (s *banSync) detach(k access.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.bans, k.ID)
	s.limiter.Drop(k.ID)
}

// A banKeeper stores the bans that the limiter starts, beside the requests.
type banKeeper struct {
	store   access.Store
	sync    *banSync
	log     *slog.Logger
	metrics *metrics
	queue   chan *ratelimit.Ban // pointers: room for many, of which there are hardly ever any
}

// Bans that wait to be stored. One key can start one in two minutes at most.
const waitingBans = 1024

func newBanKeeper(s access.Store, sync *banSync, log *slog.Logger, m *metrics) *banKeeper {
	return &banKeeper{store: s, sync: sync, log: log, metrics: m, queue: make(chan *ratelimit.Ban, waitingBans)}
}

// started takes a ban; it does not block. A ban that finds the queue full holds
// in this process alone.
func (k *banKeeper) started(b ratelimit.Ban) {
	k.metrics.bans.Inc()
	select {
	case k.queue <- &b:
	default:
		k.lost(b, "the queue is full")
	}
}

func (k *banKeeper) lost(b ratelimit.Ban, why any) {
	k.metrics.bansLost.Inc()
	k.log.Error("a ban could not be stored", "key", b.KeyID, "until", b.Until, "err", why)
}

// run stores bans until ctx ends, and then those that still wait.
func (k *banKeeper) run(ctx context.Context) {
	for {
		select {
		case b := <-k.queue:
			k.keep(*b)
		case <-ctx.Done():
			for len(k.queue) > 0 {
				k.keep(*<-k.queue)
			}
			return
		}
	}
}

func (k *banKeeper) keep(b ratelimit.Ban) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := k.store.SetBan(ctx, access.Ban(b), "limiter"); err != nil {
		k.lost(b, err)
		return
	}
	k.sync.stored(access.Ban(b))
	k.log.Warn("a key was banned", "audit", "ban.set", "key", b.KeyID, "until", b.Until, "level", b.Level, "reason", b.Reason)
}
