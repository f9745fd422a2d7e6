package node

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/store/sqlite"
)

// openStore opens a database in a new folder.
func openStore(t *testing.T) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "petstore.db"), sqlite.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

// makeKey stores a workspace with one key.
func makeKey(t *testing.T, db *sqlite.DB) (access.Workspace, access.Key) {
	t.Helper()
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "acme", Plan: access.Free, Quota: access.FreeQuota, CreatedAt: time.Now()}, actor)
	must(t, err)
	secret, prefix := access.Mint()
	k := access.Key{
		ID: access.MintID(), WorkspaceID: w.ID, Name: "k", Prefix: prefix, Hash: access.HashOf(secret),
		Scopes: access.Read, CreatedAt: time.Now(),
	}
	if _, err := db.MakeKey(t.Context(), access.KeyRequest{Key: k, By: actor}); err != nil {
		t.Fatal(err)
	}
	return w, k
}

// severe returns a limiter that bans a key for an hour at its first refusal.
func severe(now func() time.Time) *ratelimit.Limiter {
	cfg := ratelimit.DefaultConfig()
	cfg.Strikes, cfg.Grace, cfg.FirstBan = 1, -1, time.Hour
	return ratelimit.New(cfg, now)
}

// begin sends requests until a ban begins.
func begin(l *ratelimit.Limiter, c *ratelimit.Caller) (ban *ratelimit.Ban) {
	for ban == nil {
		ban = l.Admit(c).NewBan
	}
	return ban
}

func TestAttachHandsOnWhatChanged(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)
	n := &node{limiter: severe(func() time.Time { return now })}
	w := access.Workspace{ID: 1, Quota: access.FreeQuota}
	k := access.Key{ID: "key_1", WorkspaceID: 1}
	var c *ratelimit.Caller
	outcome := func(step string, want ratelimit.Outcome) {
		t.Helper()
		c = n.attach(w, k, c)
		if got := n.limiter.Peek(c).Outcome; got != want {
			t.Errorf("%s: outcome = %v, want %v", step, got, want)
		}
	}
	outcome("at first", ratelimit.Admitted)
	began := access.Ban(*begin(n.limiter, c))
	w.Quota.PerMinute = 99
	outcome("another plan while a ban of the limiter is not stored yet", ratelimit.Banned)
	k.Ban = &began
	outcome("the ban is stored", ratelimit.Banned)
	k.Ban = nil
	outcome("the operator lifts it", ratelimit.Admitted)
	k.Ban = &access.Ban{KeyID: k.ID, From: now, Until: now.Add(time.Hour), By: ratelimit.ByOperator}
	outcome("the operator bans", ratelimit.Banned)
	if got := n.limiter.Peek(c).Minute.Limit; got != 99 {
		t.Errorf("the limit is %d, want 99, that of the new plan", got)
	}
	k.Ban = nil
	outcome("the operator lifts that", ratelimit.Admitted)
}

// TestBansAreStored: a ban is stored, and lifted here if that is changed before the key is read again.
func TestBansAreStored(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	_, k := makeKey(t, db)
	var log strings.Builder
	n := &node{store: db, limiter: severe(time.Now), log: slog.New(slog.NewTextHandler(&log, nil)), metrics: newMetrics("")}
	n.keys = access.NewDirectory(db, time.Now, n.attach)
	c := n.keys.Entry(k.ID).Attachment
	ban := begin(n.limiter, c)
	n.banStarted(*ban)
	n.banStarted(ratelimit.Ban{KeyID: "key_unknown", From: ban.From, Until: ban.Until, By: ratelimit.ByLimiter})
	n.storing.Wait()
	stored, err := db.Key(t.Context(), k.ID)
	must(t, err)
	if b := stored.Ban; b == nil || b.Until.Sub(ban.Until).Abs() > time.Millisecond || b.Level != 1 || b.By != ratelimit.ByLimiter {
		t.Errorf("the stored ban is %+v, want %+v", b, ban)
	}
	must(t, access.LiftBan(t.Context(), db, k.ID, actor))
	must(t, n.keys.Refresh(t.Context()))
	if d := n.limiter.Peek(n.keys.Entry(k.ID).Attachment); d.Outcome != ratelimit.Admitted {
		t.Errorf("after the ban was lifted the key is %v", d.Outcome)
	}
	for _, want := range []string{"audit=ban.set key=" + k.ID, `msg="a ban could not be stored" key=key_unknown`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &log)
		}
	}
}

func TestTheDefaultsAreThoseOfTheInterface(t *testing.T) {
	t.Parallel()
	if got, want := limiterConfig(config.New()), ratelimit.DefaultConfig(); got != want {
		t.Errorf("limiterConfig(default) = %+v, want %+v", got, want)
	}
}
