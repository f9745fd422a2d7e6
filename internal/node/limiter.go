package node

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"example.com/petstore/internal/access"
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

// CheckLimiter returns an error that names the setting if the settings of the
// limiter cannot be used. It asks no Redis.
func CheckLimiter(c *config.Config, from config.Origins) error {
	if c.Redis == "" {
		return nil
	}
	_, err := redisOptions(c, from)
	return err
}

// AskRedis returns an error unless the Redis of the settings takes decisions. It
// counts nothing.
func AskRedis(c *config.Config, from config.Origins) error {
	o, err := redisOptions(c, from)
	if err != nil {
		return err
	}
	if err := ratelimit.AskRedis(o); err != nil {
		return fmt.Errorf("%s cannot be used: %w", config.Redact(c.Redis), err)
	}
	return nil
}

// newLimiter returns the limiter that the operator chose.
func newLimiter(c *config.Config, from config.Origins, now func() time.Time, log *slog.Logger) (limiter, error) {
	if c.Redis == "" {
		return ratelimit.NewMemory(limiterConfig(c), now), nil
	}
	o, err := redisOptions(c, from)
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
func redisOptions(c *config.Config, from config.Origins) (ratelimit.RedisOptions, error) {
	o := ratelimit.RedisOptions{URL: c.Redis, Config: limiterConfig(c)}
	var err error
	if o.OnFailure, err = ratelimit.ParseOnFailure(c.LimiterOnFailure); err != nil {
		return o, from.Fault("limiter-on-failure", "%v", err)
	}
	if err := o.Validate(); err != nil {
		return o, from.Fault("redis", "%q: %v", config.Redact(c.Redis), err)
	}
	return o, nil
}

// limiterConfig returns the limiter's numbers as the operator set them.
func limiterConfig(c *config.Config) ratelimit.Config {
	r := ratelimit.DefaultConfig()
	r.Strikes, r.StrikeWindow, r.Grace = c.Ban.Strikes, c.Ban.Window, c.Ban.Grace
	r.FirstBan, r.MaxBan = c.Ban.First, c.Ban.Max
	r.Addresses = c.AddressTable
	r.AddressLimits = limitsOf(access.FreeQuota)
	return r
}

func limitsOf(q access.Quota) ratelimit.Limits {
	return ratelimit.Limits{PerMinute: q.PerMinute, PerDay: q.PerDay}
}
