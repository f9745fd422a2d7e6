package operator

import (
	"context"
	"strconv"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
)

// Counts returns what is counted as of now.
type Counts func(ctx context.Context) (Windows, error)

// Windows returns how the windows of a workspace stand.
type Windows func(w access.Workspace) (minute, day Window)

// Live returns the counts of the limiter of a server.
func Live(limiter ratelimit.Limiter) Counts {
	return func(ctx context.Context) (Windows, error) {
		return func(w access.Workspace) (minute, day Window) {
			d := limiter.PeekWorkspace(ctx, w.ID, ratelimit.Limits(w.Quota))
			return windowOf(d.Minute), windowOf(d.Day)
		}, nil
	}
}

func windowOf(w ratelimit.Window) Window {
	return Window{w.Limit, w.Used, w.Remaining(), time.Unix(w.Reset, 0).UTC()}
}

// Saved returns what servers saved last, at most a second ago.
func Saved(store interface {
	LoadLimits(ctx context.Context) (ratelimit.Saved, error)
}, now func() time.Time) Counts {
	return func(ctx context.Context) (Windows, error) {
		saved, err := store.LoadLimits(ctx)
		return func(w access.Workspace) (minute, day Window) { return savedWindows(saved, w, now()) }, err
	}
}

const aDay = int64(24 * time.Hour / time.Second)

func savedWindows(saved ratelimit.Saved, w access.Workspace, now time.Time) (minute, day Window) {
	tomorrow := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	minute = Window{w.Quota.PerMinute, 0, w.Quota.PerMinute, now.UTC().Truncate(time.Second).Add(time.Minute)}
	day = Window{w.Quota.PerDay, 0, w.Quota.PerDay, tomorrow}
	for _, row := range saved.Windows {
		if row.Subject != "w:"+strconv.FormatInt(w.ID, 10) {
			continue
		}
		if began := time.UnixMilli(row.MinuteStart).UTC(); !now.Before(began) && now.Before(began.Add(time.Minute)) {
			minute = Window{minute.Limit, row.MinuteUsed, max(minute.Limit-row.MinuteUsed, 0), began.Add(time.Minute)}
		}
		if row.Day == now.Unix()/aDay {
			day = Window{day.Limit, row.DayUsed, max(day.Limit-row.DayUsed, 0), tomorrow}
		}
	}
	return minute, day
}
