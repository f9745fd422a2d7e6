package ratelimit

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// nodesKey is where the nodes are known in Redis.
const nodesKey = keyPrefix + "nodes"

// presence is how the nodes know of each other.
type presence struct {
	id    string
	sha1  string        // the name of what shows it
	nodes *atomic.Int64 // last seen alive, this one among them
}

func newPresence() presence {
	p := presence{id: rand.Text(), sha1: nameOf(nodesSource), nodes: new(atomic.Int64)}
	p.nodes.Store(1)
	return p
}

// run keeps in touch with Redis until ctx ends: often while it is away, to find it back, and else to show that this node
// lives, and to pay what single failed calls have left.
func (r *Redis) run(ctx context.Context) {
	tick := time.NewTicker(probing)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r.servers.check()
		switch {
		case r.breaker.open.Load():
			r.probe()
			last = time.Now()
		case time.Since(last) >= beating:
			last = time.Now()
			if err := r.greet(gone); err != nil {
				r.breaker.fail()
			}
		default:
			_ = r.pay()
		}
	}
}

// probe asks whether Redis answers, and if it does, pays what is owed and closes the breaker.
func (r *Redis) probe() {
	err := r.servers.discover()
	if err == nil {
		err = r.greet(gone)
	}
	if err == nil {
		err = r.pay()
	}
	if err != nil {
		r.report(err)
		return
	}
	r.warned = false
	if r.breaker.close() {
		r.log.Info("Redis answers; requests are counted there", "nodes", r.nodes.Load())
	}
}

// report logs why Redis does not answer; for everyone to see, once, if it takes somebody to change that.
func (r *Redis) report(err error) {
	if isRefusal(err) && !r.warned {
		r.warned = true
		r.log.Warn("Redis refuses this node; requests are counted without it", "err", err)
		return
	}
	r.log.Debug("Redis does not answer", "err", err)
}

// greet shows that this node lives, for as long as given, and learns how many do, and the server's clock.
func (r *Redis) greet(lives time.Duration) error {
	routes := r.servers.routes.Load()
	if routes == nil {
		return errAway
	}
	to, err := routes.of(nodesKey)
	if err != nil {
		return err
	}
	got, began, err := r.beat(to, lives)
	if next, _ := r.servers.redirected(to, err); next != nil {
		got, began, err = r.beat(next, lives)
	}
	if err != nil {
		r.servers.doubt()
		return err
	}
	if len(got) != 2 {
		return errAnswer
	}
	r.nodes.Store(max(1, got[0]))
	if r.virtual == nil {
		r.clock.learn(got[1]*microsecond, began, r.clock.ticks())
	}
	return nil
}

// beat has one server note that this node lives. It returns what the script does, and when the call began.
func (r *Redis) beat(to *server, lives time.Duration) (got []int64, began int64, err error) {
	end := time.Now().Add(max(r.timeout, probing))
	for _, call := range []command{{"EVALSHA", []any{r.presence.sha1}}, {"EVAL", []any{nodesSource}}} {
		call.args = append(call.args, 1, nodesKey, r.id, lives.Microseconds())
		began = r.clock.ticks()
		replies, err := to.do(end, call)
		if err != nil {
			return nil, 0, err
		}
		got, err = redis.Int64s(replies[0].value, replies[0].err)
		if codeOf(err) != "NOSCRIPT" {
			return got, began, err
		}
	}
	return nil, 0, errAnswer
}

// leave tells the others that this node goes.
func (r *Redis) leave() { _ = r.greet(0) }
