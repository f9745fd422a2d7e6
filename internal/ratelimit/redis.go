package ratelimit

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/redis/rueidis"
)

// RedisOptions are what a Redis limiter needs.
type RedisOptions struct {
	URL    string // redis:// or rediss://, with ?master_set= of sentinels, with ?addr= of a cluster
	Config Config

	Now      func() time.Time         // is used until Redis has told its own time
	Log      *slog.Logger             // says when Redis goes away and comes back; may be nil
	Answered func(took time.Duration) // is called for each call that Redis answered, and must not block; may be nil

	// Deny has a node refuse requests while Redis does not answer: the outcome is Unavailable. Without it each node goes on
	// from its last known counts, as the package's comment says.
	Deny bool
}

// Redis has the Limiter of any number of nodes, which share all counts. Redis (5 or later) or Valkey has one key for each
// workspace and one for each address; each decision is one script on one key, by the server's clock. Each node counts
// strikes and begins bans by itself; Caller tells it of those of other nodes and of the operator.
//
// After three failures in a row Redis counts as away, until Check finds that it is back. Beside this the Limiter is what
// the node knows.
type Redis struct {
	*Limiter
	redisClient

	deny bool
}

// NewRedis returns a limiter that counts in Redis. It begins without it: have Check called at once, and then each
// CheckInterval. It returns an error if the URL cannot be used. Close ends it.
func NewRedis(o RedisOptions) (*Redis, error) {
	options, err := clientOptions(o.URL)
	if err != nil {
		return nil, err
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Answered == nil {
		o.Answered = func(time.Duration) {}
	}
	begin := time.Now()
	r := &Redis{
		redisClient: redisClient{
			log: o.Log, answered: o.Answered, options: options, timeout: callTimeout, script: rueidis.NewLuaScript(decideSource),
			clock: serverClock{ticks: func() int64 { return int64(time.Since(begin)) }},
		},
		deny: o.Deny,
	}
	r.clock.offset.Store(o.Now().UnixNano())
	r.Limiter = New(o.Config, func() time.Time { return time.Unix(0, r.clock.now()).UTC() })
	r.decide, r.refresh = r.admit, r.update
	r.away.Store(true)
	return r, nil
}

// Close ends the conversation with Redis, after the last call of Check. Decisions after that are those of a node without
// Redis.
func (r *Redis) Close() {
	r.away.Store(true)
	if c := r.client.Swap(nil); c != nil {
		(*c).Close()
	}
}

// admit decides on a request, as Limiter.decide says.
func (r *Redis) admit(s *subject, c *Caller) Decision {
	defer s.mu.Unlock()
	now := r.clock.now()
	s.windows = s.windows.current(now)
	if o := s.knownRefusal(c, now); o != Admitted {
		r.counts.cached.Add(1)
		return r.record(s, c, s.windows, o, now)
	}
	if r.away.Load() {
		return r.decideAway(s, c)
	}
	call := s.newCall(true)
	s.mu.Unlock()
	reply, err := r.call(&call)
	s.mu.Lock()
	if err != nil {
		return r.decideAway(s, c)
	}
	r.counts.redis.Add(1)
	r.merge(s, &reply)
	return r.record(s, c, reply.windows, reply.outcome, reply.now)
}

// knownRefusal returns what refuses a request, if the node knows it without asking Redis, or Admitted. A window that is
// about to end may be over by the clock of Redis.
func (s *subject) knownRefusal(c *Caller, now int64) Outcome {
	if c.bannedUntil(now) != 0 {
		return Banned
	}
	if _, o := s.windows.admit(s.limits); o != Admitted && s.windows.reset(o)-now > int64(callTimeout) {
		return o
	}
	return Admitted
}

// decideAway decides without Redis. What it admits is not reported to Redis. The subject's mutex is held.
func (r *Redis) decideAway(s *subject, c *Caller) Decision {
	if !r.deny {
		r.counts.local.Add(1)
		return r.decideAlone(s, c)
	}
	r.counts.unavailable.Add(1)
	d := s.windows.current(r.clock.now()).describe(s.limits)
	d.Outcome, d.RetryAfter = Unavailable, 1
	return d
}

// merge takes over the counts of a reply. Replies may arrive in another order than Redis sent them, and after the node has
// admitted requests alone, so a count of the same window only grows. The subject's mutex is held.
func (r *Redis) merge(s *subject, reply *scriptReply) {
	now := r.clock.now()
	s.windows = s.windows.current(now).atLeast(reply.windows.current(now))
}

// update asks Redis for the counts of a subject. Without Redis they stay those that the node knows.
func (r *Redis) update(s *subject) {
	if r.away.Load() {
		return
	}
	s.mu.Lock()
	call := s.newCall(false)
	s.mu.Unlock()
	if reply, err := r.call(&call); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		r.merge(s, &reply)
	}
}
