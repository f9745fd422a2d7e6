package ratelimit

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// refWorkspace is the reference for one workspace: the instants of what it admitted, in lists, on the calendar.
type refWorkspace struct {
	id       int64
	limits   Limits
	admitted []time.Time // in the current minute
	date     time.Time   // midnight before the day that counts
	today    int
}

func (w *refWorkspace) advance(now time.Time) {
	if len(w.admitted) > 0 {
		if w.admitted[0].After(now) {
			w.admitted[0] = now
		}
		if !now.Before(w.admitted[0].Add(time.Minute)) {
			w.admitted = nil
		}
	}
	date := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	if w.today == 0 || w.date.Before(date) {
		w.date, w.today = date, 0
	} else if w.date.After(date.AddDate(0, 0, 1)) {
		w.date = date
	}
}

func (w *refWorkspace) resets(now time.Time) (minute, day time.Time) {
	minute = now.Add(time.Minute)
	if len(w.admitted) > 0 {
		minute = w.admitted[0].Add(time.Minute)
	}
	return minute, w.date.AddDate(0, 0, 1)
}

// full returns which windows are full, as the outcome that refuses and the reset to wait for.
func (w *refWorkspace) full(now time.Time) (Outcome, time.Time) {
	minute, day := w.resets(now)
	byMinute, byDay := int64(len(w.admitted)) >= w.limits.PerMinute, int64(w.today) >= w.limits.PerDay
	switch {
	case byMinute && byDay && minute.After(day), byMinute && !byDay:
		return RefusedMinute, minute
	case byDay:
		return RefusedDay, day
	}
	return Admitted, now
}

// refKey is the reference for what stands against one key.
type refKey struct {
	name    string
	ws      *refWorkspace
	run     []time.Time // the first refusal, and when the last window that refused resets
	strikes []time.Time
	ban     *Ban // the last one; the operator's has no From
	level   int
	clean   time.Time
	begun   bool // the last refusal began the ban
}

// until returns the end of the last ban.
func (k *refKey) until() time.Time {
	if k.ban == nil {
		return time.Time{}
	}
	return k.ban.Until
}

// isBanned has a ban of the limiter that lies in the future begin now.
func (k *refKey) isBanned(now time.Time) bool {
	if k.ban != nil && k.ban.From.After(now) {
		ahead := k.ban.From.Sub(now)
		k.ban = &Ban{From: now, Until: k.ban.Until.Add(-ahead)}
		k.clean = k.clean.Add(-ahead)
	}
	return k.until().After(now)
}

// setBan is for a ban from elsewhere.
func (k *refKey) setBan(b *Ban) {
	k.ban, k.run, k.strikes = b, nil, nil
	if b != nil && b.Until.After(k.clean) {
		k.clean, k.level = b.Until, cmp.Or(b.Level, k.level)
	}
}

// admit decides as the interface describes it, one sentence after the other.
func (k *refKey) admit(cfg Config, now time.Time) Outcome {
	k.ws.advance(now)
	k.begun = false
	if k.isBanned(now) {
		return Banned
	}
	outcome, reset := k.ws.full(now)
	if outcome == Admitted {
		k.ws.admitted = append(k.ws.admitted, now)
		k.ws.today++
		k.run = nil
		return Admitted
	}
	if k.isStrike(cfg, now, reset) && k.strike(cfg, now) {
		return Banned
	}
	return outcome
}

func (k *refKey) isStrike(cfg Config, now, reset time.Time) bool {
	if k.run != nil && !now.Before(k.run[1]) {
		k.run = nil
	}
	if k.run == nil {
		k.run = []time.Time{now, reset}
	}
	k.run[1] = reset
	return now.After(k.run[0].Add(cfg.Grace))
}

func (k *refKey) strike(cfg Config, now time.Time) bool {
	k.forgive(now)
	k.clean = now
	k.strikes = append(k.strikes, now)
	if n := len(k.strikes); n < cfg.Strikes || now.Sub(k.strikes[n-cfg.Strikes]) >= cfg.StrikeWindow {
		return false
	}
	length := cfg.FirstBan
	for i := 0; i < k.level && length < cfg.MaxBan; i++ {
		length = min(2*length, cfg.MaxBan)
	}
	k.level = min(k.level+1, k.topLevel(cfg))
	k.begun = true
	k.ban = &Ban{From: now, Until: now.Add(length)}
	k.clean, k.run, k.strikes = k.ban.Until, nil, nil
	return true
}

func (k *refKey) forgive(now time.Time) {
	for k.level > 0 && !now.Before(k.clean.Add(24*time.Hour)) {
		k.level--
		k.clean = k.clean.Add(24 * time.Hour)
	}
}

