package access

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
)

var (
	freeShop = Workspace{ID: 1, Name: "one", Plan: Free, Quota: FreeQuota}
	proShop  = Workspace{ID: 1, Name: "one", Plan: Pro, Quota: Quota{PerMinute: 300, PerDay: 10_000}}
	other    = Workspace{ID: 2, Name: "two", Plan: Free, Quota: FreeQuota}
)

// wantVerify compares the outcome for a key; "" wants its live entry.
func (h *house) wantVerify(what, key string, want petstore.Code) *Entry[*slot] {
	h.t.Helper()
	e, err := h.Verify(key)
	if got := petstore.CodeOf(err); got != want || (err == nil) != (want == "") {
		h.t.Errorf("%s: Verify = %v, want code %q", what, err, want)
	}
	if (e != nil) != (want == "" || want == CodeExpiredKey) {
		h.t.Errorf("%s: Verify = %+v with the code %q", what, e, want)
	}
	return e
}

func TestVerify(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.putWorkspace(freeShop)
	k, key := h.mint(1, nil)
	h.refresh()
	e := h.wantVerify("a live key", key, "")
	if e == nil || e.Key != k || *e.Workspace != freeShop || e.Slot != h.slots[k.ID] {
		t.Errorf("Verify = %+v, want the key %+v of %+v with its slot", e, k, freeShop)
	}
	unknown, _ := Mint()
	for what, bad := range map[string]string{
		"nothing": "", "words": "let me in", "an unknown key": unknown,
		"a mistyped key": key[:40] + "??", "its id": k.ID, "its hash": string(k.Hash[:]),
		"another case": strings.ToUpper(key), "a space behind": key + " ", "half a key": key[:20],
	} {
		h.wantVerify(what, bad, CodeInvalidKey)
	}
}

// What begins reads the keys whose bans run, and of the others those that are used.
func TestKeysAreReadWhenUsed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.putWorkspace(freeShop)
	h.store.putWorkspace(other)
	used, key := h.mint(1, nil)
	asked, _ := h.mint(2, nil)
	h.mint(2, nil)
	banned, _ := h.mint(2, func(k *Key) { k.Ban = &Ban{KeyID: k.ID, Until: h.now().Add(time.Hour)} })
	h.restart()
	h.wantEntries("a restart", banned.ID)
	if e := h.wantVerify("a key", key, ""); *e.Workspace != freeShop {
		t.Errorf("Verify = %+v, want the key of %+v", e, freeShop)
	}
	if e := h.Entry(asked.ID); e == nil || *e.Workspace != other {
		t.Errorf("Entry = %+v, want the key of %+v", e, other)
	}
	if e := h.Entry("key_unknown"); e != nil {
		t.Errorf("Entry of no key = %+v", e)
	}
	h.wantEntries("two were used", banned.ID, used.ID, asked.ID)
	before := h.store.looked
	h.wantVerify("the key again", key, "")
	if h.Entry(asked.ID); h.store.looked != before {
		t.Error("the store was asked for a key that is here")
	}
	h.store.putWorkspace(proShop)
	h.refresh()
	if e := h.Entry(used.ID); *e.Workspace != proShop {
		t.Errorf("after a change of plan: %+v, want %+v", e.Workspace, proShop)
	}
}

// A key that was just made, by whomever, works at its first use; one that was
// made while a caller's turn to ask was awaited, too.
func TestVerifyFindsNewKeysAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.store.putWorkspace(freeShop)
		h.refresh()
		for range 20 {
			var callers sync.WaitGroup
			for range 10 {
				_, key := h.mint(1, nil)
				callers.Go(func() { h.wantVerify("a new key", key, "") })
			}
			callers.Wait()
		}
	})
}

// However many guess, the store is asked once for all that wait, and not more
// often than every askPause.
func TestGuessesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.store.putWorkspace(freeShop)
		_, known := h.mint(1, nil)
		h.refresh()
		h.wantVerify("a key that becomes known", known, "")
		began, before := time.Now(), h.store.looked
		var guessers sync.WaitGroup
		for range 100 {
			guessers.Go(func() {
				for range 10 {
					unknown, _ := Mint()
					h.wantVerify("a guess", unknown, CodeInvalidKey)
					h.wantVerify("a known key", known, "")
				}
			})
		}
		guessers.Wait()
		asked, most := h.store.looked-before, int(time.Since(began)/askPause)+1
		if asked < 10 || asked > most || asked > 30 {
			t.Errorf("1000 guesses of 100 callers asked the store %d times in %v, want 10 to %d", asked, time.Since(began), min(most, 30))
		}
	})
}

