package cli

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/ratelimit"
)

// A limiter counts in this process or in Redis.
type limiter interface {
	ratelimit.Limiter
	Restore(ratelimit.Saved) error
	Keep(ctx context.Context, store ratelimit.Store, every time.Duration) error
	Stats() ratelimit.Stats
}

var _, _ limiter = (*ratelimit.Memory)(nil), (*ratelimit.Redis)(nil)

// checkLimiter returns an error that names the setting if newLimiter would: it
// asks no Redis, and is for before anything is made.
func (a *app) checkLimiter() error {
	if a.config.Redis == "" {
		return nil
	}
	_, err := a.redisOptions()
	return err
}

// newLimiter returns the limiter that the operator chose.
func (a *app) newLimiter(now func() time.Time, log *slog.Logger) (limiter, error) {
	if a.config.Redis == "" {
		return ratelimit.NewMemory(limiterConfig(a.config), now), nil
	}
	o, err := a.redisOptions()
	if err != nil {
		return nil, err
	}
	o.Now, o.Log = now, log
	r, err := ratelimit.NewRedis(o)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// redisOptions returns what the settings say of Redis. Its error names the
// setting.
func (a *app) redisOptions() (ratelimit.RedisOptions, error) {
	c := a.config
	o := ratelimit.RedisOptions{URL: c.Redis, Config: limiterConfig(c)}
	var err error
	if o.OnFailure, err = ratelimit.ParseOnFailure(c.LimiterOnFailure); err != nil {
		return o, a.fault("limiter-on-failure", "%v", err)
	}
	if err := o.Validate(); err != nil {
		return o, a.fault("redis", "%q: %v", config.Redact(c.Redis), err)
	}
	return o, nil
}

// closeLimiter ends the conversation with Redis, if there is one.
func (n *node) closeLimiter() {
	if r, yes := n.limiter.(*ratelimit.Redis); yes {
		r.Close()
	}
}

// close gives back what the node holds, its work being over.
func (n *node) close() error {
	n.closeLimiter()
	return n.store.Close()
}

// abandon closes a node that could not be opened in full.
func (n *node) abandon(err error) (*node, error) { return nil, errors.Join(err, n.close()) }

// A redisCollector shows the figures of the Redis limiter.
type redisCollector struct {
	read                                             func() ratelimit.RedisStats
	decisions, failures, repeated, away, nodes, took *prometheus.Desc
}

func newRedisCollector(read func() ratelimit.RedisStats) *redisCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("petstore_limiter_redis_"+name, help, labels, nil)
	}
	return &redisCollector{
		read:      read,
		decisions: desc("decisions_total", "Decisions by source: redis, denied (known before, without a call), local (without Redis).", "source"),
		failures:  desc("failures_total", "Calls to Redis that failed, by cause: late (it did nothing, as its deadline had passed), or any.", "cause"),
		repeated:  desc("repeated_total", "Admissions of an outage that are added again, since the answer to adding them did not come: at most so many count twice."),
		away:      desc("away", "1 while Redis does not answer, and nodes decide as --limiter-on-failure says."),
		nodes:     desc("nodes", "Nodes that share the counts, as last seen."),
		took:      desc("duration_seconds", "Time of the calls that were answered."),
	}
}

// Describe implements prometheus.Collector.
func (c *redisCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.decisions, c.failures, c.repeated, c.away, c.nodes, c.took} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *redisCollector) Collect(to chan<- prometheus.Metric) {
	s := c.read()
	count := func(d *prometheus.Desc, n int64, label ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label...)
	}
	count(c.decisions, s.Decided, "redis")
	count(c.decisions, s.Denied, "denied")
	count(c.decisions, s.Alone, "local")
	count(c.failures, s.Failed, "any")
	count(c.failures, s.Late, "late")
	count(c.repeated, s.Repeated)
	away := 0.0
	if s.Away {
		away = 1
	}
	to <- prometheus.MustNewConstMetric(c.away, prometheus.GaugeValue, away)
	to <- prometheus.MustNewConstMetric(c.nodes, prometheus.GaugeValue, float64(s.Nodes))
	to <- prometheus.MustNewConstHistogram(c.took, s.LatencyCount, s.LatencySum, s.Latency)
}
