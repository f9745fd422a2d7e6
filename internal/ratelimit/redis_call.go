package ratelimit

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

var (
	errAway = errors.New("there is no connection with Redis")
	errLate = errors.New("the call came to Redis after its deadline")
)

// elsewhere is how often a call that was refused goes where the refusal says.
const elsewhere = 4

// call has the script decide. A call that came late did nothing; after it the server's clock is known better, which may
// have been the cause, so it is repeated once, in the same time.
func (r *Redis) call(q *question) (a answer, err error) {
	routes := r.servers.routes.Load()
	if routes == nil {
		return a, errAway
	}
	end := time.Now().Add(r.timeout)
	for range 2 {
		if a, err = r.exec(routes, q, end); err != nil {
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
	if r.breaker.fail() {
		r.log.Error("Redis does not answer; requests are counted without it", "err", err)
	}
	return a, err
}

func (r *Redis) exec(routes *routes, q *question, end time.Time) (a answer, err error) {
	joined := r.clock.ticks()
	to, err := routes.of(q.key)
	if err != nil {
		return a, err
	}
	w := waiter{q: q, end: end}
	r.send(to, &w)
	for range elsewhere {
		if !r.sendAgain(&to, &w) {
			break
		}
	}
	raw, err := redis.Bytes(w.reply.value, w.reply.err)
	if err != nil {
		r.servers.doubt()
		return a, fmt.Errorf("the limiter's script: %w", err)
	}
	if a, err = parseAnswer(raw); err != nil {
		return a, err
	}
	r.clock.learn(a.now, w.began, w.ended)
	r.counts.observe(time.Duration(w.ended - joined))
	return a, nil
}

// sendAgain sends a call again that was refused, and so did nothing, if the refusal says how it goes.
func (r *Redis) sendAgain(to **server, w *waiter) bool {
	if w.reply.err == nil {
		return false
	}
	again := waiter{q: w.q, end: w.end, text: w.text}
	if next, once := r.servers.redirected(*to, w.reply.err); next != nil {
		*to, again.asking = next, once
	} else if codeOf(w.reply.err) == "NOSCRIPT" {
		again.text, again.asking = true, w.asking
	} else {
		return false
	}
	*w = again
	r.send(*to, w)
	return true
}

// send has a call answered together with others to the same server.
func (r *Redis) send(to *server, w *waiter) {
	to.queue.join(w, batches, func(batch []*waiter) { r.carry(to, batch) })
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
