package httpapi

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/petstore"
)

// How a gate decides. The numbers are for requests that take microseconds to
// milliseconds when there is room.
const (
	gateTarget   = 100 * time.Millisecond // how long the admitted may take on average
	gateBurst    = 3 * time.Second        // for so long all who come wait: a burst that passes is not refused
	gateRest     = time.Second            // when nobody has waited for so long, the next burst is a new one
	gatePatience = 100 * time.Millisecond // how long a request waits to be admitted, at first
	gateLongest  = 300 * time.Millisecond // and how long at most, if refusing takes too much
	gatePeriod   = 20 * time.Millisecond  // between two reviews of the limit
	gateLeast    = 128                    // the limit is never below: fewer writes would make small, dear groups
	gateCalm     = 512                    // the limit while nothing presses: the largest burst taken at once
	gateMost     = 4096                   // the limit is never above, nor is the number of those who wait
)

// errOverloaded refuses a request that was not admitted in time. It has no cause to log:
// the access log has its line.
var errOverloaded = &petstore.Error{
	Code: petstore.CodeServiceUnavailable, RetryAfter: time.Second,
	Message: "The service has more to do than it can at the moment. Nothing was changed; try again after a second.",
}

// GateStats are numbers of a gate for metrics.
type GateStats struct {
	Limit   int64 // of requests that are carried out at once, as it is now
	Inside  int64 // that are carried out now
	Waiting int64 // that wait to be admitted now
	Refused int64 // that were not admitted in time, or came when too many waited, since the start
}

// A gate keeps the requests of one kind that are carried out at once so few that
// each takes about gateTarget, however many are sent. By Little's law that is
// the rate at which they are done times the target, so the gate counts what is
// done and needs to know neither the store nor its queues: a write that waits
// for its group's commit is inside.
//
// Who finds the gate closed waits for gatePatience; the newest is admitted first,
// since the oldest has the least patience left, and its caller too. Waiting
// costs nothing, but to refuse costs the processor a good part of what it costs
// to serve: so when more than one is refused for four that are served, all wait
// longer, which slows callers down who ask again at once.
type gate struct {
	limit    atomic.Int64
	inside   atomic.Int64
	waiting  atomic.Int64
	done     atomic.Int64 // since the start
	refused  atomic.Int64
	patience atomic.Int64 // how long a request waits now, in nanoseconds
	pressed  atomic.Bool  // somebody found the gate closed since the last review
	due      atomic.Int64 // when the next review is, in Unix nanoseconds

	mu       sync.Mutex
	queue    []*waiter // the newest last
	reviewed time.Time // when the last review was
	counted  int64     // done at that time
	turned   int64     // refused at that time
	rate     float64   // done a second, smoothed
	filled   float64   // inside, smoothed

	burstSince time.Time // when the gate was first closed to this burst
	pressedAt  time.Time // when somebody last had to wait
}

// A waiter is a request that waits to be admitted.
type waiter struct {
	admitted bool // below the gate's mutex
	turn     chan struct{}
}

func newGate() *gate {
	g := &gate{}
	g.limit.Store(gateCalm)
	g.patience.Store(int64(gatePatience))
	return g
}

// enter returns true if the request may be carried out, at once or after a
// short wait, and false if it is to be refused. now is when the request came.
// Whoever was let in must leave.
func (g *gate) enter(now time.Time) bool {
	if now.UnixNano() >= g.due.Load() {
		g.review(now)
	}
	return g.tryEnter() || g.wait()
}