// A guess that is repeated is refused without the store, and a key that it met
// before it was there works when the directory has followed.
func TestRepeatedGuesses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.putWorkspace(freeShop)
	k, key := h.mint(1, nil)
	h.edit(k, func(k *Key) { k.RevokedAt = h.now() })
	h.refresh()
	before := h.store.looked
	for range 100 {
		h.wantVerify("a revoked key", key, CodeInvalidKey)
	}
	if asked := h.store.looked - before; asked != 1 {
		t.Errorf("the store was asked %d times for one unknown key, want once", asked)
	}
	h.edit(k, func(k *Key) { k.RevokedAt = time.Time{} }) // as a restored backup has it
	h.refresh()
	h.wantVerify("a key that came back", key, "")
}

// While the store is away, what is known stays, and of what is not nobody says that it
// is no key.
func TestVerifyWithoutStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.store.putWorkspace(freeShop)
		_, known := h.mint(1, nil)
		h.refresh()
		h.wantVerify("a key that becomes known", known, "")
		h.store.fail(errors.New("away"))
		_, unknown := h.mint(1, nil)
		h.wantVerify("a new key", unknown, petstore.CodeServiceUnavailable)
		h.wantVerify("a known key", known, "")
		h.reading <- struct{}{} // a refresh that hangs
		began := time.Now()
		another, _ := Mint()
		h.wantVerify("a guess", another, petstore.CodeServiceUnavailable)
		if waited := time.Since(began); waited > askTimeout+askPause {
			t.Errorf("a guess waited %v for a store that hangs, want %v at most", waited, askTimeout)
		}
		<-h.reading
		h.store.fail(nil)
		h.wantVerify("the new key when the store is back", unknown, "")
	})
}

func TestVerifyExpiry(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.putWorkspace(freeShop)
	_, key := h.mint(1, func(k *Key) { k.ExpiresAt = h.now().Add(time.Hour) })
	h.refresh()
	h.wantVerify("before its expiry", key, "")
	h.advance(time.Hour - 1)
	h.wantVerify("just before its expiry", key, "")
	h.advance(1)
	h.wantVerify("at its expiry", key, CodeExpiredKey)
}

// A caller may write on the error it got; nobody else sees it.
func TestVerifyErrorsAreFresh(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.putWorkspace(freeShop)
	_, expired := h.mint(1, func(k *Key) { k.ExpiresAt = h.now() })
	unknown, _ := Mint()
	h.refresh()
	for what, key := range map[string]string{"malformed": "x", "unknown": unknown, "expired": expired} {
		_, err := h.Verify(key)
		e, ok := errors.AsType[*petstore.Error](err)
		if !ok || e.Message == "" {
			t.Fatalf("%s: Verify = %v, want an Error with a message", what, err)
		}
		message := e.Message
		e.Message = "changed"
		if _, err := h.Verify(key); strings.Contains(err.Error(), "changed") || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: Verify = %v after its last error was changed, want %s", what, err, message)
		}
	}
}

