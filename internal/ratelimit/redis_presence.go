package ratelimit

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// presence is how the nodes know of each other.
type presence struct {
	id    string
	beat  *rueidis.Lua
	nodes *atomic.Int64 // last seen alive, this one among them
}

func newPresence() presence {
	p := presence{id: rand.Text(), beat: rueidis.NewLuaScript(nodesSource), nodes: new(atomic.Int64)}
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
		switch {
		case r.breaker.open.Load():
			r.probe(ctx)
			last = time.Now()
		case time.Since(last) >= beating:
			last = time.Now()
			if err := r.greet(ctx, gone); err != nil {
				r.breaker.fail()
			}
		default:
			_ = r.pay()
		}
	}
}

// probe asks whether Redis answers, and if it does, pays what is owed and closes the breaker.
func (r *Redis) probe(ctx context.Context) {
	err := r.connect()
	if err == nil {
		err = r.greet(ctx, gone)
	}
	if err == nil {
		err = r.pay()
	}
	if err != nil {
		r.log.Debug("Redis does not answer", "err", err)
		return
	}
	if r.breaker.close() {
		r.log.Info("Redis answers; requests are counted there", "nodes", r.nodes.Load())
	}
}

// connect makes the client, which then connects anew by itself.
func (r *Redis) connect() error {
	if r.client.Load() != nil {
		return nil
	}
	c, err := rueidis.NewClient(r.options)
	if err != nil {
		return err
	}
	r.client.Store(&c)
	return nil
}

// greet shows that this node lives, for as long as given, and learns how many do, and the server's clock.
func (r *Redis) greet(ctx context.Context, lives time.Duration) error {
	client := r.client.Load()
	if client == nil {
		return errAway
	}
	ctx, cancel := context.WithTimeout(ctx, max(r.timeout, probing))
	defer cancel()
	began := r.clock.ticks()
	args := []string{r.id, strconv.FormatInt(lives.Microseconds(), 10)}
	got, err := r.beat.Exec(ctx, *client, []string{"petstore:nodes"}, args).AsIntSlice()
	if err != nil {
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

// leave tells the others that this node goes.
func (r *Redis) leave() { _ = r.greet(context.Background(), 0) }
