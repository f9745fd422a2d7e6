package ratelimit

import (
	"crypto/sha1" //nolint:gosec // it names scripts in Redis, and protects nothing
	"encoding/hex"
	"sync"
	"time"
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
	asking       bool      // the server is to answer for a part of the cluster that it does not have yet
	end          time.Time // when the caller goes on without an answer
	reply        reply
	began, ended int64 // ticks around the call
	done         chan struct{}
	carries      []*waiter // the batch that this one is to carry; nil: it was carried
}

// join has w answered, with others. No more than the given number of batches are under way at once.
func (q *queue) join(w *waiter, most int, carry func([]*waiter)) {
	q.mu.Lock()
	if q.underway < most {
		q.underway++
		w.carries = []*waiter{w}
		q.mu.Unlock()
	} else {
		w.done = make(chan struct{}, 1)
		q.waiting = append(q.waiting, w)
		q.mu.Unlock()
		<-w.done
	}
	if w.carries == nil {
		return
	}
	carry(w.carries)
	q.next()
	for _, other := range w.carries[1:] {
		other.done <- struct{}{}
	}
}

// next hands the place of a batch that has been answered to those who wait.
func (q *queue) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.waiting)
	if n == 0 {
		q.underway--
		return
	}
	n = min(n, max(batchMin, (n+batches-1)/batches))
	batch := make([]*waiter, n)
	rest := copy(q.waiting, q.waiting[copy(batch, q.waiting):])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
	batch[0].carries = batch
	batch[0].done <- struct{}{}
}

// carry sends a batch and waits for its answers, until the time of the one who has waited longest is over. That is the
// time of all, so that the server carries out none whose caller has gone. Those whose answers have come by then have them.
func (r *Redis) carry(s *server, batch []*waiter) {
	end := batch[0].end
	l, err := s.link(end)
	if err != nil {
		for _, w := range batch {
			w.reply = reply{err: err}
		}
		return
	}
	at, deadline := r.times(end)
	commands := make([]command, 0, len(batch))
	for _, w := range batch {
		if w.asking {
			commands = append(commands, command{name: "ASKING"})
		}
		commands = append(commands, r.command(w, at, deadline))
	}
	began := r.clock.ticks()
	replies, err := l.do(end, commands)
	ended := r.clock.ticks()
	for _, w := range batch {
		w.began, w.ended = began, ended
		if w.asking && len(replies) > 0 {
			replies = replies[1:]
		}
		w.reply = reply{err: err}
		if len(replies) > 0 {
			w.reply, replies = replies[0], replies[1:]
		}
	}
}

// command returns the call of the script.
func (r *Redis) command(w *waiter, at, deadline int64) command {
	name, script := "EVALSHA", r.name
	if w.text {
		name, script = "EVAL", r.script
	}
	return command{name, append([]any{script, 1, w.q.key}, w.q.arguments(at, deadline)...)}
}

// nameOf returns the name by which Redis knows a script.
func nameOf(source string) string {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // it names, and protects nothing
	return hex.EncodeToString(sum[:])
}