func (*refKey) topLevel(cfg Config) int {
	level := 1
	for d := cfg.FirstBan; d < cfg.MaxBan; d *= 2 {
		level++
	}
	return level
}

// modelRun is one limiter, or several nodes, beside a reference. The nodes share the windows, and each has its own keys.
type modelRun struct {
	cfg   Config
	clock *testClock
	nodes []Limiter
	keys  [][]*refKey            // of each node, the same keys
	rows  map[string]SavedWindow // as a store would have them
	krows map[string]SavedKey
}

func (r *modelRun) handle(node, key int) *Caller {
	k := r.keys[node][key]
	return r.nodes[node].Caller(k.ws.id, k.name, k.ws.limits)
}

// onAll does on each node what reaches them all through the store.
func (r *modelRun) onAll(key int, f func(l Limiter, k *refKey)) {
	for node := range r.nodes {
		r.handle(node, key)
		f(r.nodes[node], r.keys[node][key])
	}
}

func newModelRun(t *rapid.T, nodes int) *modelRun {
	cfg := DefaultConfig()
	cfg.Strikes = rapid.IntRange(1, 5).Draw(t, "strikes")
	cfg.FirstBan, cfg.MaxBan = 10*time.Second, 75*time.Second
	r := &modelRun{cfg: cfg, clock: newClock(noon), rows: map[string]SavedWindow{}, krows: map[string]SavedKey{}}
	all := []*refWorkspace{{id: 1, limits: drawLimits(t)}, {id: 2, limits: drawLimits(t)}}
	for range nodes {
		var keys []*refKey
		for i := range 4 {
			keys = append(keys, &refKey{name: fmt.Sprint("key", i), ws: all[i/2]})
		}
		r.keys = append(r.keys, keys)
	}
	return r
}

func drawLimits(t *rapid.T) Limits {
	return Limits{
		PerMinute: rapid.Int64Range(1, 4).Draw(t, "per minute"),
		PerDay:    rapid.Int64Range(1, 12).Draw(t, "per day"),
	}
}

func drawKey(t *rapid.T) int { return rapid.IntRange(0, 3).Draw(t, "key") }

func millis(t *rapid.T, from, to int) time.Duration {
	return time.Duration(rapid.IntRange(from, to).Draw(t, "ms")) * time.Millisecond
}

// request makes a request of a key at a node, here and of the reference. The store tells the other nodes of a ban at once.
func (r *modelRun) request(t *rapid.T) {
	key, node := drawKey(t), rapid.IntRange(0, len(r.nodes)-1).Draw(t, "node")
	k := r.keys[node][key]
	want := k.admit(r.cfg, r.clock.Now())
	got := r.nodes[node].Admit(t.Context(), r.handle(node, key))
	r.check(t, k, want, got)
	b := got.NewBan
	if (b != nil) != k.begun || b != nil && (!b.Until.Equal(k.ban.Until) || b.Level != k.level) {
		t.Fatalf("NewBan = %+v, want one: %v, until %v at level %d", b, k.begun, k.until(), k.level)
	}
	if b != nil {
		r.onAll(key, func(l Limiter, other *refKey) {
			if other != k {
				l.SetBan(k.name, b)
				other.setBan(b)
			}
		})
	}
}

func (r *modelRun) check(t *rapid.T, k *refKey, want Outcome, got Decision) {
	now := r.clock.Now()
	minute, day := k.ws.resets(now)
	wantMinute := Window{Limit: k.ws.limits.PerMinute, Used: int64(len(k.ws.admitted)), Reset: unixUp(minute)}
	wantDay := Window{Limit: k.ws.limits.PerDay, Used: int64(k.ws.today), Reset: unixUp(day)}
	if len(r.nodes) > 1 && want == Banned && got.Outcome == want {
		return // what a node says of the windows of a banned key may be older
	}
	if got.Outcome != want || got.Minute != wantMinute || got.Day != wantDay {
		t.Fatalf("decision = %+v, want %v with %+v and %+v", got, want, wantMinute, wantDay)
	}
	var until, wait time.Time
	if want != Admitted {
		_, wait = k.ws.full(now)
	}
	if want == Banned {
		until = k.until()
		if until.After(wait) {
			wait = until
		}
		if got.BannedUntil != unixUp(until) {
			t.Fatalf("BannedUntil = %d, want %d", got.BannedUntil, unixUp(until))
		}
	}
	if want == Admitted != (got.RetryAfter == 0) || now.Add(time.Duration(got.RetryAfter)*time.Second).Before(wait) ||
		got.RetryAfter > 1 && now.Add(time.Duration(got.RetryAfter-1)*time.Second).After(wait) {
		t.Fatalf("RetryAfter = %d at %v, want to reach %v and no further", got.RetryAfter, now, wait)
	}
}

