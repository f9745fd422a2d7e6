package ratelimit

import (
	"fmt"
	"slices"
	"time"
)

// banLength returns how long a ban of the given level lasts.
func (c *Config) banLength(level int64) time.Duration {
	d := c.FirstBan
	for range level - 1 {
		if d > c.MaxBan/2 {
			return c.MaxBan
		}
		d *= 2
	}
	return d
}

// penalty is what this node knows against one key: its run of refusals, its recent strikes, its ban and its level. The
// methods depend on nothing but this state, the numbers of Config and the instant that they are given.
//
// The clock may be set back. A ban of the limiter from the future then starts now and keeps its length. An operator's ban
// has no start: it runs whenever the clock stands before its end.
type penalty struct {
	runFrom, runUntil int64   // first refusal of the run, and reset of the window that refused last; 0 if there is no run
	strikes           []int64 // the last ones, oldest first, fewer than Config.Strikes
	banFrom, banUntil int64   // of the last ban; 0 if there was none
	level             int64   // bans not yet forgiven
	cleanSince        int64   // the next level is forgiven a day after this instant
}

// bannedUntil returns the end of the ban that runs at now, or 0 if none runs.
func (p *penalty) bannedUntil(now int64) int64 {
	if ahead := p.banFrom - now; ahead > 0 {
		p.banFrom, p.banUntil, p.cleanSince = now, p.banUntil-ahead, p.cleanSince-ahead
	}
	if p.banUntil <= now {
		return 0
	}
	return p.banUntil
}

// note records the outcome of a request at now; reset is when the window that refused resets. It returns the outcome for
// the client, which is Banned if a ban runs or begins with this refusal.
func (p *penalty) note(cfg *Config, o Outcome, now, reset int64) (result Outcome, begins bool) {
	switch {
	case o == Admitted: // the client has stopped sending too much
		p.runFrom, p.runUntil = 0, 0
	case p.bannedUntil(now) != 0:
		return Banned, false
	case p.refuse(cfg, now, reset):
		return Banned, true
	}
	return o, false
}

// refuse records a refusal, which may be a strike, and reports whether it starts a ban.
func (p *penalty) refuse(cfg *Config, now, reset int64) bool {
	if p.runUntil <= now {
		p.runFrom = now
	}
	p.runUntil = reset
	if now-p.runFrom <= int64(cfg.Grace) {
		return false
	}
	p.forgive(now)
	p.strikes = append(p.strikes, now)
	if len(p.strikes) < cfg.Strikes {
		return false
	}
	if now-p.strikes[0] >= int64(cfg.StrikeWindow) {
		p.strikes = slices.Delete(p.strikes, 0, 1)
		return false
	}
	if p.level == 0 || cfg.banLength(p.level) < cfg.MaxBan {
		p.level++
	}
	p.ban(now, now+int64(cfg.banLength(p.level)))
	return true
}

// forgive lowers the level by one for each clean day until at, from which the next ones count.
func (p *penalty) forgive(at int64) {
	days := max(0, (at-p.cleanSince)/day)
	p.level = max(0, p.level-days)
	p.cleanSince = at
}

// ban replaces the ban that runs. What led to it is forgotten.
func (p *penalty) ban(from, until int64) {
	p.banFrom, p.banUntil, p.cleanSince = from, until, max(p.cleanSince, until)
	p.runFrom, p.runUntil, p.strikes = 0, 0, nil
}

// strikesLeft returns how many more strikes ban the key, if they come now.
func (p *penalty) strikesLeft(cfg *Config, now int64) int {
	left := cfg.Strikes
	for _, at := range p.strikes {
		if now-at < int64(cfg.StrikeWindow) {
			left--
		}
	}
	return max(left, 1)
}

// set replaces the ban that runs by one of the store, another node or the operator. A ban that a limiter began raises the level
// to its own, if it is new here. A ban that is over, which a store may repeat, changes nothing else; one of the operator may run
// again when the clock is set back.
func (p *penalty) set(b *Ban, now int64) {
	from, until := b.From.UnixNano(), b.Until.UnixNano()
	if until > p.cleanSince {
		p.forgive(from)
		p.level, p.cleanSince = max(p.level, int64(b.Level)), until
	}
	if b.Level == 0 {
		from = 0
	}
	switch {
	case until > now:
		p.ban(from, until)
	case b.Level == 0:
		p.banFrom, p.banUntil = from, until
	}
}

// lift ends the ban and forgets the strikes; the level stays, and clean days count from now.
func (p *penalty) lift(now int64) {
	if p.bannedUntil(now) != 0 {
		p.cleanSince = now
	}
	p.ban(0, 0)
}

// newBan returns the ban that runs, as the limiter's own.
func (p *penalty) newBan(cfg *Config, keyID string) *Ban {
	return &Ban{
		KeyID: keyID, From: time.Unix(0, p.banFrom).UTC(), Until: time.Unix(0, p.banUntil).UTC(), Level: int(p.level), By: ByLimiter,
		Reason: fmt.Sprintf("%d refused requests within %g s, each more than %g s after the first refusal", cfg.Strikes, cfg.StrikeWindow.Seconds(), cfg.Grace.Seconds()),
	}
}