func (g *gate) tryEnter() bool {
	for limit := g.limit.Load(); ; {
		n := g.inside.Load()
		if n >= limit {
			return false
		}
		if g.inside.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave makes room for another.
func (g *gate) leave() {
	g.done.Add(1)
	g.inside.Add(-1)
	if g.waiting.Load() > 0 {
		g.mu.Lock()
		g.admit()
		g.mu.Unlock()
	}
}

// admit lets in as many as there is room for. The caller holds the mutex.
func (g *gate) admit() {
	for n := len(g.queue); n > 0 && g.tryEnter(); n-- {
		w := g.queue[n-1]
		g.remove(n - 1)
		w.admitted = true
		close(w.turn)
	}
}

// remove takes the waiter at a place out of the queue. The caller holds the mutex.
func (g *gate) remove(at int) {
	g.queue = slices.Delete(g.queue, at, at+1)
	g.waiting.Add(-1)
}

// wait returns whether the request was admitted before its patience ended.
func (g *gate) wait() bool {
	g.pressed.Store(true)
	w, patience := g.join()
	if w == nil {
		g.refused.Add(1)
		return false
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.turn:
	case <-timer.C:
	}
	return g.settle(w)
}

// join puts a request into the queue, and returns how long it may wait; nil if too
// many do.
func (g *gate) join() (*waiter, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) >= gateMost {
		return nil, 0
	}
	w := &waiter{turn: make(chan struct{})}
	g.queue = append(g.queue, w)
	g.waiting.Add(1)
	g.admit() // the last one inside may have left without seeing anybody wait
	return w, g.patienceAt(time.Now())
}

// settle ends a wait, and returns whether the request is admitted.
func (g *gate) settle(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pressedAt = time.Now()
	if w.admitted {
		return true
	}
	g.remove(slices.Index(g.queue, w))
	if g.tryEnter() { // what was to wake it may itself have had no turn on a busy processor
		return true
	}
	g.refused.Add(1)
	return false
}

// patienceAt returns how long who comes now may wait. The caller holds the
// mutex.
func (g *gate) patienceAt(now time.Time) time.Duration {
	if now.Sub(g.pressedAt) > gateRest {
		g.burstSince = now
	}
	g.pressedAt = now
	return max(time.Duration(g.patience.Load()), gateBurst-now.Sub(g.burstSince))
}

// review sets the limit from what was done since the last one.
func (g *gate) review(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.UnixNano() < g.due.Load() {
		return
	}
	g.due.Store(now.Add(gatePeriod).UnixNano())
	took, done := now.Sub(g.reviewed), g.done.Load()
	refused := g.refused.Load()
	g.patience.Store(int64(nextPatience(time.Duration(g.patience.Load()), done-g.counted, refused-g.turned)))
	rate := float64(done-g.counted) / took.Seconds()
	inside := float64(g.inside.Load())
	if took > 10*gatePeriod { // what was then says nothing of now
		g.rate, g.filled = rate, inside
	}
	g.rate += (rate - g.rate) / 4
	g.filled += (inside - g.filled) / 4
	g.reviewed, g.counted, g.turned = now, done, refused
	g.limit.Store(nextLimit(g.limit.Load(), g.rate, g.filled, g.pressed.Swap(false)))
	g.admit()
}

// nextPatience makes those who wait more patient while too many are refused for
// what is done, and less by and by.
func nextPatience(patience time.Duration, done, refused int64) time.Duration {
	if refused > done/4 {
		return min(patience*5/4, gateLongest)
	}
	return max(patience*127/128, gatePatience)
}

// nextLimit moves the limit: half the way to what the rate allows if that
// presses, and else back to the calm one by and by.
func nextLimit(limit int64, rate, inside float64, pressed bool) int64 {
	fair := rate * gateTarget.Seconds()
	switch {
	case pressed || inside > max(fair, gateLeast):
		limit += (int64(fair) - limit) / 2
	case limit < gateCalm:
		limit = min(gateCalm, limit+limit/8)
	case limit > gateCalm:
		limit = max(gateCalm, limit-limit/8)
	}
	return min(max(limit, gateLeast), gateMost)
}

func (g *gate) stats() GateStats {
	return GateStats{g.limit.Load(), g.inside.Load(), g.waiting.Load(), g.refused.Load()}
}

// The gates are one for each of the two kinds of requests, since reads and writes wait for
// different things: a store that cannot write can still be read.
type gates struct{ reads, writes *gate }

func newGates() gates { return gates{newGate(), newGate()} }

// of returns the gate of an operation with the method.
func (g *gates) of(method string) *gate {
	if method == http.MethodGet {
		return g.reads
	}
	return g.writes
}

// stats returns the numbers of both gates by the names of their metrics' labels.
func (g *gates) stats() map[string]GateStats {
	return map[string]GateStats{"read": g.reads.stats(), "write": g.writes.stats()}
}
