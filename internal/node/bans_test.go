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

func TestAttachHandsOnWhatChanged(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)
	m := ratelimit.New(ratelimit.DefaultConfig(), func() time.Time { return now })
	bans := newBanSync(m)
	w := access.Workspace{ID: 1, Quota: access.FreeQuota}
	k := access.Key{ID: "key_1", WorkspaceID: 1}
	outcome := func(step string, want ratelimit.Outcome) {
		t.Helper()
		if got := m.Peek(bans.attach(w, k)).Outcome; got != want {
			t.Errorf("%s: outcome = %v, want %v", step, got, want)
		}
	}
	outcome("at first", ratelimit.Admitted)
	m.SetBan(k.ID, &ratelimit.Ban{KeyID: k.ID, From: now, Until: now.Add(time.Hour), Level: 1, By: ratelimit.ByLimiter})
	w.Quota.PerMinute = 99
	outcome("another plan while a ban of the limiter is not stored yet", ratelimit.Banned)
	k.Ban = &access.Ban{KeyID: k.ID, From: now, Until: now.Add(time.Hour), Level: 1, By: ratelimit.ByLimiter}
	outcome("the ban is stored", ratelimit.Banned)
	k.Ban = nil
	outcome("the operator lifts it", ratelimit.Admitted)
	k.Ban = &access.Ban{KeyID: k.ID, From: now, Until: now.Add(time.Hour), By: ratelimit.ByOperator}
	outcome("the operator bans", ratelimit.Banned)
	if got := m.Peek(bans.attach(w, k)).Minute.Limit; got != 99 {
		t.Errorf("the limit is %d, want 99, that of the new plan", got)
	}
	k.Ban = nil
	outcome("the operator lifts that", ratelimit.Admitted)
	m.SetBan(k.ID, &ratelimit.Ban{KeyID: k.ID, From: now, Until: now.Add(time.Hour), Level: 2, By: ratelimit.ByLimiter})
	bans.stored(access.Ban{KeyID: k.ID, From: now, Until: now.Add(time.Hour), Level: 2, By: ratelimit.ByLimiter})
	outcome("the operator lifts one that was stored here before the key is read", ratelimit.Admitted)
	bans.detach(k)
	if s := m.Stats(); s.Keys != 0 {
		t.Errorf("Stats().Keys = %d after the key is gone, want 0", s.Keys)
	}
}

func TestBansAreStored(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	w, k := makeKey(t, db)
	var log strings.Builder
	bans := newBanSync(ratelimit.New(ratelimit.DefaultConfig(), time.Now))
	keeper := banKeeper{store: db, bans: bans, log: slog.New(slog.NewTextHandler(&log, nil)), metrics: newMetrics("")}
	until := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	keeper.started(ratelimit.Ban{KeyID: k.ID, From: time.Now(), Until: until, Level: 2, Reason: "hammering", By: ratelimit.ByLimiter})
	keeper.started(ratelimit.Ban{KeyID: "key_unknown", From: time.Now(), Until: until, By: ratelimit.ByLimiter})
	keeper.storing.Wait()
	keys, err := db.Keys(t.Context(), w.ID)
	must(t, err)
	if b := keys[0].Ban; b == nil || !b.Until.Equal(until) || b.Level != 2 || b.By != ratelimit.ByLimiter {
		t.Errorf("the stored ban is %+v, want one of level 2 until %v", b, until)
	}
	if _, ok := bans.bans[k.ID]; !ok || len(bans.bans) != 1 {
		t.Errorf("the bans that can be lifted are %+v, want that of %s", bans.bans, k.ID)
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
