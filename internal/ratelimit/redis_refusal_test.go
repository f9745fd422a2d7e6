package ratelimit

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit/redistest"
)

// TestARefusalIsWarnedOf: what only the operator can mend is in the log, once, and without the password. That nobody
// answers is not.
func TestARefusalIsWarnedOf(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do(t, "ACL", "SETUSER", "petstore", "on", ">secret", "~petstore:*", "+@all")
	server.Do(t, "ACL", "SETUSER", "weak", "on", ">secret", "~petstore:*", "+cluster", "+client")
	locked := redistest.Start(t)
	locked.Do(t, "CONFIG", "SET", "requirepass", "secret")
	_, encrypted, _ := redistest.StartTLS(t)
	dead := redistest.Start(t)
	dead.Kill()
	for name, test := range map[string]struct {
		url  string
		want string // part of the warning; "": none
	}{
		"password":    {"redis://petstore:guessed@" + server.Addr(), "WRONGPASS"},
		"user":        {"redis://nobody:guessed@" + server.Addr(), "WRONGPASS"},
		"right":       {"redis://weak:secret@" + server.Addr(), "NOPERM"},
		"no password": {locked.URL(), "NOAUTH"},
		"database":    {server.URL() + "/99", "DB index"},
		"certificate": {encrypted, "certificate"},
		"nobody":      {dead.URL(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			r, err := newRedis(RedisOptions{
				URL: test.url, Config: DefaultConfig(), Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(r.disconnect)
			for range 3 {
				_ = r.check()
			}
			got := log.String()
			if test.want == "" && got != "" {
				t.Errorf("the log is %q, want nothing", got)
			}
			if test.want != "" && (strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, test.want)) {
				t.Errorf("the log is %q, want one warning with %q", got, test.want)
			}
			if strings.Contains(got, "guessed") {
				t.Errorf("the log is %q, want it without the password", got)
			}
		})
	}
}

// newIdle returns the limiter of a node that nobody asks anything, and what it logs.
func newIdle(t *testing.T, url string) (*Redis, *strings.Builder) {
	t.Helper()
	var log strings.Builder
	r, err := newRedis(RedisOptions{
		URL: url, Config: DefaultConfig(), Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	close(r.done) // nothing runs beside the test
	eventually(t, "Redis answers", func() bool { _ = r.check(); return !r.breaker.open.Load() })
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
		_ = r.check()
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
		r.fail(r.breaker.failures.Add(1), errAway)
		_ = r.check()
	}
	if r.breaker.open.Load() {
		t.Errorf("Redis is not asked any more: %q", log)
	}
}

// TestAStartWithoutRedisIsLogged: once, where nobody answers and where Redis refuses the node.
func TestAStartWithoutRedisIsLogged(t *testing.T) {
	t.Parallel()
	dead := redistest.Start(t)
	dead.Kill()
	locked := redistest.Start(t)
	locked.Do(t, "CONFIG", "SET", "requirepass", "secret")
	for url, want := range map[string]string{
		dead.URL():   `level=ERROR msg="Redis does not answer;`,
		locked.URL(): `level=WARN msg="Redis refuses this node;`,
	} {
		var log strings.Builder
		r, err := NewRedis(RedisOptions{URL: url, Config: DefaultConfig(), Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
			t.Errorf("the log is %q, want one line with %q", got, want)
		}
	}
}
