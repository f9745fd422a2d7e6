package ratelimit

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// RedisOptions are what a Redis limiter needs. URL, Config and Now must be given.
type RedisOptions struct {
	URL    string // redis://, rediss://, unix://; with ?master_set= of sentinels, with ?addr= of a cluster
	Config Config
	Now    func() time.Time // used before Redis has told its own time
	Log    *slog.Logger     // says when Redis goes and comes; nil: nobody

	Answered func(took time.Duration) // is called for each call that Redis answered, and must not block; nil: nothing is

	// Deny has a node refuse while Redis does not answer: the outcome is Unavailable. Without it each node goes on from
	// the last known counts, as the package's comment says: in the windows after that, n nodes admit n times a limit.
	Deny bool
}

// CheckURL returns an error if NewRedis would: the URL cannot be used. It asks no server. The error tells no password.
func CheckURL(url string) error {
	_, err := clientOptions(url)
	return err
}

// Redis is the Limiter of any number of nodes. They share all counts, and the bans that the limiter starts, which Redis
// (5 or later) or Valkey keeps under one key a workspace and one an address; each decision is one script on one key, by
// the server's clock. Bans from the store hold on each node that SetBan tells of them.
//
// A call that was carried out in time and whose answer was lost counts, beside what the node then decides locally: never
// more is admitted for it. After three failures in a row Redis counts as away, and is asked each 100 ms whether it is
// back. A server that has lost counts gets back those that a node still knows. In a cluster, one master that is away is
// Redis that is away.
//
// As the script counts in microseconds, so does this limiter; and in one process it holds what a Memory does.
type Redis struct {
	*Memory // what this node knows
	redisClient

	deny     bool
	ownClock func() time.Time
	warned   bool // of a refusal, since Redis last answered; for probe alone

	mu    sync.Mutex            // taken after a subject's
	owing map[*subject]struct{} // those of which Redis is to be told
	stop  context.CancelFunc
	done  chan struct{}
}

var _ Limiter = (*Redis)(nil)

// AskRedis returns an error, in the words of Redis if it has any, unless it takes decisions. It counts nothing.
func AskRedis(o RedisOptions) error {
	r, err := newRedis(o)
	if err != nil {
		return err
	}
	if err := r.connect(); err != nil {
		return err
	}
	defer (*r.client.Load()).Close()
	return r.ping()
}

