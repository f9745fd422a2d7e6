package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// OnFailure says what a node does while Redis does not answer.
type OnFailure uint8

// The choices of a node without Redis. With n nodes, and a limit of L of which the nodes last knew k used:
const (
	// GoOnAlone has each node go on from the last known counts with the whole limit. In the window in which Redis goes
	// away at most k + n(L-k) requests are admitted, and n·L in each window after that.
	GoOnAlone OnFailure = iota
	// ShareOut has each node admit its share of what is left, (L-k)/n rounded down, with n the number of nodes last
	// seen. If the nodes last knew the same counts, and there are no more of them now, no more than L are admitted; a
	// node whose counts were older by d admits at most d/n more. A limit below n admits nothing.
	ShareOut
	// Deny refuses: the outcome is Unavailable.
	Deny
)

// ParseOnFailure returns the choice named "local", "share" or "deny".
func ParseOnFailure(name string) (OnFailure, error) {
	switch name {
	case "local":
		return GoOnAlone, nil
	case "share":
		return ShareOut, nil
	case "deny":
		return Deny, nil
	}
	return 0, fmt.Errorf("%q is none of local, share and deny", name)
}

// Times of the conversation with Redis.
const (
	timeout     = 25 * time.Millisecond  // for one decision
	connecting  = time.Second            // for making a connection
	probing     = 100 * time.Millisecond // between attempts while Redis is away
	beating     = time.Second            // between signs of life
	gone        = 5 * time.Second        // after which a silent node is not counted
	rechecking  = 5 * time.Second        // after which sentinels, or a cluster, are asked who is the master
	remembering = 10 * time.Second       // after which a server of no part of the cluster is forgotten
	patience    = 3                      // failures in a row after which Redis is away
)

// RedisOptions are what a Redis limiter needs. All but Log must be given.
type RedisOptions struct {
	URL       string // redis://, rediss://, unix://; with ?master_set= of sentinels, with ?addr= of a cluster
	Config    Config
	Now       func() time.Time // used before Redis has told its own time
	OnFailure OnFailure
	Log       *slog.Logger // says when Redis goes and comes; nil: nobody
}

// Validate returns an error if NewRedis would: the URL or the configuration
// cannot be used. It asks no server. The error tells no password.
func (o RedisOptions) Validate() error {
	_, err := o.target()
	return err
}

func (o RedisOptions) target() (target, error) {
	t, err := parseTarget(o.URL)
	if err != nil {
		return target{}, err
	}
	return t, o.Config.Validate()
}

// Redis is the Limiter of any number of nodes. They share all counts and bans, which Redis (5 or later) or Valkey keeps
// under one key a workspace and one an address; each decision is one script on one key, by the server's clock. Calls that
// come while others are under way go together with the next batch, in a cluster each server's calls.
//
// A call takes 25 ms at most. It bears a deadline, after which the script does nothing, and is not repeated, so that
// none counts twice. (A call that was carried out in time and whose answer was lost counts, beside what the node then
// decides alone: never more is admitted for it.) After three failures in a row Redis counts as away: the node decides
// alone, as OnFailure says, and asks each 100 ms whether Redis is back. Then what was admitted meanwhile is added; it is
// added again if the answer to that is lost. In a cluster, one master that is away is Redis that is away.
//
// Each node keeps what it last learned: a refusal that would change nothing in Redis (a ban that runs, an address, a key
// within its grace) is answered from there, and a server that has lost counts gets back those that a node still knows.
//
// As the script counts in microseconds, so does this limiter; and in one process it holds what a Memory does.
type Redis struct {
	m         *Memory
	onFailure OnFailure
	log       *slog.Logger
	servers   *servers
	script    string // with the rules in it
	name      string // in Redis, of its text
	clock     serverClock
	now       func() time.Time
	timeout   time.Duration
	virtual   func() int64 // an instant for the script in place of the server's, in tests; nil: the server's

	breaker breaker
	counts  redisCounts
	presence

	mu     sync.Mutex
	shares map[int64]*shared   // by workspace
	debts  map[*shared]*Caller // those who owe, and a handle of each
	owed   map[string]windows  // by address
	bans   map[string]*Ban     // changes that Redis does not know yet, by API key; nil: lifted
	untold atomic.Int64        // how many they are
	settle sync.Mutex          // held while debts are paid
	warned bool                // of a refusal, since Redis last answered; for probe alone
	stop   context.CancelFunc
	done   chan struct{}
}

var _ Limiter = (*Redis)(nil)

