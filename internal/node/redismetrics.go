package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/ratelimit"
)

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
