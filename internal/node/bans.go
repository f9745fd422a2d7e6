package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
)

// attach returns the limiter's handle of a key, which is told of the key's ban and of the limits of its workspace. It is
// called by the directory whenever that has read the key.
func (n *node) attach(w access.Workspace, k access.Key, before *ratelimit.Caller) *ratelimit.Caller {
	return n.limiter.Caller(before, w.ID, k.ID, ratelimit.Limits(w.Quota), (*ratelimit.Ban)(k.Ban))
}

// A banKeeper stores the bans that the limiter starts, in the background.
type banKeeper struct {
	store   access.Store
	limiter *ratelimit.Limiter
	keys    *access.Directory[*ratelimit.Caller]
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
	if e := k.keys.Held(b.KeyID); e != nil {
		k.limiter.Stored(e.Attachment, &b)
	}
	k.log.Warn("a key was banned", "audit", "ban.set", "key", b.KeyID, "until", b.Until, "level", b.Level, "reason", b.Reason)
}
