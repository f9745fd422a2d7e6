package ratelimit

import (
	"context"
	"crypto/sha1" //nolint:gosec // it names scripts in Redis, and protects nothing
	"encoding/hex"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// How calls go together. Several batches under way keep the server busy while the callers of others are answered.
const (
	batches  = 3  // under way at once
	batchMin = 24 // taken of those who wait, if there are as many
)

// A queue gathers the calls of many callers: those that come while others are under way go together with the next batch,
// in one write and one read. Nothing runs beside the callers; the first of a batch carries it.
type queue struct {
	mu       sync.Mutex
	underway int // batches
	waiting  []*waiter
}

// A waiter is a call in the queue.
type waiter struct {
	q            *question
	text         bool      // the server does not know the script: send its text
	end          time.Time // when the caller goes on without an answer
	result       rueidis.RedisResult
	began, ended int64 // ticks around the call
	done         chan struct{}
	carries      []*waiter // the batch that this one is to carry; nil: it was carried
}

// join has w answered, with others. No more than the given number of batches are under way at once.
func (l *queue) join(w *waiter, most int, carry func([]*waiter)) {
	l.mu.Lock()
	if l.underway < most {
		l.underway++
		w.carries = []*waiter{w}
		l.mu.Unlock()
	} else {
		w.done = make(chan struct{}, 1)
		l.waiting = append(l.waiting, w)
		l.mu.Unlock()
		<-w.done
	}
	if w.carries == nil {
		return
	}
	carry(w.carries)
	l.next()
	for _, other := range w.carries[1:] {
		other.done <- struct{}{}
	}
}

// next hands the place of a batch that has been answered to those who wait.
func (l *queue) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.waiting)
	if n == 0 {
		l.underway--
		return
	}
	n = min(n, max(batchMin, (n+batches-1)/batches))
	batch := make([]*waiter, n)
	rest := copy(l.waiting, l.waiting[copy(batch, l.waiting):])
	clear(l.waiting[rest:])
	l.waiting = l.waiting[:rest]
	batch[0].carries = batch
	batch[0].done <- struct{}{}
}

// carry sends a batch and waits for its answers, until the time of the one who has waited longest is over. That is the
// time of all, so that the server carries out none whose caller has gone.
func (r *Redis) carry(client rueidis.Client, batch []*waiter) {
	ctx, cancel := context.WithDeadline(context.Background(), batch[0].end)
	defer cancel()
	at, deadline := r.times(batch[0].end)
	commands := make([]rueidis.Completed, len(batch)) // which rueidis may still look at when ctx has ended
	for i, w := range batch {
		commands[i] = r.command(client, w, at, deadline)
	}
	began := r.clock.ticks()
	results := do(ctx, client, commands)
	ended := r.clock.ticks()
	for i, w := range batch {
		w.result, w.began, w.ended = results[i], began, ended
	}
}

func do(ctx context.Context, client rueidis.Client, commands []rueidis.Completed) []rueidis.RedisResult {
	if len(commands) == 1 {
		return []rueidis.RedisResult{client.Do(ctx, commands[0])}
	}
	return client.DoMulti(ctx, commands...)
}

// command returns the call of the script.
func (r *Redis) command(client rueidis.Client, w *waiter, at, deadline int64) rueidis.Completed {
	args := w.q.arguments(at, deadline)
	if w.text {
		return client.B().Eval().Script(r.script).Numkeys(1).Key(w.q.key).Arg(args...).Build()
	}
	return client.B().Evalsha().Sha1(r.sha1).Numkeys(1).Key(w.q.key).Arg(args...).Build()
}

// nameOf returns the name by which Redis knows a script.
func nameOf(source string) string {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // it names, and protects nothing
	return hex.EncodeToString(sum[:])
}
