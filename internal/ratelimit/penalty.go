package ratelimit

import (
	"fmt"
	"slices"
	"time"
)

// rules are the numbers of Config that decide on bans.
type rules struct {
	Config
	topLevel int64 // the level whose ban is the longest; there is none above it
	reason   string
}

func newRules(c Config) rules {
	r := rules{Config: c, topLevel: 1, reason: fmt.Sprintf(
		"%d refused requests within %v, each more than %v after the first refusal", c.Strikes, c.StrikeWindow, c.Grace)}
	for r.length(r.topLevel) < int64(c.MaxBan) {
		r.topLevel++
	}
	return r
}

// length returns how long a ban of the given level lasts.
func (r *rules) length(level int64) int64 {
	d := r.FirstBan
	for range level - 1 {
		if d > r.MaxBan/2 {
			return int64(r.MaxBan)
		}
		d *= 2
	}
	return int64(d)
}

// penalty is what stands against one key: its run of refusals, its recent strikes, its ban and its level. The functions
// on it depend on nothing but this state, the rules and the instant that they are given. decide.lua has the same under the
// same names.
//
// The clock may be set back here too. A ban of the limiter from the future starts now and keeps its length. A run or a
// strike from the future is forgotten: to blame a client for it could only be wrong. An operator's ban is held against the
// clock at each look, and is not forgotten when it seems to be over.
type penalty struct {
	runFrom, runUntil int64   // first refusal of the run, and reset of the window that refused last; 0 if there is no run
	strikes           []int64 // the last ones, oldest first, fewer than Config.Strikes
	banFrom, banUntil int64   // of a ban of the limiter; 0 if there is none
	operator          int64   // the end of the operator's ban, 0 if there is none; decide.lua does not know of it
	level             int64   // bans not yet forgiven
	cleanSince        int64   // what the next level's forgiveness counts from
}

// banAt returns the end of the ban that runs at now, or 0 if none runs.
func (p *penalty) banAt(now int64) (until int64) {
	if until = max(p.banUntil-max(0, p.banFrom-now), p.operator); until <= now {
		return 0
	}
	return until
}

// banned returns what banAt does. It has a ban of the limiter from the future start now, and forgets one that is over.
func (p *penalty) banned(now int64) (until int64) {
	if ahead := p.banFrom - now; ahead > 0 {
		p.banFrom, p.banUntil, p.cleanSince = now, p.banUntil-ahead, p.cleanSince-ahead
	}
	if p.banUntil <= now {
		p.banFrom, p.banUntil = 0, 0
	}
	return p.banAt(now)
}

// endRun is for an admission: the client has stopped sending too much.
func (p *penalty) endRun() { p.runFrom, p.runUntil = 0, 0 }

// refuse takes note of a refusal at now by a window that resets at reset, and reports whether it starts a ban.
func (p *penalty) refuse(r *rules, now, reset int64) bool {
	if p.runFrom > now || p.runUntil <= now {
		p.endRun()
	}
	if n := len(p.strikes); n > 0 && p.strikes[n-1] > now {
		p.strikes = p.strikes[:0]
	}
	if p.runFrom == 0 {
		p.runFrom = now
	}
	p.runUntil = reset
	return now-p.runFrom > int64(r.Grace) && p.strike(r, now)
}

// strike counts a strike at now and reports whether it starts a ban.
func (p *penalty) strike(r *rules, now int64) bool {
	p.forgive(now)
	p.cleanSince = now
	before := r.Strikes - 1
	p.strikes = slices.Delete(p.strikes, 0, max(0, len(p.strikes)-before)) // the rules of another node, or of before, may keep more
	if len(p.strikes) == before && (before == 0 || now-p.strikes[0] < int64(r.StrikeWindow)) {
		p.ban(r, now)
		return true
	}
	if len(p.strikes) == before {
		p.strikes = slices.Delete(p.strikes, 0, 1)
	}
	p.strikes = append(p.strikes, now)
	return false
}

// strikesLeft returns how many more strikes ban the key, if they come now.
func (p *penalty) strikesLeft(r *rules, now int64) int {
	left := r.Strikes
	for _, at := range p.strikes {
		if at <= now && now-at < int64(r.StrikeWindow) {
			left--
		}
	}
	return max(left, 1)
}

// forgive takes a level off for each whole clean day up to now.
func (p *penalty) forgive(now int64) {
	days := max(0, (now-p.cleanSince)/day)
	p.level = max(0, p.level-days)
	p.cleanSince += days * day
}

func (p *penalty) ban(r *rules, now int64) {
	p.level = min(p.level+1, r.topLevel)
	p.banFrom, p.banUntil = now, now+r.length(p.level)
	p.cleanSince = p.banUntil
	p.endRun()
	p.strikes = p.strikes[:0]
}

// set puts a ban from elsewhere in place of the one that runs. One of the limiter that is over, as a store may repeat it,
// takes no effect but for its level, which counts only if it is news. A ban without a level is the operator's: the key
// keeps its own level, and a ban of the limiter that follows does not end it.
func (p *penalty) set(b *Ban, now int64) {
	until := b.Until.UnixNano()
	if b.Level > 0 && until > p.cleanSince {
		p.level = int64(b.Level)
	}
	p.cleanSince = max(p.cleanSince, until)
	if b.Level == 0 {
		p.banFrom, p.banUntil, p.operator = 0, 0, until
	}
	if until <= now {
		return
	}
	if b.Level > 0 {
		p.banFrom, p.banUntil = b.From.UnixNano(), until
	}
	p.endRun()
	p.strikes = p.strikes[:0]
}

// lift ends the ban and forgets the strikes; the level stays, and clean days count from now.
func (p *penalty) lift(now int64) {
	if p.banned(now) != 0 {
		p.cleanSince = now
	}
	p.banFrom, p.banUntil, p.operator = 0, 0, 0
	p.endRun()
	p.strikes = p.strikes[:0]
}

// decide is the limiter's one step: what a subject's windows and the penalty of its key, nil for an address, say on a
// request at now, the windows after it, and whether this very refusal begins a ban.
func decide(w windows, p *penalty, l Limits, r *rules, now int64) (after windows, o Outcome, begins bool) {
	w = w.at(now)
	if p != nil && p.banned(now) != 0 {
		return w, Banned, false
	}
	w, o = w.admit(l)
	switch {
	case p == nil:
	case o == Admitted:
		p.endRun()
	case p.refuse(r, now, w.reset(o)):
		return w, Banned, true
	}
	return w, o, false
}

// decision describes the outcome of a step at now, after which the windows and the penalty stand as given.
func decision(w windows, o Outcome, p *penalty, l Limits, now int64) Decision {
	d := w.describe(l)
	d.Outcome = o
	if o == Admitted {
		return d
	}
	var wait int64
	if _, full := w.admit(l); full != Admitted {
		wait = w.reset(full)
	}
	if o == Banned {
		until := max(p.banUntil, p.operator)
		d.BannedUntil = ceil(until, second)
		wait = max(wait, until)
	}
	d.RetryAfter = max(1, ceil(wait-now, second))
	return d
}

// newBan returns the ban that runs, as the limiter's own.
func (p *penalty) newBan(r *rules, keyID string) *Ban {
	return &Ban{
		KeyID: keyID, From: time.Unix(0, p.banFrom).UTC(), Until: time.Unix(0, p.banUntil).UTC(),
		Level: int(p.level), Reason: r.reason, By: ByLimiter,
	}
}
