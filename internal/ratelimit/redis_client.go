package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// Times of the conversation with Redis.
const (
	timeout  = 25 * time.Millisecond  // for one decision
	probing  = 100 * time.Millisecond // between attempts while Redis is away, and between reports
	checking = time.Second            // between looks at the server's clock
	patience = 3                      // failures in a row after which Redis is away
)

var (
	errAway = errors.New("there is no connection with Redis")
	errLate = errors.New("the call came to Redis after its deadline")
)

// A redisClient has the script decide.
type redisClient struct {
	log     *slog.Logger
	options rueidis.ClientOption
	client  atomic.Pointer[rueidis.Client] // nil until Redis has answered
	script  *rueidis.Lua
	node    string // names this node's local admissions
	clock   serverClock
	timeout time.Duration
	virtual func() int64 // an instant for the script in place of the server's, in tests; nil: the server's
	breaker breaker
	counts  redisCounts

	answered func(took time.Duration)
}

// connect makes the client, which connects anew by itself from then on.
func (r *redisClient) connect() error {
	if r.client.Load() != nil {
		return nil
	}
	c, err := rueidis.NewClient(r.options)
	if err == nil {
		r.client.Store(&c)
	}
	return err
}

// ping has the script look at a subject that nobody is, and learns the server's clock.
func (r *redisClient) ping() error {
	_, err := r.exec(&question{subject: "ping", mode: modePeek}, time.Now().Add(max(r.timeout, probing)))
	return err
}

// call has the script decide. A call that came late did nothing; after it the server's clock is known better, which may
// have been the cause, so it is repeated once, in the same time.
func (r *redisClient) call(q *question) (a answer, err error) {
	end := time.Now().Add(r.timeout)
	for range 2 {
		if a, err = r.exec(q, end); err != nil {
			break
		}
		if !a.late {
			r.breaker.succeed()
			return a, nil
		}
		r.counts.late.Add(1)
		err = errLate
	}
	r.counts.failed.Add(1)
	r.fail(err)
	return a, err
}

// check finds out that Redis is away while nobody asks it anything.
func (r *redisClient) check() {
	if err := r.ping(); err != nil {
		r.fail(err)
		return
	}
	r.breaker.succeed() // lone failures of an idle node are not in a row
}

// fail notes that Redis did not answer.
func (r *redisClient) fail(err error) {
	if r.breaker.fail() {
		r.away(err)
	}
}

// away logs that from now on Redis is not asked.
func (r *redisClient) away(err error) {
	r.log.Error("Redis does not answer; requests are counted without it", "err", err)
}

// exec calls the script once.
func (r *redisClient) exec(q *question, end time.Time) (a answer, err error) {
	client := r.client.Load()
	if client == nil {
		return a, errAway
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	at, deadline := r.times(end)
	began := r.clock.ticks()
	raw, err := r.script.Exec(ctx, *client, q.keys(r.node), q.arguments(at, deadline)).AsBytes()
	ended := r.clock.ticks()
	if err != nil {
		return a, fmt.Errorf("the limiter's script: %w", err)
	}
	if a, err = parseAnswer(raw); err != nil {
		return a, err
	}
	r.clock.learn(a.now, began, ended)
	r.answered(time.Duration(ended - began))
	return a, nil
}

// times returns the instant for the script, 0 for the server's own, and the deadline by the server's clock, for calls
// whose time ends at end. It leaves two fifths of the time for the answer to come back.
func (r *redisClient) times(end time.Time) (at, deadline int64) {
	if r.virtual != nil {
		at = r.virtual()
	}
	if earliest, _, known := r.clock.now(); known {
		deadline = earliest + int64(time.Until(end)) - int64(r.timeout)*2/5
	}
	return at, deadline
}

// A breaker keeps calls away from a Redis that does not answer.
type breaker struct {
	open     atomic.Bool
	failures atomic.Int32 // in a row
	opened   atomic.Int64 // how often it did
}

func (b *breaker) succeed() {
	if b.failures.Load() != 0 {
		b.failures.Store(0)
	}
}

// fail reports whether this failure opens the breaker.
func (b *breaker) fail() bool {
	if b.failures.Add(1) < patience || !b.open.CompareAndSwap(false, true) {
		return false
	}
	b.opened.Add(1)
	return true
}

func (b *breaker) close() bool {
	b.failures.Store(0)
	return b.open.CompareAndSwap(true, false)
}

// A serverClock estimates another machine's clock from the instants that come with its answers. Each answer says that
// the difference to our clock lies between two bounds, apart by the time that the call took. The bounds of all answers
// together are kept; an answer that contradicts them, since a clock was set or has drifted, begins afresh.
//
// Our clock is a monotonic one: only the other can be set.
type serverClock struct {
	ticks  func() int64 // our clock, in nanoseconds
	bounds atomic.Pointer[bounds]
}

// bounds of what is to be added to our clock.
type bounds struct{ low, high int64 }

// learn takes an answer in which the server's clock stood at the given instant, to a call begun and ended by our clock.
func (c *serverClock) learn(server, began, ended int64) {
	b := bounds{low: server - ended, high: server - began + microsecond} // the script's clock rounds down
	old := c.bounds.Load()
	if old != nil {
		if both := (bounds{max(b.low, old.low), min(b.high, old.high)}); both.low <= both.high {
			b = both
		}
		if b == *old {
			return
		}
	}
	c.bounds.CompareAndSwap(old, &b) // if another answer was faster, the next will do
}

// now returns the bounds of the server's clock, and whether they are known.
func (c *serverClock) now() (earliest, latest int64, known bool) {
	b := c.bounds.Load()
	if b == nil {
		return 0, 0, false
	}
	t := c.ticks()
	return t + b.low, t + b.high, true
}

type redisCounts struct{ redis, cached, local, unavailable, failed, late atomic.Int64 }
