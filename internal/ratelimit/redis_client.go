package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// Times of the conversation with Redis.
const (
	timeout    = 25 * time.Millisecond  // for one decision
	connecting = time.Second            // for making a connection
	probing    = 100 * time.Millisecond // between attempts while Redis is away, and between reports
	checking   = time.Second            // between looks at the server's clock
	rechecking = 5 * time.Second        // after which sentinels are asked who is the master
	patience   = 3                      // failures in a row after which Redis is away
)

var (
	errAway = errors.New("there is no connection with Redis")
	errLate = errors.New("the call came to Redis after its deadline")
)

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

// run keeps in touch with Redis until ctx ends: to find it back while it is away, and else to tell it what single failed
// calls have left, and to follow its clock.
func (r *Redis) run(ctx context.Context) {
	tick := time.NewTicker(probing)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch {
		case r.breaker.open.Load():
			r.probe()
		case time.Since(last) >= checking:
			last = time.Now()
			r.check()
		default:
			_ = r.report() // counted, and tried again
		}
	}
}

// Close ends the conversation with Redis, after telling it what was admitted without it, if it answers. It may be
// repeated. Decisions after that are those of a node without Redis.
func (r *Redis) Close() {
	r.stop()
	<-r.done
	if !r.breaker.open.Load() {
		_ = r.report() // what is not told is saved
	}
	r.breaker.open.Store(true)
	if c := r.client.Swap(nil); c != nil {
		(*c).Close()
	}
}

// probe asks whether Redis answers, and if it does, tells it what was admitted without it and closes the breaker.
func (r *Redis) probe() {
	err := r.connect()
	if err == nil {
		err = r.ping()
	}
	if err == nil {
		err = r.report()
	}
	if err != nil {
		r.complain(err)
		return
	}
	r.warned = false
	if r.breaker.close() {
		r.log.Info("Redis answers; requests are counted there")
	}
}

// complain logs why Redis does not answer; for everyone to see, once, if it takes somebody to change that.
func (r *Redis) complain(err error) {
	if isRefusal(err) && !r.warned {
		r.warned = true
		r.log.Warn("Redis refuses this node; requests are counted without it", "err", err)
		return
	}
	r.log.Debug("Redis does not answer", "err", err)
}

// connect makes the client, which connects anew by itself from then on.
func (r *Redis) connect() error {
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
func (r *Redis) ping() error {
	_, err := r.exec(&question{subject: "ping", mode: modePeek}, time.Now().Add(max(r.timeout, probing)))
	return err
}

// call has the script decide. A call that came late did nothing; after it the server's clock is known better, which may
// have been the cause, so it is repeated once, in the same time.
func (r *Redis) call(q *question) (a answer, err error) {
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
func (r *Redis) check() {
	if err := r.ping(); err != nil {
		r.fail(err)
		return
	}
	r.breaker.succeed() // lone failures of an idle node are not in a row
}

// fail notes that Redis did not answer.
func (r *Redis) fail(err error) {
	if r.breaker.fail() {
		r.log.Error("Redis does not answer; requests are counted without it", "err", err)
	}
}

// exec calls the script once.
func (r *Redis) exec(q *question, end time.Time) (a answer, err error) {
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
	r.counts.observe(time.Duration(ended - began))
	return a, nil
}

// times returns the instant for the script, 0 for the server's own, and the deadline by the server's clock, for calls
// whose time ends at end. It leaves two fifths of the time for the answer to come back.
func (r *Redis) times(end time.Time) (at, deadline int64) {
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
