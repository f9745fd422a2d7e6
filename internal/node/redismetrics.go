package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/ratelimit"
)

// A redisCollector shows the figures of the Redis limiter.
type redisCollector struct {
	read                      func() ratelimit.RedisStats
	decisions, failures, away *prometheus.Desc
}

func newRedisCollector(read func() ratelimit.RedisStats) *redisCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("petstore_limiter_redis_"+name, help, labels, nil)
	}
	return &redisCollector{
		read:      read,
		decisions: desc("decisions_total", "Decisions by source: redis, cached (a refusal that the node knew already, without a call), local (by the node, without Redis), unavailable (none, as Redis did not answer: 503).", "source"),
		failures:  desc("failures_total", "Calls to Redis that failed, by cause: late (it did nothing, as its deadline had passed), or any.", "cause"),
		away:      desc("away", "1 while Redis does not answer, and nodes decide as --limiter-on-failure says."),
	}
}

func newRedisDurations() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "petstore_limiter_redis_duration_seconds", Help: "Time of the calls that were answered.",
		Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025},
	})
}

// Describe implements prometheus.Collector.
func (c *redisCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.decisions, c.failures, c.away} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *redisCollector) Collect(to chan<- prometheus.Metric) {
	s := c.read()
	count := func(d *prometheus.Desc, n int64, label ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label...)
	}
	count(c.decisions, s.Redis, "redis")
	count(c.decisions, s.Cached, "cached")
	count(c.decisions, s.Local, "local")
	count(c.decisions, s.Unavailable, "unavailable")
	count(c.failures, s.Failed, "any")
	count(c.failures, s.Late, "late")
	away := 0.0
	if s.Away {
		away = 1
	}
	to <- prometheus.MustNewConstMetric(c.away, prometheus.GaugeValue, away)
}
