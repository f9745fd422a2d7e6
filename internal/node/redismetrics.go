package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/ratelimit"
)

// newRedisCollector returns the figures of the Redis limiter.
func newRedisCollector(read func() ratelimit.RedisStats) prometheus.Collector {
	return collector(func(to metricSink) {
		s := read()
		for source, n := range map[string]int64{"redis": s.Redis, "cached": s.Cached, "local": s.Local, "unavailable": s.Unavailable} {
			to.count("petstore_limiter_redis_decisions_total", "Decisions by source: redis, cached (a refusal that the node knew already, without a call), local (by the node, without Redis), unavailable (none, as Redis did not answer: 503).", float64(n), "source", source)
		}
		to.count("petstore_limiter_redis_failures_total", "Calls to Redis that failed.", float64(s.Failed))
		away := 0.0
		if s.Away {
			away = 1
		}
		to.gauge("petstore_limiter_redis_away", "1 while Redis does not answer, and nodes decide as --limiter-on-failure says.", away)
	})
}

func newRedisDurations() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "petstore_limiter_redis_duration_seconds", Help: "Time of the calls that were answered.",
		Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025},
	})
}