func TestRefreshReplacesEntries(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.putWorkspace(freeShop)
	h.store.putWorkspace(other)
	k, key := h.mint(1, nil)
	_, elsewhere := h.mint(2, nil)
	h.refresh()
	first, away := h.wantVerify("a live key", key, ""), h.wantVerify("a key elsewhere", elsewhere, "")

	h.store.putWorkspace(proShop)
	h.refresh()
	second := h.wantVerify("after a change of plan", key, "")
	if second == first || *first.Workspace != freeShop || *second.Workspace != proShop {
		t.Errorf("a change of plan made %+v of %+v, want a new entry", second.Workspace, first.Workspace)
	}
	if second.Slot != first.Slot || second.Slot.attached != 2 || second.Slot.quota != proShop.Quota {
		t.Errorf("a change of plan: slot %+v, want the same owner told of %+v", second.Slot, proShop.Quota)
	}

	h.edit(k, func(k *Key) { k.Ban = &Ban{KeyID: k.ID, Until: h.now().Add(time.Hour)} })
	h.refresh()
	third := h.wantVerify("after a ban", key, "")
	if second.Key.Ban != nil || third.Key.Ban == nil || !third.Slot.banned || *third.Workspace != proShop {
		t.Errorf("a ban made %+v of %+v, want a new entry with the ban", third.Key, second.Key)
	}
	if now := h.wantVerify("a key elsewhere", elsewhere, ""); now != away || now.Slot.attached != 1 {
		t.Errorf("the key elsewhere was replaced by %+v, want it left alone", now)
	}
	if len(h.detached) != 0 {
		t.Errorf("detached %v, want none", h.detached)
	}
}

func TestRefreshDropsRevokedKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.putWorkspace(freeShop)
	k, key := h.mint(1, nil)
	stays, _ := h.mint(1, nil)
	revoked, never := h.mint(1, func(k *Key) { k.RevokedAt = h.now() })
	h.refresh()
	h.wantVerify("a key revoked before", never, CodeInvalidKey)
	h.edit(k, func(k *Key) { k.RevokedAt = h.now() })
	h.wantVerify("before the refresh", key, "")
	h.refresh()
	h.wantVerify("a revoked key", key, CodeInvalidKey)
	h.wantEntries("the revocation", stays.ID)
	if !slices.Equal(h.detached, []string{k.ID}) || h.slots[revoked.ID] != nil {
		t.Errorf("detached %v, want %s alone", h.detached, k.ID)
	}
	h.store.putWorkspace(proShop) // must not bring it back
	h.refresh()
	h.wantEntries("a change of plan", stays.ID)
}

func TestRefreshDropsDeletedWorkspaces(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.putWorkspace(freeShop)
	h.store.putWorkspace(other)
	k, key := h.mint(1, nil)
	stays, _ := h.mint(2, nil)
	h.refresh()
	before := h.Entries()
	h.store.deleteWorkspace(1)
	h.refresh()
	h.wantVerify("a key of a deleted workspace", key, CodeInvalidKey)
	h.wantEntries("the deletion", stays.ID)
	if !slices.Equal(h.detached, []string{k.ID}) {
		t.Errorf("detached %v, want %s", h.detached, k.ID)
	}
	if e := h.Entries()[0]; !slices.Contains(before, e) || e.Slot.attached != 1 {
		t.Errorf("the deletion replaced the unchanged entry of %s, attached %d times; want it left alone", e.Key.ID, e.Slot.attached)
	}
	again := freeShop
	again.ID = 3
	h.store.putWorkspace(again) // the name is free again
	next, nextKey := h.mint(3, nil)
	h.refresh()
	h.wantVerify("a key of the new workspace", nextKey, "")
	h.wantEntries("the new workspace", stays.ID, next.ID)
}

func TestRefreshOfAKeyWithoutWorkspace(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, key := h.mint(9, nil)
	h.refresh()
	h.wantVerify("a key without a workspace", key, CodeInvalidKey)
	if len(h.slots) != 0 {
		t.Errorf("%d keys were attached, want none", len(h.slots))
	}
}

// What is asked for and what is done when nothing or little changed.
func TestRefreshAsksForChanges(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.putWorkspace(freeShop)
	k, _ := h.mint(1, nil)
	h.refresh()
	h.refresh()
	h.edit(k, func(*Key) {}) // it is told of and stays as it was
	h.refresh()
	h.refresh()
	if want := []int64{0, 1, 3, 3, 4}; !slices.Equal(h.store.asked, want) {
		t.Errorf("the store was asked for changes since %v, want %v", h.store.asked, want)
	}
	if n := h.slots[k.ID].attached; n != 1 {
		t.Errorf("the key was attached %d times, want once", n)
	}
}

