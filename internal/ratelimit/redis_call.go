package ratelimit

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

var (
	errAway = errors.New("there is no connection with Redis")
	errLate = errors.New("the call came to Redis after its deadline")
)

// call has the script decide. A call that came late did nothing; after it the server's clock is known better, which may
// have been the cause, so it is repeated once, in the same time.
func (r *Redis) call(q *question) (a answer, err error) {
	client := r.client.Load()
	if client == nil {
		return a, errAway
	}
	end := time.Now().Add(r.timeout)
	for range 2 {
		if a, err = r.exec(*client, q, end); err != nil {
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

func (r *Redis) exec(client rueidis.Client, q *question, end time.Time) (a answer, err error) {
	joined := r.clock.ticks()
	w := waiter{q: q, end: end}
	r.send(client, &w)
	if reply, yes := rueidis.IsRedisErr(w.result.Error()); yes && reply.IsNoScript() {
		w = waiter{q: q, end: end, text: true}
		r.send(client, &w)
	}
	raw, err := w.result.AsBytes()
	if err != nil {
		return a, fmt.Errorf("the limiter's script: %w", err)
	}
	if a, err = parseAnswer(raw); err != nil {
		return a, err
	}
	r.clock.learn(a.now, w.began, w.ended)
	r.counts.observe(time.Duration(w.ended - joined))
	return a, nil
}

// send has a call answered together with others. The calls to a cluster go each for itself: one part of it may be away
// while the others answer.
func (r *Redis) send(client rueidis.Client, w *waiter) {
	most := batches
	if client.Mode() == rueidis.ClientModeCluster {
		most = math.MaxInt
	}
	r.queue.join(w, most, func(batch []*waiter) { r.carry(client, batch) })
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
