package ratelimit

import (
	"context"
	"net/netip"
)

// A Limiter decides on requests. All methods may be called concurrently.
//
// The keys of a workspace share its windows; a ban and its strikes belong to one key. Any number of simultaneous requests
// admits exactly what the limits say, and Remaining falls by exactly one with each.
type Limiter interface {
	// Caller returns the handle of a key, always the same for the same workspace and key. The caller keeps it with the
	// key's record and uses it for each request. The limits replace those of the whole workspace at once; what was used
	// stays counted.
	Caller(workspace int64, keyID string, limits Limits) *Caller

	// Admit decides on one request. An admitted request counts in both windows; a refused one in neither.
	Admit(ctx context.Context, c *Caller) Decision

	// Peek returns the caller's windows without counting anything, for responses that spend no quota. The outcome is
	// Banned while a ban runs, and Admitted otherwise, even if a window is full.
	Peek(ctx context.Context, c *Caller) Decision

	// PeekWorkspace returns the windows of a workspace with the given limits, without counting anything. The workspace
	// need not have a key: what deleted keys used stays counted. The outcome is Admitted.
	PeekWorkspace(ctx context.Context, workspace int64, limits Limits) Decision

	// AdmitAddress decides on one request without a valid key, counted by IPv4 address (an IPv4-mapped IPv6 address is
	// one) or IPv6 /64 with Config.AddressLimits. Addresses are never banned.
	AdmitAddress(ctx context.Context, a netip.Addr) Decision

	// PeekAddress returns what AdmitAddress would decide now, without counting anything.
	PeekAddress(ctx context.Context, a netip.Addr) Decision

	// SetBan replaces the ban of a key that has a handle by one of the operator, of another node or of the store. It
	// takes effect at once. The operator's holds whenever the clock stands before its end, even if the clock was beyond
	// it meanwhile, until another one or nil replaces it. A nil ban lifts the ban and forgets the strikes; the level stays.
	SetBan(keyID string, b *Ban)

	// Drop removes the handle of a key that was deleted. What it used stays counted in its workspace, and is still saved.
	Drop(keyID string)
}