func TestRefreshFails(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.putWorkspace(freeShop)
	k, key := h.mint(1, nil)
	h.refresh()
	h.edit(k, func(k *Key) { k.RevokedAt = h.now() })
	away := errors.New("the store is away")
	h.store.fail(away)
	if err := h.Refresh(context.Background()); !errors.Is(err, away) {
		t.Errorf("Refresh = %v, want %v", err, away)
	}
	h.wantVerify("while the store is away", key, "")
	h.store.fail(nil)
	h.refresh()
	h.wantVerify("when the store is back", key, CodeInvalidKey)
}

// A new hash for the same id, which no store should say, leaves no second way in.
func TestRefreshOfAnotherHash(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.putWorkspace(freeShop)
	k, key := h.mint(1, nil)
	h.refresh()
	next, _ := Mint()
	h.edit(k, func(k *Key) { k.Hash = HashOf(next) })
	h.refresh()
	h.wantVerify("the old key", key, CodeInvalidKey)
	h.wantVerify("the new key", next, "")
}

func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.store.putWorkspace(freeShop)
		k, key := h.mint(1, nil)
		ctx, cancel := context.WithCancel(context.Background())
		var logged bytes.Buffer
		var wait sync.WaitGroup
		wait.Go(func() { h.Run(ctx, time.Second, slog.New(slog.NewTextHandler(&logged, nil))) })

		time.Sleep(time.Second + 1)
		synctest.Wait()
		h.wantVerify("after a second", key, "")
		h.store.fail(errors.New("the store is away"))
		h.edit(k, func(k *Key) { k.RevokedAt = h.now() })
		time.Sleep(time.Second)
		synctest.Wait()
		h.wantVerify("while the store is away", key, "")
		h.store.fail(nil)
		time.Sleep(time.Second)
		synctest.Wait()
		h.wantVerify("when the store is back", key, CodeInvalidKey)
		cancel()
		wait.Wait()
		if got := strings.Count(logged.String(), "the store is away"); got != 1 {
			t.Errorf("%d failures were logged, want 1: %s", got, &logged)
		}
	})
}

// A store that is away for long is told when that begins, once a minute, and
// when it is over; the next time it is told anew.
func TestRunLogsChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		ctx, cancel := context.WithCancel(t.Context())
		var logged bytes.Buffer
		var wait sync.WaitGroup
		wait.Go(func() { h.Run(ctx, 250*time.Millisecond, slog.New(slog.NewTextHandler(&logged, nil))) })
		for _, test := range []struct {
			long            time.Duration
			failures, heals int // logged in all by its end
		}{{10 * time.Second, 1, 1}, {150 * time.Second, 4, 2}} {
			h.store.fail(errors.New("the store is away"))
			time.Sleep(test.long)
			h.store.fail(nil)
			time.Sleep(time.Second)
			synctest.Wait()
			failures, heals := strings.Count(logged.String(), "could not be refreshed"), strings.Count(logged.String(), "refreshed again")
			if failures != test.failures || heals != test.heals {
				t.Errorf("after %v without the store: %d failures and %d recoveries logged, want %d and %d:\n%s",
					test.long, failures, heals, test.failures, test.heals, &logged)
			}
		}
		cancel()
		wait.Wait()
	})
}

// Readers see every key that is not touched, at all times, and never half an
// entry, while refreshes come from everywhere.
func TestDirectoryConcurrently(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.store.putWorkspace(freeShop)
	h.store.putWorkspace(other)
	k, key := h.mint(1, nil)
	h.refresh()
	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				e, err := h.Verify(key)
				if err != nil || e.Key.ID != k.ID || e.Workspace.ID != 1 || e.Slot == nil {
					t.Errorf("Verify = %+v, %v, want the key's entry", e, err)
					return
				}
				if len(h.Entries()) == 0 {
					t.Error("Entries is empty, want the key at least")
					return
				}
			}
		})
	}
	for n := range 2 {
		writers.Go(func() {
			for i := range 100 {
				w := proShop
				w.Quota.PerDay = int64(1000*n + i + 1)
				h.store.putWorkspace(w)
				h.mint(2, nil)
				if i%25 == 24 {
					h.store.deleteWorkspace(2)
					h.store.putWorkspace(other)
				}
				if err := h.Refresh(context.Background()); err != nil {
					t.Errorf("Refresh: %v", err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	h.refresh()
	e := h.wantVerify("at last", key, "")
	if got, want := e.Workspace.Quota, h.store.workspaces[1].Quota; got != want || e.Slot.quota != want {
		t.Errorf("at last the quota is %+v and its slot's %+v, want %+v", got, e.Slot.quota, want)
	}
}

func TestVerifyAllocatesNothing(t *testing.T) {
	h := newHouse(t)
	h.store.putWorkspace(freeShop)
	_, key := h.mint(1, func(k *Key) { k.ExpiresAt = h.now().Add(time.Hour) })
	h.refresh()
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := h.Verify(key); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("Verify allocates %v times, want 0", allocs)
	}
}

func BenchmarkVerify(b *testing.B) {
	h := newHouse(b)
	h.store.putWorkspace(freeShop)
	var keys []string
	for range 10_000 {
		_, key := h.mint(1, nil)
		keys = append(keys, key)
	}
	h.refresh()
	unknown, _ := Mint()
	for name, key := range map[string]string{"live": keys[0], "unknown": unknown, "malformed": unknown[:41] + "?"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.Verify(key)
			}
		})
	}
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				h.Verify(keys[i%len(keys)])
			}
		})
	})
}

