// Package ratelimit decides whether a request may be served. Two windows (a minute and the UTC day) and a temporary ban may
// refuse it. The package knows workspaces, keys and addresses only as names; it does not know plans, or what a response says.
//
// What is counted is a subject: a workspace, whose keys share its windows, or an address without a valid key. The windows of
// a subject (windows.go) and what is known against a key (penalty.go) are values with pure methods.
//
// A Limiter decides in this process, under the subject's mutex. Save saves what changed to a Store, and Restore takes it back
// after a restart, so that a crash forgets what was counted since the last save at most.
//
// Redis has all nodes count in one place: the script decide.lua makes the decision of windows.go on the subject's key, by
// the clock of Redis. A call takes 25 ms at most and is not repeated. A request is decided in one of four ways:
//   - cached: the node knows that the key is banned, or that a window is full;
//   - redis: the script decides;
//   - local: Redis does not answer, and the node decides from the last known counts;
//   - unavailable: the same, with RedisOptions.Deny.
//
// Each node counts strikes by itself, and learns of the bans of others from the store. So n nodes may allow n times the
// strikes before a ban. What a node admits locally is not reported to Redis, but a call includes the counts that the node
// knows, and Redis takes the greater ones. So n nodes that last knew k used of a limit of L admit at most k + n(L-k) in that
// window, and the requests that were on their way to Redis when it went away.
package ratelimit

import "time"

// Limits are the two numbers of a plan: requests per minute and per UTC day. Both are at least 1.
type Limits struct{ PerMinute, PerDay int64 }

// An Outcome says whether a request is admitted, and if not, what refused it.
type Outcome uint8

// The outcomes of a decision.
const (
	Admitted      Outcome = iota // neither window is full and no ban runs
	RefusedMinute                // the minute is full
	RefusedDay                   // the UTC day is full
	Banned                       // the key is banned
	Unavailable                  // the counts cannot be reached, and RedisOptions.Deny was chosen for that
)

// String returns "admitted", "minute", "day", "banned" or "unavailable": the words for logs and metric labels.
func (o Outcome) String() string {
	return [...]string{"admitted", "minute", "day", "banned", "unavailable"}[o]
}

// A Window is one of the two windows of a caller as it stands after a decision.
type Window struct {
	Limit int64 // requests that the window admits
	Used  int64 // requests admitted in it; more than Limit after a plan was lowered
	Reset int64 // when the window starts afresh, in Unix seconds, rounded up
}

// Remaining returns how many more requests the window admits, never less than 0.
func (w Window) Remaining() int64 { return max(0, w.Limit-w.Used) }

// A Decision is the result of one request, with all that a response says about it.
type Decision struct {
	Outcome     Outcome
	Minute, Day Window
	BannedUntil int64 // end of the ban in Unix seconds, rounded up; 0 if none runs

	// RetryAfter is 0 if the request is admitted, else the whole seconds to wait, at least 1. Waiting exactly that long
	// from the instant of the decision is enough, as long as nobody else spends the workspace's requests. It reaches to
	// the end of the ban, or of a window that is full for longer.
	RetryAfter int64

	StrikesLeft int // how many strikes a key is from a ban, at this node; only Peek says it

	NewBan *Ban // the ban that this very refusal started, for the store and the audit; else nil
}

// Admitted reports whether the request may be served.
func (d Decision) Admitted() bool { return d.Outcome == Admitted }

// Headline returns the one window that the X-RateLimit headers describe: on a refusal the window that refused, else the
// one with the least remaining, and if both have the same, the one that resets later. For a banned caller it is that
// window's limit with nothing remaining until the ban ends, or later, if a window is full for longer.
func (d Decision) Headline() Window {
	switch d.Outcome {
	case RefusedMinute:
		return d.Minute
	case RefusedDay:
		return d.Day
	case Banned:
		w, reset := d.fuller(), d.BannedUntil
		for _, full := range []Window{d.Minute, d.Day} {
			if full.Remaining() == 0 {
				reset = max(reset, full.Reset)
			}
		}
		return Window{Limit: w.Limit, Used: max(w.Limit, w.Used), Reset: reset}
	}
	return d.fuller()
}

func (d Decision) fuller() Window {
	inMinute, inDay := d.Minute.Remaining(), d.Day.Remaining()
	if inMinute < inDay || inMinute == inDay && d.Minute.Reset > d.Day.Reset {
		return d.Minute
	}
	return d.Day
}

// A Ban refuses all requests of one key from From until Until, whatever its windows say.
type Ban struct {
	KeyID       string
	From, Until time.Time
	Level       int // how many bans of the limiter the key has that are not forgiven, with this one; 0 on an operator's ban
	Reason      string
	By          string // "limiter" or "operator"
}

// The values of Ban.By.
const (
	ByLimiter  = "limiter"
	ByOperator = "operator"
)

// Config holds the numbers of a limiter. They are not checked: start from DefaultConfig.
//
// A refusal more than Grace after the first of a run of refusals is a strike. A run ends when a request is admitted, and
// when the window that refused last has reset. Strikes strikes, the first less than StrikeWindow before the last, ban the
// key for FirstBan, twice as long with each level, and MaxBan at most. A level is forgiven for each 24 hours without a
// strike or a ban: they count from the end of the last ban or from the last strike, whichever is later.
// So one client that waits for Retry-After, or whose pauses grow by a fifth or more each time to 4 s or more, is never
// banned.
type Config struct {
	Strikes      int           // strikes that ban, at least 1
	StrikeWindow time.Duration // the time within which they must fall
	Grace        time.Duration // how long after the first refusal further ones are no strikes
	FirstBan     time.Duration // the first ban
	MaxBan       time.Duration // the longest ban, at least FirstBan

	AddressLimits Limits // for callers without a valid key
	Addresses     int    // addresses counted apart at one time, 1 to 16,777,216
}

// DefaultConfig returns the numbers that the interface promises: 20 strikes within 60 s after 2 s of grace, bans from
// 2 minutes to 24 hours, and 65,536 addresses with the Free plan's 60 a minute and 1,000 a day.
func DefaultConfig() Config {
	return Config{
		Strikes:       20,
		StrikeWindow:  time.Minute,
		Grace:         2 * time.Second,
		FirstBan:      2 * time.Minute,
		MaxBan:        24 * time.Hour,
		AddressLimits: Limits{PerMinute: 60, PerDay: 1000},
		Addresses:     1 << 16,
	}
}
