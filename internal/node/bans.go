package node

import (
	"context"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
)

// attach returns the limiter's handle of a key, which is told of the key's ban and of the limits of its workspace. It is
// called by the directory whenever that has read the key.
func (n *node) attach(w access.Workspace, k access.Key, before *ratelimit.Caller) *ratelimit.Caller {
	return n.limiter.Caller(before, w.ID, k.ID, ratelimit.Limits(w.Quota), (*ratelimit.Ban)(k.Ban))
}

// banStarted stores a ban of the limiter in the background.
func (n *node) banStarted(b ratelimit.Ban) {
	n.metrics.bans.Inc()
	n.storing.Go(func() { n.keepBan(b) })
}

// keepBan stores a ban. If that fails, the ban is only in effect in this process.
func (n *node) keepBan(b ratelimit.Ban) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := access.SetBan(ctx, n.store, access.Ban(b), access.Limiter); err != nil {
		n.metrics.bansLost.Inc()
		n.log.Error("a ban could not be stored", "key", b.KeyID, "until", b.Until, "err", err)
		return
	}
	if n.keys.Refresh(ctx) == nil {
		n.keys.Entry(b.KeyID) // so that the limiter knows of the ban in the store, and notices when that is lifted
	}
	n.log.Warn("a key was banned", "audit", "ban.set", "key", b.KeyID, "until", b.Until, "level", b.Level, "reason", b.Reason)
}
