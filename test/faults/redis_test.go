//go:build linux

package faults

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit/redistest"
	"example.com/petstore/test/servertest"
)

// withoutRedis is the campaign in which Redis is killed, hangs or is emptied. No
// request may notice, none may go uncounted, and who has a
// small quota gets no more than that.
func withoutRedis(t *testing.T) campaign {
	t.Helper()
	s := redistest.Start(t)
	moments := []struct {
		name   string
		begin  func() error
		mended func() error
	}{
		{"killed", func() error { s.Kill(); return nil }, s.Run},
		{"hung", func() error { s.Pause(t); return nil }, func() error { s.Resume(t); return nil }},
		{"emptied by a restart", func() error { s.Kill(); return s.Run() }, nil},
		{"emptied", func() error { s.Do(t, "FLUSHALL"); return nil }, nil},
	}
	c := campaign{binary: petstore, disk: folder(t.TempDir()), seed: *seed, flags: []string{"--redis=" + s.URL()}}
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
	k, err := r.binary.NewShop(r.disk.dir(), "small", "enterprise", "--per-minute=1000000", fmt.Sprint("--per-day=", smallDay))
	if err != nil {
		return nil, err
	}
	q := &quota{caller: caller{r.server.URL, k.Key}}
	return q, r.poll("the server knows the key", func() bool {
		_, err := servertest.UsedToday(r.server.URL, q.key)
		return err == nil
	})
}

// spend uses a few requests.
func (q *quota) spend() {
	for range 3 {
		a, err := q.get()
		switch {
		case err != nil:
			q.wrong = errors.Join(q.wrong, err)
		case a.Status == http.StatusOK:
			q.admitted++
		case a.Code == "rate_limit_exceeded" || a.Code == "api_key_banned":
			q.refused++
		default:
			q.wrong = errors.Join(q.wrong, fmt.Errorf("a request within a small quota was answered %d %s", a.Status, a.Code))
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
// its own count, with Redis and without. It asks again while a late call may
// still arrive. What was on its way when Redis died may be
// forgotten, one request of each buyer at most; and a call whose answer came too
// late may count twice.
func (r *run) counted() error {
	var used, twice int64
	answered := r.buyers.answers.Load() + prepared
	least := answered - int64(r.done*clients)
	for deadline := time.Now().Add(servertest.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) { // between two polls
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
	return strconv.ParseInt(r.server.Metric("petstore_limiter_redis_failures_total"), 10, 64)
}

// usedToday asks the service how many requests it has counted.
func (r *run) usedToday() (int64, error) { return servertest.UsedToday(r.server.URL, r.buyers.key) }

// TestRedis breaks Redis in every way once.
func TestRedis(t *testing.T) {
	t.Parallel()
	c := withoutRedis(t)
	c.cycles = 4
	hold(t, c)
}
