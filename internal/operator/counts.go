package operator

import (
	"context"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
)

// Counts returns a limiter with the present counts.
type Counts func(ctx context.Context) (*ratelimit.Limiter, error)

// Live returns the counts of the limiter of a server.
func Live(limiter *ratelimit.Limiter) Counts {
	return func(context.Context) (*ratelimit.Limiter, error) { return limiter, nil }
}

// Saved returns the counts that servers saved last, at most a second ago, as a server
// that starts now would use them.
func Saved(store interface {
	LoadLimits(ctx context.Context) ([]ratelimit.SavedWindow, error)
}, now func() time.Time) Counts {
	return func(ctx context.Context) (*ratelimit.Limiter, error) {
		saved, err := store.LoadLimits(ctx)
		if err != nil {
			return nil, err
		}
		limiter := ratelimit.New(ratelimit.DefaultConfig(), now)
		_ = limiter.Restore(saved) // as a server, it leaves out what it cannot read
		return limiter, nil
	}
}

// windows returns the windows of a workspace.
func windows(limiter *ratelimit.Limiter, w access.Workspace) (minute, day Window) {
	d := limiter.PeekWorkspace(w.ID, ratelimit.Limits(w.Quota))
	return windowOf(d.Minute), windowOf(d.Day)
}

func windowOf(w ratelimit.Window) Window {
	return Window{w.Limit, w.Used, w.Remaining(), time.Unix(w.Reset, 0).UTC()}
}