func newRedis(o RedisOptions) (*Redis, error) {
	options, err := clientOptions(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Answered == nil {
		o.Answered = func(time.Duration) {}
	}
	begin := time.Now()
	r := &Redis{
		redisClient: redisClient{
			log: o.Log, answered: o.Answered, options: options, node: rand.Text(), timeout: timeout,
			clock: serverClock{ticks: func() int64 { return int64(time.Since(begin)) }},
		},
		deny: o.Deny, ownClock: o.Now, owing: map[*subject]struct{}{}, done: make(chan struct{}),
	}
	r.Memory = NewMemory(o.Config, r.time)
	r.script = rueidis.NewLuaScript(r.rules.script())
	r.breaker.open.Store(true)
	return r, nil
}

// time is the clock of what is decided locally: the server's as far as it is known, so that its windows go on.
func (r *Redis) time() time.Time {
	earliest, _ := r.instant()
	return time.Unix(0, earliest).UTC()
}

// instant returns between which instants the server's clock stands, or this node's own as long as that is not known.
func (r *Redis) instant() (earliest, latest int64) {
	earliest, latest, known := r.clock.now()
	if !known {
		now := r.ownClock().UnixNano()
		return now, now
	}
	return floor(earliest, microsecond) * microsecond, latest
}

// Admit implements Limiter. It does not look at ctx: a decision once begun is finished, within 25 ms.
func (r *Redis) Admit(_ context.Context, c *Caller) Decision {
	c.subject.mu.Lock()
	return r.admit(c.subject, c)
}

// AdmitAddress implements Limiter. Config.Addresses bounds how many addresses one node counts apart in Redis: those
// without a place share one key there too.
func (r *Redis) AdmitAddress(_ context.Context, a netip.Addr) Decision {
	now, _ := r.instant()
	return r.admit(r.addresses.lock(a, now), nil)
}

// admit decides on a request of a key, or of an address without one. The subject's mutex is held, and given back.
func (r *Redis) admit(s *subject, c *Caller) Decision {
	defer s.mu.Unlock()
	if d, ok := r.cached(s, c); ok {
		return d
	}
	if r.breaker.open.Load() {
		return r.local(s, c)
	}
	q := s.ask(c, modeAdmit)
	s.remote.asking++
	s.mu.Unlock()
	a, err := r.call(&q)
	s.mu.Lock()
	s.remote.asking--
	if err != nil {
		return r.local(s, c)
	}
	r.counts.redis.Add(1)
	s.learn(c, &q, &a)
	return r.decided(s, c, &a.penalty, a.windows, a.outcome, a.begins, a.now)
}

// cached refuses without asking if Redis could only refuse too, and would have nothing to note: a key that is banned, or
// an address of which a window is full. What lies in the future, since a clock was set, is for Redis to judge.
func (r *Redis) cached(s *subject, c *Caller) (d Decision, ok bool) {
	now, latest := r.instant()
	if c != nil {
		p := &c.penalty
		if p.operator <= latest && (p.banUntil == 0 || p.banFrom > now && c.override == nil) {
			return d, false
		}
		if p.banned(now) <= latest {
			return d, false
		}
		r.counts.cached.Add(1)
		return r.decided(s, c, p, s.known(now), Banned, false, now), true
	}
	w, o := s.windows.at(now).admit(s.limits)
	if o == Admitted || s.windows.minuteStart > latest || w.reset(o) <= latest {
		return d, false
	}
	r.counts.cached.Add(1)
	return r.decided(s, nil, nil, w, o, false, now), true
}

// local decides without Redis from all that is known to be admitted, and as if Redis admitted each
// call that is under way. Bans hold, and go on being counted. The subject's mutex is held.
func (r *Redis) local(s *subject, c *Caller) Decision {
	now, _ := r.instant()
	if r.deny {
		r.counts.unavailable.Add(1)
		d := s.known(now).describe(s.limits)
		d.Outcome, d.RetryAfter = Unavailable, 1
		return d
	}
	r.counts.local.Add(1)
	w := s.known(now)
	if s.remote == nil {
		s.remote = &remote{}
	}
	w.minuteUsed += s.remote.asking
	w.dayUsed += s.remote.asking
	p := c.against()
	after, o, begins := decide(w, p, s.limits, &r.rules, now)
	if o == Admitted {
		s.remote.admitted(after, now)
		r.mu.Lock()
		r.owing[s] = struct{}{}
		r.mu.Unlock()
	}
	return r.decided(s, c, p, after, o, begins, now)
}

// Peek implements Limiter. Without Redis it tells what this node knows.
func (r *Redis) Peek(ctx context.Context, c *Caller) Decision {
	a, limits, ok := r.peek(c.subject, c)
	if !ok {
		return r.Memory.Peek(ctx, c)
	}
	c.subject.mu.Lock()
	a.penalty.banUntil = max(a.penalty.banUntil, c.penalty.banAt(a.now)) // a ban from the store is not in Redis
	c.subject.mu.Unlock()
	if a.penalty.banUntil != 0 {
		return decision(a.windows, Banned, &a.penalty, limits, a.now)
	}
	d := a.windows.describe(limits)
	d.StrikesLeft = a.penalty.strikesLeft(&r.rules, a.now)
	return d
}

// PeekWorkspace implements Limiter. Without Redis it tells what this node knows.
func (r *Redis) PeekWorkspace(ctx context.Context, id int64, limits Limits) Decision {
	r.Memory.mu.RLock()
	s := r.workspaces[id]
	r.Memory.mu.RUnlock()
	if s == nil {
		s = &subject{name: workspaceName(id)}
	}
	if a, _, ok := r.peek(s, nil); ok {
		return a.windows.describe(limits)
	}
	return r.Memory.PeekWorkspace(ctx, id, limits)
}

// PeekAddress implements Limiter.
func (r *Redis) PeekAddress(ctx context.Context, a netip.Addr) Decision {
	now, _ := r.instant()
	if a, limits, ok := r.peek(r.addresses.subject(a, now, false), nil); ok {
		_, o := a.windows.admit(limits)
		return decision(a.windows, o, nil, limits, a.now)
	}
	return r.Memory.PeekAddress(ctx, a)
}

// peek asks Redis how a subject stands, without a change there.
func (r *Redis) peek(s *subject, c *Caller) (a answer, limits Limits, ok bool) {
	if r.breaker.open.Load() {
		return a, limits, false
	}
	s.mu.Lock()
	q := s.ask(c, modePeek)
	s.mu.Unlock()
	a, err := r.call(&q)
	return a, q.limits, err == nil
}
