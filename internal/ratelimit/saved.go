package ratelimit

import "context"

// Saved is what a limiter keeps over a restart, as plain rows. Bans are not among them: they are stored with the keys,
// through Decision.NewBan, and come back through SetBan.
type Saved struct {
	Windows []SavedWindow // at most one row a Subject
	Keys    []SavedKey    // at most one row a KeyID
}

// Empty reports whether there is no row at all.
func (s Saved) Empty() bool { return len(s.Windows) == 0 && len(s.Keys) == 0 }

// A SavedWindow is the two windows of one workspace or address.
type SavedWindow struct {
	Subject     string // "w:12", "a:192.0.2.7", "a:2001:db8:0:1::/64", or "a:*" for the addresses beyond the table
	MinuteStart int64  // Unix milliseconds
	MinuteUsed  int64
	Day         int64 // days since 1970-01-01 UTC
	DayUsed     int64
}

// A SavedKey is what one key did, and what stands against it.
type SavedKey struct {
	KeyID      string
	Workspace  int64
	Day        int64 // the day that Admitted and Refused count, in days since 1970-01-01 UTC
	Admitted   int64
	Refused    int64
	LastUsed   int64  // Unix milliseconds, 0 if never
	Level      int64  // bans not yet forgiven
	CleanSince int64  // Unix milliseconds from which the next level's forgiveness counts
	RunFrom    int64  // first refusal of the current run, Unix milliseconds, 0 if none
	RunUntil   int64  // when the window that refused resets, Unix milliseconds
	Strikes    string // the recent strikes, oldest first: Unix milliseconds in decimal, separated by commas
}

// A Store keeps the rows of a limiter. The stores on SQLite and PostgreSQL implement it.
type Store interface {
	// LoadLimits returns every row. It may leave out, and delete, rows of windows of old days, but never by a clock, which
	// may be wrong: at least those of the seven newest different days are kept.
	LoadLimits(ctx context.Context) (Saved, error)

	// SaveLimits inserts the rows, or replaces those with the same Subject or KeyID, all or nothing. It
	// leaves out rows of keys whose workspace is gone: they may have been used to the end. Where several processes share a store, what they admitted and refused for a key on one day adds up, if each goes on from what its
	// first LoadLimits returned; of a window the greatest count of those saved holds.
	SaveLimits(ctx context.Context, rows Saved) error
}
