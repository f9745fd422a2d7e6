package ratelimit

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/ratelimit/redistest"
)

// TestTheLogSaysWhyRedisCannotBeUsed: once, when nobody answers and when Redis refuses the node, and without the password.
func TestTheLogSaysWhyRedisCannotBeUsed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do(t, "ACL", "SETUSER", "weak", "on", ">guessed", "~petstore:*", "+cluster", "+client")
	_, encrypted, _ := redistest.StartTLS(t)
	dead := redistest.Start(t)
	dead.Kill()
	for name, test := range map[string]struct{ url, want string }{
		"password":    {"redis://nobody:guessed@" + server.Addr(), "WRONGPASS"},
		"right":       {"redis://weak:guessed@" + server.Addr(), "NOPERM"},
		"database":    {server.URL() + "/99", "DB index"},
		"certificate": {encrypted, "certificate"},
		"nobody":      {dead.URL(), "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			r, err := NewRedis(RedisOptions{URL: test.url, Config: DefaultConfig(), Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil))})
			must(t, err)
			r.timeout, r.options.Dialer.Timeout = 10*time.Second, time.Minute // for a busy machine
			r.Check()
			r.Close()
			got := log.String()
			if strings.Count(got, "\n") != 1 || !strings.Contains(got, "Redis cannot be used") || !strings.Contains(got, test.want) || strings.Contains(got, "guessed") {
				t.Errorf("the log is %q, want one line with %q and without the password", got, test.want)
			}
		})
	}
}

// newIdle returns the limiter of a node that nobody asks anything, and what it logs.
func newIdle(t *testing.T, url string) (*Redis, *strings.Builder) {
	t.Helper()
	var log strings.Builder
	r, err := NewRedis(RedisOptions{
		URL: url, Config: DefaultConfig(), Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	must(t, err)
	processtest.Eventually(t, "Redis answers", func() bool { r.Check(); return !r.away.Load() })
	t.Cleanup(r.Close)
	return r, &log
}

// TestAnIdleNodeSaysThatRedisIsAway: it is in the log before a request finds out.
func TestAnIdleNodeSaysThatRedisIsAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r, log := newIdle(t, server.URL())
	server.Kill()
	for range 2 * failureThreshold {
		r.check()
	}
	if got := strings.Count(log.String(), "level=ERROR"); got != 1 {
		t.Errorf("the log is %q, want one error", log)
	}
}

// TestLoneFailures: a node on which a call fails now and then, while Redis answers between, goes on with Redis.
func TestLoneFailures(t *testing.T) {
	t.Parallel()
	r, log := newIdle(t, redistest.Start(t).URL())
	for range 2 * failureThreshold {
		r.fail(errAway)
		r.check()
	}
	if r.away.Load() {
		t.Errorf("Redis is not asked any more: %q", log)
	}
}

// TestFailuresBetweenChecks: calls that fail in a row count although Redis would answer a check, which there is each second.
func TestFailuresBetweenChecks(t *testing.T) {
	t.Parallel()
	for _, due := range []bool{false, true} {
		r, log := newIdle(t, redistest.Start(t).URL())
		r.checked = time.Now().Add(time.Hour)
		if due {
			r.checked = time.Now().Add(-quietInterval)
		}
		for range failureThreshold - 1 {
			r.fail(errAway)
		}
		r.Check()
		if r.fail(errAway); r.away.Load() == due {
			t.Errorf("with a check that is due: %t, Redis is away: %t, %q", due, !due, log)
		}
	}
}
