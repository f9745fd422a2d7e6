package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
)

// A banSync passes the keys of the directory and their bans to the limiter. The
// directory calls attach and detach, and the banKeeper calls stored.
type banSync struct {
	limiter *ratelimit.Limiter

	mu   sync.Mutex
	bans map[string]access.Ban // by key, as the store had it last
}

func newBanSync(l *ratelimit.Limiter) *banSync {
	return &banSync{limiter: l, bans: make(map[string]access.Ban)}
}

// attach returns the limiter's handle of a key. It passes the store's ban on only if
// that changed, so that another change of the key does not lift a ban of the limiter
// that is not stored yet.
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

// stored notes that a ban of the limiter was stored, so that attach notices if it is
// lifted. If the key was read before the ban was stored but is attached after, attach
// lifts the ban until the key is read again. That is soon, since storing the ban
// changed AccessState.
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

// A banKeeper stores the bans that the limiter starts, in the background.
type banKeeper struct {
	store   access.Store
	bans    *banSync
	log     *slog.Logger
	metrics *metrics
	storing sync.WaitGroup
}

// started stores a ban; it does not block.
func (k *banKeeper) started(b ratelimit.Ban) {
	k.metrics.bans.Inc()
	k.storing.Go(func() { k.keep(b) })
}

// keep stores a ban. If that fails, the ban is only in effect in this process.
func (k *banKeeper) keep(b ratelimit.Ban) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := access.SetBan(ctx, k.store, access.Ban(b), access.Limiter); err != nil {
		k.metrics.bansLost.Inc()
		k.log.Error("a ban could not be stored", "key", b.KeyID, "until", b.Until, "err", err)
		return
	}
	k.bans.stored(access.Ban(b))
	k.log.Warn("a key was banned", "audit", "ban.set", "key", b.KeyID, "until", b.Until, "level", b.Level, "reason", b.Reason)
}
