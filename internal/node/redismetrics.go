package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/ratelimit"
)

// newRedisCollector returns the figures of the Redis limiter.
func newRedisCollector(read func() ratelimit.RedisStats) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("petstore_limiter_redis_"+name, help, labels, nil)
	}
	decisions := desc("decisions_total", "Decisions by source: redis, cached (a refusal that the node knew already, without a call), local (by the node, without Redis), unavailable (none, as Redis did not answer: 503).", "source")
	failures := desc("failures_total", "Calls to Redis that failed, by cause: late (it did nothing, as its deadline had passed), or any.", "cause")
	away := desc("away", "1 while Redis does not answer, and nodes decide as --limiter-on-failure says.")
	return collector(func(to figures) {
		s := read()
		to.count(decisions, float64(s.Redis), "redis")
		to.count(decisions, float64(s.Cached), "cached")
		to.count(decisions, float64(s.Local), "local")
		to.count(decisions, float64(s.Unavailable), "unavailable")
		to.count(failures, float64(s.Failed), "any")
		to.count(failures, float64(s.Late), "late")
		if s.Away {
			to.gauge(away, 1)
		} else {
			to.gauge(away, 0)
		}
	})
}

func newRedisDurations() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "petstore_limiter_redis_duration_seconds", Help: "Time of the calls that were answered.",
		Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025},
	})
}
