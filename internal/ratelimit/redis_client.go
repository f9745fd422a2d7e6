package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// CheckInterval is how often Check is to be called.
const CheckInterval = 100 * time.Millisecond

const (
	quietInterval    = time.Second           // between checks while Redis answers
	callTimeout      = 25 * time.Millisecond // for one decision
	failureThreshold = 3                     // failed calls or checks in a row after which Redis is away
)

var errAway = errors.New("there is no connection with Redis")

// A redisClient has Redis run the script.
type redisClient struct {
	log      *slog.Logger
	answered func(took time.Duration)
	options  rueidis.ClientOption
	client   atomic.Pointer[rueidis.Client] // nil until Redis has answered
	script   *rueidis.Lua
	clock    serverClock
	timeout  time.Duration
	virtual  func() int64 // replaces the server's clock in tests, if it is not nil
	counts   redisCounts

	away       atomic.Bool  // Redis is not asked, but checked on
	failures   atomic.Int32 // calls and checks that failed in a row
	logged     atomic.Int64 // when the log last said that Redis is away, in Unix seconds
	awayLogged atomic.Bool  // the log says that Redis is away
	pings      atomic.Int64
	checked    time.Time // when Check last asked Redis
}

type redisCounts struct{ redis, cached, local, unavailable, failed atomic.Int64 }

// connect makes the client, unless there is one. A client reconnects by itself.
func (r *redisClient) connect() error {
	if r.client.Load() != nil {
		return nil
	}
	c, err := rueidis.NewClient(r.options)
	if err == nil {
		r.client.Store(&c)
	}
	return err
}

// call has the script decide. A call that fails is not repeated, since Redis may have carried it out.
func (r *redisClient) call(c *scriptCall) (scriptReply, error) {
	reply, err := r.exec(c, r.timeout)
	switch {
	case err != nil:
		r.counts.failed.Add(1)
		r.fail(err)
	case r.failures.Load() != 0:
		r.failures.Store(0)
	}
	return reply, err
}

// ping has the script look at a subject that no request has. It changes nothing. The slots of the four subjects in turn are
// spread over a cluster: if one master is away, the others answer.
func (r *redisClient) ping() error {
	subject := "ping" + strconv.FormatInt(r.pings.Add(1)%4, 10)
	_, err := r.exec(&scriptCall{subject: subject}, max(r.timeout, CheckInterval))
	return err
}

// exec calls the script once.
func (r *redisClient) exec(c *scriptCall, timeout time.Duration) (reply scriptReply, err error) {
	client := r.client.Load()
	if client == nil {
		return reply, errAway
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var at int64
	if r.virtual != nil {
		at = r.virtual()
	}
	began := time.Now()
	raw, err := r.script.Exec(ctx, *client, []string{keyPrefix + c.subject}, c.arguments(at)).AsBytes()
	if err != nil {
		return reply, fmt.Errorf("the limiter's script: %w", err)
	}
	if reply, err = parseReply(raw); err != nil {
		return reply, err
	}
	r.clock.update(reply.now)
	r.answered(time.Since(began))
	return reply, nil
}

// Check checks on Redis if it is away, or was not checked on for a second: a node without requests notices too, and three
// calls that fail in a row have no check between them. It is not called concurrently.
func (r *redisClient) Check() {
	if r.away.Load() || time.Since(r.checked) >= quietInterval {
		r.checked = time.Now()
		r.check()
	}
}

// check connects, if that is needed, for a second at most, and notes whether Redis answers.
func (r *redisClient) check() {
	err := r.connect()
	if err == nil {
		err = r.ping()
	}
	if err != nil {
		r.fail(err)
		return
	}
	r.failures.Store(0)
	if r.away.CompareAndSwap(true, false) && r.awayLogged.Swap(false) {
		r.log.Info("Redis answers; requests are counted there")
	}
}

// fail notes a failure. The log says at most once a minute that Redis is away: without one master of a cluster it may be
// for a moment again and again.
func (r *redisClient) fail(err error) {
	if r.failures.Add(1) >= failureThreshold {
		r.away.Store(true)
	}
	last, now := r.logged.Load(), time.Now().Unix()
	if r.away.Load() && now-last >= 60 && r.logged.CompareAndSwap(last, now) {
		r.awayLogged.Store(true)
		r.log.Error("Redis cannot be used; requests are counted without it", "err", err)
	}
}

// A serverClock estimates the clock of Redis from the instants in its replies. The estimate is late by the time that the
// fastest reply took to arrive. It is early only after the clock of Redis was set back by less than a second.
type serverClock struct {
	ticks   func() int64 // this node's monotonic clock, in nanoseconds
	offset  atomic.Int64 // is added to ticks; before the first reply the sum is this node's own time
	updated atomic.Bool
}

func (c *serverClock) now() int64 { return c.ticks() + c.offset.Load() }

// update takes the server's instant from a reply that has just arrived.
func (c *serverClock) update(server int64) {
	offset, old := server-c.ticks(), c.offset.Load()
	if first := !c.updated.Swap(true); first || offset > old || offset < old-second {
		c.offset.CompareAndSwap(old, offset) // if another reply was faster, the next one will do
	}
}
