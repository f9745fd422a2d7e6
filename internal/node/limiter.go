package node

import (
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/ratelimit"
)

// CheckLimiter returns an error that names the setting if the settings of the limiter
// are not valid. It does not connect to Redis.
func CheckLimiter(c *config.Config, from config.Origins) error {
	if c.Redis == "" {
		return nil
	}
	if err := ratelimit.CheckURL(c.Redis); err != nil {
		return from.Fault("redis", "%q: %v", config.Redact(c.Redis), err)
	}
	return nil
}

// openLimiter opens the limiter of the settings, which CheckLimiter has accepted.
func (n *node) openLimiter() (err error) {
	if n.Config.Redis == "" {
		n.limiter = ratelimit.New(limiterConfig(n.Config), n.now)
		return nil
	}
	n.redis, err = ratelimit.NewRedis(ratelimit.RedisOptions{
		URL: n.Config.Redis, Config: limiterConfig(n.Config), Deny: n.Config.LimiterOnFailure == "deny",
		Now: n.now, Log: n.log, Answered: func(took time.Duration) { n.redisTook.Observe(took.Seconds()) },
	})
	if err == nil {
		n.limiter = n.redis.Limiter
	}
	return err
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