// NewRedis returns a limiter that counts in Redis. It tries to connect for a second at most; if Redis does not answer,
// the limiter begins without it. It returns an error if the URL or the configuration cannot be used. Close ends it.
func NewRedis(o RedisOptions) (*Redis, error) {
	r, err := newRedis(o)
	if err != nil {
		return nil, err
	}
	r.start()
	return r, nil
}

func newRedis(o RedisOptions) (*Redis, error) {
	target, err := o.target()
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	begin := time.Now()
	r := &Redis{
		onFailure: o.OnFailure, log: o.Log, servers: newServers(target),
		now: o.Now, timeout: timeout, presence: newPresence(),
		clock:  serverClock{ticks: func() int64 { return int64(time.Since(begin)) }},
		shares: map[int64]*shared{}, debts: map[*shared]*Caller{}, owed: map[string]windows{}, bans: map[string]*Ban{},
		done: make(chan struct{}),
	}
	r.m = NewMemory(o.Config, r.time)
	r.script = r.m.rules.script()
	r.name = nameOf(r.script)
	r.breaker.open.Store(true)
	return r, nil
}

// start begins to keep in touch with Redis.
func (r *Redis) start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	r.probe()
	go func() {
		defer close(r.done)
		r.run(ctx)
	}()
}

// Close ends the conversation with Redis, after telling it what was admitted without it, if it answers. It may be repeated. Decisions after
// that are those of a node without Redis.
func (r *Redis) Close() {
	r.stop()
	<-r.done
	r.settle.Lock()
	defer r.settle.Unlock()
	if !r.breaker.open.Load() {
		_ = r.payAll()
		r.leave()
	}
	r.breaker.open.Store(true)
	r.servers.close()
}

// time is the clock of what is decided alone: the server's as far as it is known, so that its windows go on.
func (r *Redis) time() time.Time {
	if earliest, _, known := r.clock.now(); known {
		return time.Unix(0, micros(earliest)*microsecond).UTC()
	}
	return r.now()
}

// Caller implements Limiter.
func (r *Redis) Caller(workspaceID int64, keyID string, limits Limits) *Caller {
	c := r.m.Caller(workspaceID, keyID, limits)
	r.mu.Lock()
	if c.key.shared == nil {
		c.key.shared = r.share(c, workspaceID)
	}
	r.mu.Unlock()
	if r.isChanging(keyID) && !r.breaker.open.Load() {
		_ = r.tell(keyID) // or else it is told with what is owed
	}
	c.ws.mu.Lock()
	defer c.ws.mu.Unlock()
	if s := c.key.shared; s.limits != limits {
		s.limits, s.doubted = limits, s.asked
	}
	return c
}

// share returns what is known of a workspace, at first what was restored. The caller holds mu.
func (r *Redis) share(c *Caller, id int64) *shared {
	s := r.shares[id]
	if s == nil {
		c.ws.mu.Lock()
		s = &shared{key: keyOf(workspaceSubject(id)), known: c.ws.windows}
		c.ws.mu.Unlock()
		r.shares[id] = s
	}
	return s
}

// Admit implements Limiter. It does not look at ctx: a decision once begun is finished, within 25 ms.
func (r *Redis) Admit(_ context.Context, c *Caller) Decision {
	if d, ok := r.refuseAgain(c); ok {
		return d
	}
	if r.breaker.open.Load() {
		return r.admitAlone(c)
	}
	q := r.ask(c, modeAdmit)
	a, err := r.call(&q)
	if err != nil {
		r.owe(c, &q)
		return r.admitAlone(c)
	}
	return r.learn(c, &a, &q)
}

// ask returns the question about a caller.
func (r *Redis) ask(c *Caller, mode int) question {
	ws, s := c.ws, c.key.shared
	ws.mu.Lock()
	defer ws.mu.Unlock()
	s.asked++
	q := question{key: s.key, keyID: c.key.id, mode: mode, limits: ws.limits, known: s.known, sequence: s.asked}
	if mode == modeAdmit || mode == modeSettle {
		q.add, s.owed = s.owed, windows{}
	}
	return q
}

// owe takes back what a question that failed would have paid.
func (r *Redis) owe(c *Caller, q *question) {
	if q.add.none() {
		return
	}
	r.counts.repeated.Add(q.add.most())
	now := r.time().UnixNano()
	c.ws.mu.Lock()
	c.key.shared.owed = q.add.plus(c.key.shared.owed, now)
	c.ws.mu.Unlock()
	r.indebt(c)
}

