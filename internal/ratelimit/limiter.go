package ratelimit

import (
	"context"
	"net/netip"
)

// A Limiter decides on requests. All methods may be called concurrently.
//
// The windows belong to a workspace and are shared by its keys; a ban and what leads to it belong to one key. Any number
// of simultaneous requests admits exactly what the limits say, and Remaining falls by exactly one with each.
type Limiter interface {
	// Caller returns the handle of a key, to be kept with the key's record and used on each of its requests: the same
	// handle for the same workspace and key. Other limits than before change those of the whole workspace at once,
	// without forgetting what was used.
	Caller(workspace int64, keyID string, limits Limits) *Caller

	// Admit decides on one request. An admitted request counts in both windows; a refused one in neither.
	Admit(ctx context.Context, c *Caller) Decision

	// Peek returns how the caller stands without counting anything, for responses that spend no quota. The outcome is
	// Banned while a ban runs, and Admitted otherwise, even if a window is full.
	Peek(ctx context.Context, c *Caller) Decision

	// PeekWorkspace returns how the windows of a workspace stand against the limits, without counting anything. The
	// workspace need not have a key: what keys used that are gone stays counted. The outcome is Admitted.
	PeekWorkspace(ctx context.Context, workspace int64, limits Limits) Decision

	// AdmitAddress decides on one request without a valid key, counted by IPv4 address (an IPv4-mapped IPv6 address is
	// one) or IPv6 /64 with Config.AddressLimits. Addresses are never banned.
	AdmitAddress(ctx context.Context, a netip.Addr) Decision

	// PeekAddress returns what AdmitAddress would decide now, without counting anything.
	PeekAddress(ctx context.Context, a netip.Addr) Decision

	// SetBan makes a ban of the operator, of another node or of the store take effect at once, in place of the one
	// that runs. The operator's holds whenever the clock stands before its end, even if the clock was beyond it
	// meanwhile, until another one or nil takes its place. A nil ban lifts the one that runs, and the strikes behind it; the level stays. Keys that have no
	// handle yet are remembered.
	SetBan(keyID string, b *Ban)

	// Drop forgets a key that is gone. What it used stays counted in its workspace, and what it did is still saved.
	Drop(keyID string)
}
