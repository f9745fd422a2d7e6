package ratelimit

import (
	"errors"
	"fmt"
	"time"
)

// Config holds the numbers of a limiter. The zero value is not usable; start from DefaultConfig.
//
// A refusal more than Grace after the first of a run of refusals is a strike. A run ends when a request is admitted, and
// when the window that refused last has reset. Strikes strikes, the first less than StrikeWindow before the last, ban the
// key for FirstBan, twice as long with each level, and MaxBan at most. A level is forgiven for each 24 hours without a
// strike or a ban: they count from the end of the last ban or from the last strike, whichever is later.
//
// So one client that waits for Retry-After, or whose pauses grow by a fifth or more each time to 4 s or more, is never
// banned. Many workers with one key, each refused and pausing on its own, add up: from 20 on that are refused for more
// than Grace in one minute, they should share what Retry-After told one of them.
type Config struct {
	Strikes      int           // strikes that ban, at least 1
	StrikeWindow time.Duration // the time within which they must fall
	Grace        time.Duration // how long after its first refusal a client is not yet blamed for further ones
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

const maxAddresses = 1 << 24

// Validate returns an error that names every number out of its range.
func (c Config) Validate() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(c.Strikes < 1 || c.Strikes > 1000, "strikes must be 1 to 1000, not %d", c.Strikes)
	refuse(c.StrikeWindow <= 0, "strike window must be positive, not %v", c.StrikeWindow)
	refuse(c.Grace < 0, "grace must not be negative, but is %v", c.Grace)
	refuse(c.FirstBan < time.Second, "first ban must be at least 1s, not %v", c.FirstBan)
	refuse(c.MaxBan < c.FirstBan, "longest ban %v is shorter than the first, %v", c.MaxBan, c.FirstBan)
	refuse(c.Addresses < 1 || c.Addresses > maxAddresses, "addresses must be 1 to %d, not %d", maxAddresses, c.Addresses)
	if err := c.AddressLimits.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("addresses: %w", err))
	}
	return errors.Join(errs...)
}