func unixUp(t time.Time) int64 { return t.Add(time.Second - 1).Unix() }

func (r *modelRun) peek(t *rapid.T) {
	key := drawKey(t)
	c := r.handle(0, key)
	before := r.nodes[0].Peek(t.Context(), c)
	if want := r.keys[0][key].isBanned(r.clock.Now()); want != (before.Outcome == Banned) {
		t.Fatalf("Peek = %+v, want banned: %v", before, want)
	}
	if again := r.nodes[0].Peek(t.Context(), c); again != before {
		t.Fatalf("Peek = %+v, and again %+v", before, again)
	}
}

// step sets the clock: back over midnight, into a far future and back from it, or by less than a minute.
func (r *modelRun) step(t *rapid.T) {
	by := rapid.SampledFrom([]time.Duration{
		time.Hour, -time.Hour, 13 * time.Hour, -13 * time.Hour, -90 * time.Second, -time.Millisecond,
		24 * time.Hour, -24 * time.Hour, 30 * 24 * time.Hour, -30 * 24 * time.Hour,
	}).Draw(t, "step")
	r.clock.advance(by)
}

func (r *modelRun) ban(t *rapid.T) {
	b := &Ban{Until: r.clock.Now().Add(millis(t, 1, 200_000)), By: ByOperator}
	r.onAll(drawKey(t), func(l Limiter, k *refKey) {
		l.SetBan(k.name, b)
		k.setBan(b)
	})
}

func (r *modelRun) lift(t *rapid.T) {
	now := r.clock.Now()
	r.onAll(drawKey(t), func(l Limiter, k *refKey) {
		l.SetBan(k.name, nil)
		if k.isBanned(now) {
			k.clean = now
		}
		k.setBan(nil)
	})
}

// plan changes the limits of a workspace. A node that does not know how much the others have admitted may name the other
// window, so each looks.
func (r *modelRun) plan(t *rapid.T) {
	key := drawKey(t)
	r.keys[0][key].ws.limits = drawLimits(t)
	for node, l := range r.nodes {
		l.Peek(t.Context(), r.handle(node, key))
		r.keys[node][key].isBanned(r.clock.Now())
	}
}

// restart saves what has changed and begins anew from the rows; sometimes the save has failed once.
func (r *modelRun) restart(t *rapid.T) {
	m := r.nodes[0].(*Memory)
	if rapid.Bool().Draw(t, "failed save") {
		_, requeue := m.Dirty()
		requeue()
	}
	rows, _ := m.Dirty()
	for _, w := range rows.Windows {
		r.rows[w.Subject] = w
	}
	for _, k := range rows.Keys {
		r.krows[k.KeyID] = k
	}
	var all Saved
	for _, w := range r.rows {
		all.Windows = append(all.Windows, w)
	}
	for _, k := range r.krows {
		all.Keys = append(all.Keys, k)
	}
	m = NewMemory(r.cfg, r.clock.Now)
	r.nodes[0] = m
	if err := m.Restore(all); err != nil {
		t.Fatalf("Restore: %v", err)
	}
	for i, k := range r.keys[0] {
		r.handle(0, i)
		switch {
		case k.ban == nil:
		case k.ban.From.IsZero(): // the operator's
			m.SetBan(k.name, k.ban)
		case k.ban.Until.After(r.clock.Now()):
			m.SetBan(k.name, &Ban{From: k.ban.From, Until: k.ban.Until, Level: k.level})
		default:
			k.ban = nil // over, and a clock set back does not revive what was not restored
		}
	}
}

// actions are what happens to every limiter.
func (r *modelRun) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"request": r.request,
		"again":   r.request,
		"burst": func(t *rapid.T) {
			for range rapid.IntRange(2, 12).Draw(t, "requests") {
				r.request(t)
				r.clock.advance(millis(t, 0, 900))
			}
		},
		"wait":      func(t *rapid.T) { r.clock.advance(millis(t, 0, 8000)) },
		"wait long": func(t *rapid.T) { r.clock.advance(millis(t, 0, 100_000_000)) },
		"peek":      r.peek,
		"plan":      r.plan,
		"ban":       r.ban,
		"lift":      r.lift,
	}
}

// TestAgainstAReference holds the limiter against a naive reference, through random requests, plan changes, bans, steps of
// the clock and restarts. Times are whole milliseconds, as saved rows are.
func TestAgainstAReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newModelRun(t, 1)
		r.nodes = []Limiter{NewMemory(r.cfg, r.clock.Now)}
		actions := r.actions()
		actions["step"], actions["restart"] = r.step, r.restart
		t.Repeat(actions)
	})
}
