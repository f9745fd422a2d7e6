package httpapi

import (
	"net/http"
	"slices"
	"sync"
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
	Message: "The server is overloaded. Nothing was changed; try again after a second.",
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
	mu       sync.Mutex
	limit    int64
	inside   int64
	done     int64         // since the start
	refused  int64         // since the start
	patience time.Duration // how long a request waits now
	pressed  bool          // somebody found the gate closed since the last review
	queue    []*waiter     // the newest last; nobody is in it while there is room

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
	patience time.Duration
	turn     chan struct{}
	admitted bool // below the gate's mutex
}

func newGate() *gate { return &gate{limit: gateCalm, patience: gatePatience} }

// enter returns true if the request may be carried out, at once or after a
// short wait, and false if it is to be refused. now is when the request came.
// Whoever was let in must leave.
func (g *gate) enter(now time.Time) bool {
	w, admitted := g.join(now)
	if w == nil {
		return admitted
	}
	timer := time.NewTimer(w.patience)
	defer timer.Stop()
	select {
	case <-w.turn:
	case <-timer.C:
	}
	return g.settle(w)
}

// join admits a request if there is room, and else puts it into the queue, unless
// too many wait.
func (g *gate) join(now time.Time) (w *waiter, admitted bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Sub(g.reviewed) >= gatePeriod {
		g.review(now)
	}
	if g.inside < g.limit {
		g.inside++
		return nil, true
	}
	g.pressed = true
	if len(g.queue) >= gateMost {
		g.refused++
		return nil, false
	}
	w = &waiter{patience: g.patienceAt(time.Now()), turn: make(chan struct{})}
	g.queue = append(g.queue, w)
	return w, false
}

// leave makes room for another.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done++
	g.inside--
	g.admit()
}

// admit lets in as many as there is room for. The caller holds the mutex.
func (g *gate) admit() {
	for n := len(g.queue); n > 0 && g.inside < g.limit; n-- {
		w := g.queue[n-1]
		g.queue = slices.Delete(g.queue, n-1, n)
		g.inside++
		w.admitted = true
		close(w.turn)
	}
}

// settle ends a wait, and returns whether the request is admitted.
func (g *gate) settle(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pressedAt = time.Now()
	if !w.admitted {
		at := slices.Index(g.queue, w)
		g.queue = slices.Delete(g.queue, at, at+1)
		g.refused++
	}
	return w.admitted
}

// patienceAt returns how long who comes now may wait. The caller holds the
// mutex.
func (g *gate) patienceAt(now time.Time) time.Duration {
	if now.Sub(g.pressedAt) > gateRest {
		g.burstSince = now
	}
	g.pressedAt = now
	return max(g.patience, gateBurst-now.Sub(g.burstSince))
}

// review sets the limit from what was done since the last one. The caller holds
// the mutex.
func (g *gate) review(now time.Time) {
	took, done, refused := now.Sub(g.reviewed), g.done-g.counted, g.refused-g.turned
	g.patience = nextPatience(g.patience, done, refused)
	rate, inside := float64(done)/took.Seconds(), float64(g.inside)
	if took > 10*gatePeriod { // what was then says nothing of now
		g.rate, g.filled = rate, inside
	}
	g.rate += (rate - g.rate) / 4
	g.filled += (inside - g.filled) / 4
	g.limit = nextLimit(g.limit, g.rate, g.filled, g.pressed)
	g.reviewed, g.counted, g.turned, g.pressed = now, g.done, g.refused, false
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
	g.mu.Lock()
	defer g.mu.Unlock()
	return GateStats{g.limit, g.inside, int64(len(g.queue)), g.refused}
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
