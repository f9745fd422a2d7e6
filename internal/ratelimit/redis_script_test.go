package ratelimit

import (
	"testing"

	"pgregory.net/rapid"

	"example.com/petstore/internal/ratelimit/redistest"
)

// TestTheScriptDecidesLikeGo has the script and windows.go make the same decisions on one subject, while the clock is set
// and the node comes with counts of its own. Times are whole microseconds.
func TestTheScriptDecidesLikeGo(t *testing.T) {
	t.Parallel()
	clock := newClock(noon)
	r := newVirtualOn(t, redistest.Start(t), DefaultConfig(), clock.Now)
	counts := rapid.SampledFrom([]int64{0, 0, 1, 2, 3, 5})
	steps := rapid.SampledFrom([]int64{
		0, 1000, 999_000, 17 * second, minute - microsecond, minute, -microsecond, -90 * second, 13 * day / 24, day, -day, -13 * day / 24, 30 * day, -30 * day,
	})
	subjects := 0
	rapid.Check(t, func(t *rapid.T) {
		subjects++
		now, name, w := noon.UnixNano(), newWorkspace(int64(subjects)).name, windows{}
		for range rapid.IntRange(1, 30).Draw(t, "requests") {
			now += steps.Draw(t, "step")
			clock.ns.Store(now)
			call := scriptCall{
				subject: name, counts: rapid.IntRange(0, 4).Draw(t, "counts") > 0,
				limits: Limits{PerMinute: 1 + counts.Draw(t, "per minute"), PerDay: 1 + 3*counts.Draw(t, "per day")},
				known: windows{
					minuteStart: now + steps.Draw(t, "known minute"), minuteUsed: counts.Draw(t, "known of the minute"),
					day: dayOf(now + steps.Draw(t, "known day")), dayUsed: counts.Draw(t, "known of the day"),
				},
			}
			want := scriptReply{now: now, windows: w.current(now).atLeast(call.known.current(now))}
			after, outcome := want.windows.admit(call.limits)
			want.outcome = outcome
			if call.counts {
				want.windows, w = after, after
			}
			if got, err := r.exec(&call, r.timeout); err != nil || got != want {
				t.Fatalf("%+v at %d on %+v = %+v, %v, want %+v", call, now, w, got, err, want)
			}
		}
	})
}
