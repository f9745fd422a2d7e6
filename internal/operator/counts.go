package operator

import (
	"context"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
)

// Counts returns what is counted as of now.
type Counts func(ctx context.Context) (Windows, error)

// Windows returns how the windows of a workspace stand.
type Windows func(w access.Workspace) (minute, day Window)

// Live returns the counts of the limiter of a server.
func Live(limiter *ratelimit.Limiter) Counts {
	return func(ctx context.Context) (Windows, error) {
		return func(w access.Workspace) (minute, day Window) {
			d := limiter.PeekWorkspace(w.ID, ratelimit.Limits(w.Quota))
			return windowOf(d.Minute), windowOf(d.Day)
		}, nil
	}
}

func windowOf(w ratelimit.Window) Window {
	return Window{w.Limit, w.Used, w.Remaining(), time.Unix(w.Reset, 0).UTC()}
}

// Saved returns what servers saved last, at most a second ago, as a server that starts
// now would continue it.
func Saved(store interface {
	LoadLimits(ctx context.Context) (ratelimit.Saved, error)
}, now func() time.Time) Counts {
	return func(ctx context.Context) (Windows, error) {
		saved, err := store.LoadLimits(ctx)
		if err != nil {
			return nil, err
		}
		limiter := ratelimit.New(ratelimit.DefaultConfig(), now)
		_ = limiter.Restore(saved) // a server leaves out what it cannot read, too
		return Live(limiter)(ctx)
	}
}
