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

// withoutRedis is the campaign in which Redis is killed and comes back empty.
// No request may notice, and none may go uncounted.
func withoutRedis(t *testing.T) campaign {
	t.Helper()
	s := redistest.Start(t)
	fault := func(r *run) error {
		s.Kill()
		if !r.work(20) {
			return errors.New("no orders without Redis:\n" + r.server.LogText())
		}
		if err := s.Run(); err != nil {
			return err
		}
		if !r.work(20) {
			return errors.New("no orders after Redis came back:\n" + r.server.LogText())
		}
		if n := r.buyers.tries.Load(); n > 0 {
			return fmt.Errorf("%d requests failed because of Redis:\n%s", n, r.server.LogText())
		}
		return nil
	}
	return campaign{
		binary: petstore, disk: folder(t.TempDir()), seed: *seed, flags: []string{"--redis=" + s.URL()},
		fault: fault, after: (*run).counted,
	}
}

// counted holds that each answered request is counted, within five seconds, since
// what was counted without Redis is added when it is back. What was under way
// when Redis died may be forgotten, one request of each buyer at most; and a call
// whose answer came too late may count twice.
func (r *run) counted() error {
	var used, failed int64
	answered := r.buyers.answers.Load() + prepared
	least := answered - int64(r.done*clients)
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) { // between two polls
		var err error
		if used, err = r.usedToday(); err != nil {
			return err
		}
		if failed, err = r.failedCalls(); err != nil || used >= least && used <= answered+failed {
			return err
		}
	}
	return fmt.Errorf("%w: %d requests were answered and %d calls to Redis failed, and %d requests are counted", errLedger, answered, failed, used)
}

// failedCalls asks the service how many calls to Redis failed.
func (r *run) failedCalls() (int64, error) {
	resp, err := http.Get(r.server.Ops + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), "\npetstore_limiter_redis_failures_total{cause=\"any\"} ")
	if !found {
		return 0, fmt.Errorf("no failures in %s", text)
	}
	value, _, _ := strings.Cut(rest, "\n")
	failed, err := strconv.ParseFloat(value, 64)
	return int64(failed), err
}

// usedToday asks the service how many requests it has counted.
func (r *run) usedToday() (int64, error) {
	var account struct {
		Limits struct{ Day struct{ Used int64 } }
	}
	req, err := http.NewRequest("GET", r.server.URL+"/account", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+r.buyers.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	err = json.NewDecoder(resp.Body).Decode(&account)
	return account.Limits.Day.Used, err
}

func TestRedis(t *testing.T) {
	c := withoutRedis(t)
	c.cycles = 5
	hold(t, c)
}
