package httpapi

import (
	"net/http"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/petstore"
)

const (
	// gateReads and gateWrites are how many operations of a kind are carried out at once. Reads only need enough to keep
	// the processors and the connections to a database busy: more would each take longer. Writes fill two groups: while
	// one is committed, the next gathers.
	gateReads  = 128
	gateWrites = 512
	// gateQueue is how many more may wait.
	gateQueue = 4096
	// gatePatience is how long each of them waits at most: as long as a busy machine needs for those who waited for a
	// restart. Waiting costs nothing, but to refuse costs the processor a good part of what it costs to serve, and a
	// caller who is refused at once asks again at once.
	gatePatience = 3 * time.Second
)

// errOverloaded refuses a request that was not admitted in time. It has no cause to log:
// the access log has its line.
var errOverloaded = &petstore.Error{
	Code: petstore.CodeServiceUnavailable, RetryAfter: time.Second,
	Message: "The server is overloaded. Nothing was changed; try again after a second.",
}

// GateStats are numbers of a gate for metrics.
type GateStats struct {
	Limit   int64 // of requests that are carried out at once
	Inside  int64 // that are carried out now
	Waiting int64 // that wait to be admitted now
	Refused int64 // that were not admitted in time, or came when too many waited, since the start
}

// A gate bounds how many requests of one kind are carried out at once, and how many wait for that and for how long.
// Who waits is admitted in the order of coming.
type gate struct {
	room             chan struct{}
	waiting, refused atomic.Int64
}

func newGate(room int) *gate { return &gate{room: make(chan struct{}, room)} }

// enter returns true if the request may be carried out, at once or after a
// wait, and false if it is to be refused. Whoever was let in must leave.
func (g *gate) enter() bool {
	select {
	case g.room <- struct{}{}:
		return true
	default:
	}
	if g.wait() {
		return true
	}
	g.refused.Add(1)
	return false
}

func (g *gate) wait() (admitted bool) {
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > gateQueue {
		return false
	}
	timer := time.NewTimer(gatePatience)
	defer timer.Stop()
	select {
	case g.room <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

// leave makes room for another.
func (g *gate) leave() { <-g.room }

func (g *gate) stats() GateStats {
	return GateStats{int64(cap(g.room)), int64(len(g.room)), min(g.waiting.Load(), gateQueue), g.refused.Load()}
}

// The gates are one for each of the two kinds of requests, since reads and writes wait for
// different things: a store that cannot write can still be read.
type gates struct{ reads, writes *gate }

func newGates() gates { return gates{newGate(gateReads), newGate(gateWrites)} }

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
