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

// CheckLimiter returns an error that names the setting if the limiter cannot be
// made from the settings. It asks no Redis.
func CheckLimiter(c *config.Config, from config.Origins) error {
	if c.Redis == "" {
		return nil
	}
	if err := ratelimit.CheckURL(c.Redis); err != nil {
		return from.Fault("redis", "%q: %v", config.Redact(c.Redis), err)
	}
	return nil
}

// AskRedis returns an error unless the Redis of the settings takes decisions. It
// counts nothing.
func AskRedis(c *config.Config) error {
	if err := ratelimit.AskRedis(redisOptions(c)); err != nil {
		return fmt.Errorf("%s cannot be used: %w", config.Redact(c.Redis), err)
	}
	return nil
}

// newLimiter returns the limiter that the operator chose, of settings that
// CheckLimiter takes. answered is called for each call that Redis answered.
func newLimiter(c *config.Config, now func() time.Time, log *slog.Logger, answered func(took time.Duration)) (limiter, error) {
	if c.Redis == "" {
		return ratelimit.NewMemory(limiterConfig(c), now), nil
	}
	o := redisOptions(c)
	o.Now, o.Log, o.Answered = now, log, answered
	r, err := ratelimit.NewRedis(o)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func redisOptions(c *config.Config) ratelimit.RedisOptions {
	return ratelimit.RedisOptions{URL: c.Redis, Config: limiterConfig(c), Deny: c.LimiterOnFailure == "deny"}
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
