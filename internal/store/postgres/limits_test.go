package postgres_test

import (
	"context"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/store/postgres"
)

// A counter is a node with its limiter, as serve has them.
type counter struct {
	*testing.T
	db      *postgres.DB
	limiter *ratelimit.Memory
	caller  *ratelimit.Caller
}

// newCounter starts a node, of which a key of the workspace is used.
func newCounter(t *testing.T, url string, workspace int64, now func() time.Time) *counter {
	t.Helper()
	c := &counter{T: t, db: node(t, url, postgres.Options{Now: now}), limiter: ratelimit.NewMemory(ratelimit.DefaultConfig(), now)}
	saved, err := c.db.LoadLimits(t.Context())
	if err == nil {
		err = c.limiter.Restore(saved)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.caller = c.limiter.Caller(workspace, "key_a", ratelimit.Limits{PerMinute: 1000, PerDay: 1000})
	return c
}

// serve admits requests and saves what they add up to.
func (c *counter) serve(requests int) {
	c.Helper()
	for range requests {
		c.limiter.Admit(c.Context(), c.caller)
	}
	rows, _ := c.limiter.Dirty()
	if err := c.db.SaveLimits(c.Context(), rows); err != nil {
		c.Fatal(err)
	}
}

func (c *counter) want(admitted int64) {
	c.Helper()
	uses, err := c.db.KeyUses(c.Context(), []access.Key{{ID: "key_a"}})
	if got := uses["key_a"].Admitted; err != nil || got != admitted {
		c.Errorf("KeyUses = %+v, %v, want %d admitted", uses, err, admitted)
	}
}

// TestUsedToday: what a key did on several nodes adds up, over restarts and into
// the next day.
func TestUsedToday(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	acme, err := node(t, url, postgres.Options{}).CreateWorkspace(t.Context(), access.Workspace{Name: "acme", Plan: access.Free, Quota: access.FreeQuota}, "cli")
	if err != nil {
		t.Fatal(err)
	}
	a, b := newCounter(t, url, acme.ID, clock), newCounter(t, url, acme.ID, clock)
	a.serve(5)
	b.serve(7)
	a.want(12)
	a.serve(1)
	a.serve(0)
	b.want(13)
	c := newCounter(t, url, acme.ID, clock)
	c.serve(2)
	b.serve(1)
	a.want(16)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	c.limiter.Admit(t.Context(), c.caller)
	rows, requeue := c.limiter.Dirty()
	if err := c.db.SaveLimits(cancelled, rows); err == nil {
		t.Error("SaveLimits with a cancelled context succeeds")
	}
	requeue()
	c.serve(0)
	a.want(17)
	now = now.Add(24 * time.Hour)
	b.serve(4)
	c.serve(3)
	a.want(7)
}

// TestSharedWindow: the most that a node saw of a window holds, whoever saves
// last.
func TestSharedWindow(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	a, b := node(t, url, postgres.Options{}), node(t, url, postgres.Options{})
	save := func(db *postgres.DB, w ratelimit.SavedWindow) {
		t.Helper()
		w.Subject = "w:1"
		if err := db.SaveLimits(t.Context(), ratelimit.Saved{Windows: []ratelimit.SavedWindow{w}}); err != nil {
			t.Fatal(err)
		}
		got, err := db.LoadLimits(t.Context())
		if err != nil || len(got.Windows) != 1 {
			t.Fatalf("LoadLimits = %+v, %v", got, err)
		}
	}
	want := func(w ratelimit.SavedWindow) {
		t.Helper()
		w.Subject = "w:1"
		if got, err := b.LoadLimits(t.Context()); err != nil || len(got.Windows) != 1 || got.Windows[0] != w {
			t.Errorf("LoadLimits = %+v, %v, want %+v", got.Windows, err, w)
		}
	}
	save(a, ratelimit.SavedWindow{MinuteStart: 60, MinuteUsed: 9, Day: 20500, DayUsed: 90})
	save(b, ratelimit.SavedWindow{MinuteStart: 60, MinuteUsed: 8, Day: 20500, DayUsed: 91})
	want(ratelimit.SavedWindow{MinuteStart: 60, MinuteUsed: 9, Day: 20500, DayUsed: 91})
	save(b, ratelimit.SavedWindow{MinuteStart: 120, MinuteUsed: 1, Day: 20501, DayUsed: 2})
	want(ratelimit.SavedWindow{MinuteStart: 120, MinuteUsed: 1, Day: 20501, DayUsed: 2})
}
