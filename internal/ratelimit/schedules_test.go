package ratelimit

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// A schedule returns how long a client waits before its n-th retry, n from 1 on, and whether it retries at all. It is told
// the Retry-After of the answer, which most libraries ignore on some setting.
type schedule func(n int, retryAfter time.Duration, rnd *rand.Rand) (time.Duration, bool)

// backoff waits base·factor^(n-1), at most longest, tries times; jitter in [0,1] is the share that is drawn at random.
func backoff(base time.Duration, factor float64, longest time.Duration, tries int, jitter float64) schedule {
	return func(n int, _ time.Duration, rnd *rand.Rand) (time.Duration, bool) {
		d := min(float64(base)*math.Pow(factor, float64(n-1)), float64(longest))
		return time.Duration(d * (1 - jitter*rnd.Float64())), n <= tries
	}
}

// honouring waits what Retry-After says, and up to a second more.
func honouring(tries int) schedule {
	return func(n int, retryAfter time.Duration, rnd *rand.Rand) (time.Duration, bool) {
		return retryAfter + time.Duration(rnd.Int64N(int64(time.Second))), n <= tries
	}
}

const forever = math.MaxInt

// schedules are the defaults of common libraries, as their documentation gives them, each both as it comes and going on
// without end where it would give up.
var schedules = []struct {
	name string
	wait schedule
}{
	{"got, ky, go-retryablehttp, axios-retry: Retry-After", honouring(forever)},
	{"got without end", backoff(time.Second, 2, math.MaxInt64, forever, 0)},
	{"axios-retry: no delay, 3 retries", backoff(0, 1, 0, 3, 0)},
	{"axios-retry: exponentialDelay, 0.2 s doubling", backoff(200*time.Millisecond, 2, math.MaxInt64, forever, 0)},
	{"go-retryablehttp without end", backoff(time.Second, 2, 30*time.Second, forever, 0)},
	{"urllib3: factor 0.1 to 120 s, 10 retries", backoff(100*time.Millisecond, 2, 120*time.Second, 10, 0)},
	{"tenacity: wait_random_exponential to 60 s", backoff(time.Second, 2, time.Minute, forever, 1)},
	{"AWS SDK without end", backoff(time.Second, 2, 20*time.Second, forever, 1)},
	{"Google clients: 1 s, factor 1.3, to 60 s", backoff(time.Second, 1.3, time.Minute, forever, 0)},
	{"cenkalti/backoff: 0.5 s, factor 1.5, to 60 s", backoff(500*time.Millisecond, 1.5, time.Minute, forever, 0.5)},
	{"Polly: 2 s doubling with jitter, 3 retries", backoff(2*time.Second, 2, 30*time.Second, 3, 0.5)},
	{"resilience4j: 0.5 s, factor 1.5", backoff(500*time.Millisecond, 1.5, math.MaxInt64, forever, 0)},
	{"impatient: 10 ms, factor 1.2, to 10 s", backoff(10*time.Millisecond, 1.2, 10*time.Second, forever, 0)},
}

// work is a program that makes one request after the other for a while. When its library gives a request up, it waits for
// a minute; otherwise it goes on at once. It returns how often it was banned.
func work(t *testing.T, l *Limiter, c *Caller, clock *testClock, wait schedule, rnd *rand.Rand, long time.Duration) (bans int) {
	t.Helper()
	refused := 0
	for end := clock.Now().Add(long); clock.Now().Before(end); {
		d := l.Admit(c)
		if d.NewBan != nil {
			bans++
		}
		if d.Admitted() {
			refused = 0
			clock.advance(30 * time.Millisecond)
			continue
		}
		refused++
		pause, again := wait(refused, time.Duration(d.RetryAfter)*time.Second, rnd)
		if !again {
			pause, refused = time.Minute, 0
		}
		clock.advance(max(pause, 30*time.Millisecond))
	}
	return bans
}

func TestAClientThatBacksOffIsNeverBanned(t *testing.T) {
	t.Parallel()
	for _, s := range schedules {
		for _, limits := range []Limits{{PerMinute: 60, PerDay: 1000}, {PerMinute: 60, PerDay: math.MaxInt64}, {PerMinute: 1, PerDay: 5}} {
			onMemory(t, DefaultConfig(), func(t *testing.T, l *Limiter, clock *testClock) {
				for seed := range uint64(3) {
					clock.set(noon.Add(time.Duration(seed)*1234567*time.Microsecond).AddDate(0, 0, 3*int(seed)))
					rnd := rand.New(rand.NewPCG(seed, 1))
					if bans := work(t, l, l.Caller(nil, 1, "k", limits, nil), clock, s.wait, rnd, 26*time.Hour); bans > 0 {
						t.Fatalf("%s at %+v, seed %d: banned %d times in 26 hours, want never", s.name, limits, seed, bans)
					}
				}
			})
		}
	}
}

func TestAClientThatHammersIsBanned(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		name string
		wait schedule
	}{
		{"at once", backoff(0, 1, 0, forever, 0)},
		{"each second", backoff(time.Second, 1, time.Second, forever, 0)},
		{"each 2 s with jitter", backoff(2*time.Second, 1, 2*time.Second, forever, 0.5)},
		{"doubling to 2 s only", backoff(100*time.Millisecond, 2, 2*time.Second, forever, 0)},
	} {
		onMemory(t, DefaultConfig(), func(t *testing.T, l *Limiter, clock *testClock) {
			rnd := rand.New(rand.NewPCG(1, 1))
			if bans := work(t, l, l.Caller(nil, 1, "k", free, nil), clock, s.wait, rnd, 10*time.Minute); bans == 0 {
				t.Errorf("%s: not banned in 10 minutes, want a ban", s.name)
			}
		})
	}
}
