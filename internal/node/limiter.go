package node

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/ratelimit"
)

// openLimiter makes the limiter of the settings, without connecting to Redis. An error names the setting.
func (n *node) openLimiter() (err error) {
	if n.Config.Redis == "" {
		n.limiter = ratelimit.New(limiterConfig(n.Config), n.now)
		return nil
	}
	took := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "petstore_limiter_redis_duration_seconds", Help: "Time of the calls that were answered.",
		Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025},
	})
	n.metrics.MustRegister(took)
	n.redis, err = ratelimit.NewRedis(ratelimit.RedisOptions{
		URL: n.Config.Redis, Config: limiterConfig(n.Config), Deny: n.Config.LimiterOnFailure == "deny",
		Now: n.now, Log: n.log, Answered: func(d time.Duration) { took.Observe(d.Seconds()) },
	})
	if err != nil {
		return n.Origins.Fault("redis", "%q: %v", config.Redact(n.Config.Redis), err)
	}
	n.limiter = n.redis.Limiter
	return nil
}

// limiterConfig returns the limiter's numbers as the operator set them.
func limiterConfig(c *config.Config) ratelimit.Config {
	r := ratelimit.DefaultConfig()
	r.Strikes, r.StrikeWindow, r.Grace = c.Ban.Strikes, c.Ban.Window, c.Ban.Grace
	r.FirstBan, r.MaxBan = c.Ban.First, c.Ban.Max
	r.Addresses = c.AddressTable
	r.AddressLimits = ratelimit.Limits(access.FreeQuota)
	return r
}