// saying is a store that says what it is told to.
type saying struct {
	Store
	changes    Changes
	workspaces []Workspace
	keys       map[string]Key
}

func (s *saying) Changes(context.Context, int64) (Changes, error) { return s.changes, nil }

func (s *saying) LiveKeys(_ context.Context, ids []string, _ []Hash) (keys []Key, of []Workspace, err error) {
	for _, id := range ids {
		keys = append(keys, s.keys[id])
	}
	return keys, s.workspaces, nil
}

// BenchmarkRefresh changes one plan among many workspaces, or has the store not
// know what changed.
func BenchmarkRefresh(b *testing.B) {
	store := &saying{keys: map[string]Key{}}
	for id := range int64(5000) {
		store.workspaces = append(store.workspaces, Workspace{ID: id + 1, Plan: Pro})
		for range 2 {
			k := Key{ID: MintID(), WorkspaceID: id + 1, Hash: HashOf(MintID())}
			store.keys[k.ID] = k
			store.changes.Keys = append(store.changes.Keys, k)
		}
	}
	store.changes.Workspaces = store.workspaces
	d := NewDirectory(store, time.Now, func(Workspace, Key) int { return 0 }, func(Key) {})
	refresh := func() {
		store.changes.State++
		if err := d.Refresh(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	refresh()
	store.changes = Changes{State: store.changes.State, All: true}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			refresh()
		}
	})
	store.changes.All, store.changes.Workspaces = false, store.workspaces[:1]
	b.Run("plan", func(b *testing.B) {
		for b.Loop() {
			store.workspaces[0].Quota.PerDay++
			refresh()
		}
	})
}

// TestMemoryOfAKey: a key in use takes about half a kilobyte, its counts included.
func TestMemoryOfAKey(t *testing.T) {
	const keys, most = 7000, 544 // what stands against a key is 64 bytes of it
	h := newHouse(t)
	var ids []string
	for i := range int64(keys) {
		w := Workspace{ID: i/10 + 1, Name: "a workspace", Plan: Free, Quota: FreeQuota}
		h.store.workspaces[w.ID] = w
		k, _ := h.mint(w.ID, nil)
		ids = append(ids, k.ID)
	}
	limiter := ratelimit.NewMemory(ratelimit.DefaultConfig(), h.now)
	before := heapInUse()
	d := NewDirectory(h.store, h.now, func(w Workspace, k Key) *ratelimit.Caller {
		return limiter.Caller(w.ID, k.ID, ratelimit.Limits{PerMinute: w.Quota.PerMinute, PerDay: w.Quota.PerDay})
	}, func(Key) {})
	for ids := range slices.Chunk(ids, lookAtOnce) {
		if err := d.answer(t.Context(), &question{ids: ids}); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range d.Entries() {
		limiter.Admit(t.Context(), e.Slot)
	}
	each := (heapInUse() - before) / keys
	if each > most {
		t.Errorf("a key in use takes %d bytes, want at most %d", each, most)
	}
	runtime.KeepAlive(d)
	runtime.KeepAlive(limiter)
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