func (r *Redis) indebt(c *Caller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.debts[c.key.shared] = c
}

// learn takes over an answer to Admit and returns it as a decision.
func (r *Redis) learn(c *Caller, a *answer, q *question) Decision {
	r.counts.decided.Add(1)
	changing := r.isChanging(c.key.id)
	ws := c.ws
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if q.sequence > c.key.answered && !changing {
		c.key.answered = q.sequence
		c.key.penalty = a.penalty
		c.penalised = !a.penalty.clear()
	}
	c.key.shared.learn(a, q, &ws.windows)
	r.m.count(c, a.outcome, a.now)
	as := workspace{limits: q.limits, windows: a.windows}
	if a.outcome != Banned {
		return as.windows.decision(a.outcome, q.limits, a.now)
	}
	d := as.banned(a.penalty.banUntil, a.now)
	if a.begins {
		d.NewBan = a.penalty.describe(&r.m.rules, c.key.id)
	}
	return d
}

// refuseAgain refuses a request without asking, if the answer is known and the request would change nothing in Redis.
func (r *Redis) refuseAgain(c *Caller) (d Decision, ok bool) {
	now, latest, known := r.clock.now()
	if !known {
		return d, false
	}
	now = micros(now) * microsecond
	changing := r.isChanging(c.key.id)
	ws := c.ws
	ws.mu.Lock()
	defer ws.mu.Unlock()
	as := workspace{limits: ws.limits, windows: ws.windows.at(now)}
	if !c.penalised || !as.windows.means(ws.windows) && !changing {
		return d, false
	}
	if until := c.key.penalty.banUntil; until > latest && c.key.penalty.banFrom <= now {
		r.deny(c, Banned, now)
		return as.banned(until, now), true
	}
	_, o := as.windows.admit(as.limits, now)
	reset := as.windows.end(o, now)
	if o == Admitted || reset <= latest || c.key.answered <= c.key.shared.doubted || !c.key.penalty.forgives(&r.m.rules, now, latest, reset) {
		return d, false
	}
	r.deny(c, o, now)
	return as.windows.decision(o, as.limits, now), true
}

// deny counts a refusal that Redis need not know.
func (r *Redis) deny(c *Caller, o Outcome, now int64) {
	r.m.count(c, o, now)
	r.counts.denied.Add(1)
}

// forgives reports whether a refusal between two instants, by a window that resets at reset, changes nothing.
func (p *penalty) forgives(r *rules, now, latest, reset int64) bool {
	n := len(p.strikes)
	return p.banUntil == 0 && p.runFrom != 0 && p.runFrom <= now && p.runUntil == reset && latest-p.runFrom <= r.grace &&
		(n == 0 || p.strikes[n-1] <= now)
}

// Peek implements Limiter. Without Redis it tells what this node knows.
func (r *Redis) Peek(ctx context.Context, c *Caller) Decision {
	if r.breaker.open.Load() {
		return r.m.Peek(ctx, c)
	}
	q := r.ask(c, modePeek)
	a, err := r.call(&q)
	if err != nil {
		return r.m.Peek(ctx, c)
	}
	as := workspace{limits: q.limits, windows: a.windows}
	if a.outcome == Banned {
		return as.banned(a.penalty.banUntil, a.now)
	}
	if d := r.m.Peek(ctx, c); d.Outcome == Banned && r.isChanging(c.key.id) {
		return d
	}
	return as.windows.decision(Admitted, q.limits, a.now)
}

// SetBan implements Limiter. The ban holds on this node at once, and on all as soon as Redis answers.
func (r *Redis) SetBan(keyID string, b *Ban) {
	r.m.SetBan(keyID, b)
	r.change(keyID, b)
	if !r.breaker.open.Load() {
		_ = r.tell(keyID)
	}
}

// Drop implements Limiter.
func (r *Redis) Drop(keyID string) {
	r.m.Drop(keyID)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.bans, keyID)
	r.untold.Store(int64(len(r.bans)))
}

// Usage implements Limiter: it is what the key did on this node.
func (r *Redis) Usage(c *Caller) Usage { return r.m.Usage(c) }

// AdmitAddress implements Limiter. Config.Addresses bounds how many addresses one node counts apart in Redis.
func (r *Redis) AdmitAddress(_ context.Context, a netip.Addr) Decision { return r.admitAddress(a) }

// PeekAddress implements Limiter.
func (r *Redis) PeekAddress(ctx context.Context, a netip.Addr) Decision { return r.peekAddress(ctx, a) }
