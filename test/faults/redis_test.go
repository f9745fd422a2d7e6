//go:build linux

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit/redistest"
)

// withoutRedis is the campaign in which Redis is killed, hangs, is emptied, or
// cannot be reached. No request may notice, none may go uncounted, and who has a
// small quota gets no more than that.
func withoutRedis(t *testing.T) campaign {
	t.Helper()
	s := redistest.Start(t)
	l := newLink(t, s.Addr())
	moments := []struct {
		name   string
		begin  func() error
		mended func() error
	}{
		{"killed", func() error { s.Kill(); return nil }, s.Run},
		{"hung", func() error { s.Pause(t); return nil }, func() error { s.Resume(t); return nil }},
		{"emptied by a restart", func() error { s.Kill(); return s.Run() }, nil},
		{"emptied", func() error { s.Do(t, "FLUSHALL"); return nil }, nil},
		{"cut off", func() error { l.set(cut); return nil }, func() error { l.set(whole); return nil }},
		{"cut off for a moment", func() error { l.set(cut); l.set(whole); return nil }, nil},
		{"silent", func() error { l.set(silent); return nil }, func() error { l.set(whole); return nil }},
	}
	c := campaign{binary: petstore, disk: folder(t.TempDir()), seed: *seed, flags: []string{"--redis=redis://" + l.Addr().String()}}
	var q *quota
	c.fault = func(r *run) (err error) {
		if q == nil {
			if q, err = newQuota(r); err != nil {
				return err
			}
		}
		m := moments[r.done%len(moments)]
		q.spend()
		if err := m.begin(); err != nil {
			return err
		}
		q.spend()
		if !r.work(20) {
			return fmt.Errorf("Redis %s: no orders:\n%s", m.name, r.said())
		}
		if m.mended != nil {
			if err := m.mended(); err != nil {
				return err
			}
			if !r.work(20) {
				return fmt.Errorf("Redis %s: no orders when it was back:\n%s", m.name, r.said())
			}
		}
		q.spend()
		if n := r.buyers.tries.Load(); n > 0 {
			return fmt.Errorf("Redis %s: %d requests failed because of it:\n%s", m.name, n, r.said())
		}
		return q.wrong
	}
	c.after = func(r *run) error { return errors.Join(r.counted(), q.kept(r)) }
	return c
}

// A quota is that of a caller who uses all of it, in the course of a campaign.
type quota struct {
	caller
	admitted, refused int
	wrong             error
}

const smallDay = 100

// newQuota makes a workspace with a small quota beside the shop.
func newQuota(r *run) (*quota, error) {
	if err := r.binary.NewWorkspace(r.disk.dir(), "small", "enterprise", "--per-minute=1000000", fmt.Sprint("--per-day=", smallDay)); err != nil {
		return nil, err
	}
	k, err := r.binary.NewKey(r.disk.dir(), "small")
	if err != nil {
		return nil, err
	}
	q := &quota{caller: caller{r.server.URL, k.Key}}
	return q, r.poll("the server knows the key", func() bool {
		status, err := r.account(q.key, &struct{}{})
		return err == nil && status == http.StatusOK
	})
}

// spend uses a few requests.
func (q *quota) spend() {
	for range 3 {
		status, code, _, err := q.get()
		switch {
		case err != nil:
			q.wrong = errors.Join(q.wrong, err)
		case status == http.StatusOK:
			q.admitted++
		case code == "rate_limit_exceeded" || code == "api_key_banned":
			q.refused++
		default:
			q.wrong = errors.Join(q.wrong, fmt.Errorf("a request within a small quota was answered %d %s", status, code))
		}
	}
}

// kept holds that exactly the quota was admitted, but for calls to Redis that
// failed and were counted all the same.
func (q *quota) kept(r *run) error {
	for began := q.refused; q.wrong == nil && q.refused == began && q.admitted <= smallDay; {
		q.spend()
	}
	twice, err := r.countedTwice()
	if err = errors.Join(err, q.wrong); err != nil {
		return err
	}
	if q.admitted > smallDay || q.admitted < smallDay-int(twice) {
		return fmt.Errorf("%w: of a quota of %d, %d were admitted, and at most %d counted twice", errLedger, smallDay, q.admitted, twice)
	}
	return nil
}

// counted holds that each answered request is counted: the one node goes on from
// its own count, with Redis and without. It asks again for five seconds, while a
// late call may still arrive. What was on its way when Redis died may be
// forgotten, one request of each buyer at most; and a call whose answer came too
// late may count twice.
func (r *run) counted() error {
	var used, twice int64
	answered := r.buyers.answers.Load() + prepared
	least := answered - int64(r.done*clients)
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) { // between two polls
		var err error
		if used, err = r.usedToday(); err != nil {
			return err
		}
		if twice, err = r.countedTwice(); err != nil || used >= least && used <= answered+twice {
			return err
		}
	}
	return fmt.Errorf("%w: %d requests were answered and at most %d counted twice, and %d requests are counted", errLedger, answered, twice, used)
}

// countedTwice asks the service how many requests may be, at most.
func (r *run) countedTwice() (int64, error) {
	return r.figure("petstore_limiter_redis_failures_total")
}

// figure asks the service for one of its metrics.
func (r *run) figure(name string) (int64, error) {
	resp, err := http.Get(r.server.Ops + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), "\n"+name+" ")
	if !found {
		return 0, fmt.Errorf("no %s in %s", name, text)
	}
	value, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(value, 64)
	return int64(n), err
}

// usedToday asks the service how many requests it has counted.
func (r *run) usedToday() (int64, error) {
	var account struct {
		Limits struct{ Day struct{ Used int64 } }
	}
	_, err := r.account(r.buyers.key, &account)
	return account.Limits.Day.Used, err
}

// account asks what the service says of the caller, which is not counted.
func (r *run) account(key string, to any) (status int, err error) {
	req, err := http.NewRequest("GET", r.server.URL+"/account", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, json.NewDecoder(resp.Body).Decode(to)
}

// TestRedis breaks Redis in every way once.
func TestRedis(t *testing.T) {
	c := withoutRedis(t)
	c.cycles = 7
	hold(t, c)
}
