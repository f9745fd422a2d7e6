package access

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/petstore"
)

var (
	freeShop = Workspace{ID: 1, Name: "one", Plan: Free, Quota: FreeQuota}
	proShop  = Workspace{ID: 1, Name: "one", Plan: Pro, Quota: Quota{PerMinute: 300, PerDay: 10_000}}
	other    = Workspace{ID: 2, Name: "two", Plan: Free, Quota: FreeQuota}
)

func TestVerify(t *testing.T) {
	t.Parallel()
	h := newHouse(t, freeShop)
	k, key := h.mint(1, nil)
	h.refresh()
	e := h.wantVerify("a live key", key, "")
	if e == nil || e.Key != k || *e.Workspace != freeShop || e.Attachment.key != k.ID {
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

// A key that was just made, by whomever, works at its first use; one that was
// made while a caller's turn to ask was awaited, too.
func TestVerifyFindsNewKeysAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, freeShop)
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
// often than every unknownInterval.
func TestGuessesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, freeShop)
		_, known := h.mint(1, nil)
		h.refresh()
		h.wantVerify("a key that becomes known", known, "")
		began, before := time.Now(), h.store.looked
		var guessers sync.WaitGroup
		revoked, _ := Mint()
		for n := range 100 {
			guessers.Go(func() {
				for range 10 {
					guess, _ := Mint()
					if n < 50 {
						guess = revoked
					}
					h.wantVerify("a guess", guess, CodeInvalidKey)
					h.wantVerify("a known key", known, "")
				}
			})
		}
		guessers.Wait()
		asked, most := h.store.looked-before, int(time.Since(began)/unknownInterval)+1
		if asked < 10 || asked > most || asked > 30 {
			t.Errorf("1000 guesses of 100 callers asked the store %d times in %v, want 10 to %d", asked, time.Since(began), min(most, 30))
		}
	})
}

// The store is asked for a key when it is first used, by its hash or by its id, and at
// its first use after something changed.
func TestKeysAreReadWhenUsed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, freeShop, other)
	used, key := h.mint(1, nil)
	asked, _ := h.mint(2, nil)
	h.mint(2, nil)
	reads := func(what string, want int, use func()) {
		t.Helper()
		before := h.store.looked
		use()
		if got := h.store.looked - before; got != want {
			t.Errorf("%s: the store was asked %d times, want %d", what, got, want)
		}
	}
	both := func() {
		if e := h.wantVerify("a key", key, ""); e == nil || e.Key != used || *e.Workspace != freeShop || e.Attachment.key != used.ID {
			t.Errorf("Verify = %+v, want the key of %+v", e, freeShop)
		}
		if e := h.Entry(asked.ID); e == nil || *e.Workspace != other {
			t.Errorf("Entry = %+v, want the key of %+v", e, other)
		}
	}
	reads("at first", 2, both)
	reads("again", 0, both)
	h.refresh()
	reads("nothing changed", 0, both)
	h.edit(asked, func(*Key) {})
	reads("before the refresh", 0, both)
	h.refresh()
	reads("something changed", 2, both)
	if e := h.Entry("key_unknown"); e != nil {
		t.Errorf("Entry of no key = %+v", e)
	}
	if n := h.Len(); n != 2 {
		t.Errorf("Len = %d, want the 2 that were used", n)
	}
	if h.store.followed != h.store.state {
		t.Errorf("followed %d, want %d", h.store.followed, h.store.state)
	}
}

// Whatever changes holds at once after a refresh.
func TestChangesHold(t *testing.T) {
	t.Parallel()
	h := newHouse(t, freeShop, other)
	k, key := h.mint(1, nil)
	_, elsewhere := h.mint(2, nil)
	first := h.wantVerify("a live key", key, "")
	h.wantVerify("a key elsewhere", elsewhere, "")

	h.store.putWorkspace(proShop)
	h.refresh()
	second := h.wantVerify("after a change of plan", key, "")
	if *first.Workspace != freeShop || *second.Workspace != proShop || second.Attachment != first.Attachment || second.Attachment.quota != proShop.Quota {
		t.Errorf("a change of plan made %+v of %+v, want a new entry whose slot knows", second, first)
	}
	h.edit(k, func(k *Key) { k.Ban = &Ban{KeyID: k.ID, Until: h.now().Add(time.Hour)} })
	h.refresh()
	third := h.wantVerify("after a ban", key, "")
	if second.Key.Ban != nil || third.Key.Ban == nil || !third.Attachment.banned {
		t.Errorf("a ban made %+v of %+v, want a new entry with the ban", third.Key, second.Key)
	}
	h.edit(k, func(k *Key) { k.RevokedAt = h.now() })
	h.refresh()
	h.wantVerify("a revoked key", key, CodeInvalidKey)
	if e := h.Entry(k.ID); e != nil {
		t.Errorf("Entry of a revoked key = %+v, want it gone", e)
	}
	h.edit(k, func(k *Key) { k.RevokedAt = time.Time{} }) // as a restored backup has it
	h.refresh()
	if e := h.wantVerify("a key that came back", key, ""); e.Attachment == third.Attachment {
		t.Error("a key that came back has the slot of before")
	}
	h.store.deleteWorkspace(1)
	h.refresh()
	h.wantVerify("a key of a deleted workspace", key, CodeInvalidKey)
	h.wantVerify("a key elsewhere", elsewhere, "")
	_, orphan := h.mint(9, nil)
	h.wantVerify("a key without a workspace", orphan, CodeInvalidKey)
}

// What is read while something changes does not count as read after it.
func TestChangeDuringLookUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, freeShop)
		k, key := h.mint(1, nil)
		h.store.hang = make(chan struct{})
		var caller sync.WaitGroup
		caller.Go(func() { h.wantVerify("a key that was live", key, "") })
		synctest.Wait()
		h.edit(k, func(k *Key) { k.RevokedAt = h.now() })
		h.refresh()
		close(h.store.hang)
		caller.Wait()
		h.wantVerify("a key that was revoked meanwhile", key, CodeInvalidKey)
	})
}

// While the store is away, what was read goes on, also if something had changed just
// before, and of what was not nobody says that it is no key.
func TestVerifyWithoutStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, freeShop)
		k, known := h.mint(1, nil)
		h.wantVerify("a key that becomes known", known, "")
		h.store.putWorkspace(proShop)
		h.refresh()
		h.store.fail(errors.New("away"))
		_, unknown := h.mint(1, nil)
		h.wantVerify("a known key", known, "")
		h.wantVerify("a new key", unknown, petstore.CodeServiceUnavailable)
		if e := h.Entry(k.ID); e == nil {
			t.Error("Entry of a known key = nil")
		}
		if err := h.Refresh(t.Context()); err == nil {
			t.Error("Refresh succeeded without the store")
		}
		h.store.hang = make(chan struct{})
		began := time.Now()
		another, _ := Mint()
		h.wantVerify("a guess", another, petstore.CodeServiceUnavailable)
		if waited := time.Since(began); waited > lookupTimeout+unknownInterval {
			t.Errorf("a guess waited %v for a store that hangs, want %v at most", waited, lookupTimeout)
		}
		began = time.Now()
		h.wantVerify("a known key", known, "")
		if waited := time.Since(began); waited > 0 {
			t.Errorf("a known key waited %v for a store that is known to hang", waited)
		}
		h.store.hang = nil
		h.store.fail(nil)
		h.wantVerify("the new key when the store is back", unknown, "")
		h.edit(k, func(k *Key) { k.RevokedAt = h.now() })
		h.refresh()
		h.wantVerify("a key that was revoked when the store was back", known, CodeInvalidKey)
	})
}

// TestManyWait: however many callers wait for the store, it is asked for some keys at a
// time, and each is answered.
func TestManyWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, freeShop)
		var all sync.WaitGroup
		for range 3*maxLookup + 1 {
			_, known := h.mint(1, nil)
			all.Go(func() { h.wantVerify("one of many", known, "") })
		}
		all.Wait()
		if h.store.most > maxLookup {
			t.Errorf("the store was asked for %d keys at once, want %d at most", h.store.most, maxLookup)
		}
	})
}

// Renew lets keys go that nobody uses any more.
func TestRenew(t *testing.T) {
	t.Parallel()
	h := newHouse(t, freeShop)
	for range 2 * renewBatch {
		k, key := h.mint(1, nil)
		h.wantVerify("one of many", key, "")
		h.edit(k, func(k *Key) { k.RevokedAt = h.now() })
	}
	h.refresh()
	if err := h.Renew(0); err != nil {
		t.Fatal(err)
	}
	if n := h.Len(); n != renewBatch {
		t.Errorf("after no time %d keys are here, want %d", n, renewBatch)
	}
	if err := h.Renew(time.Minute); err != nil {
		t.Fatal(err)
	}
	if n := h.Len(); n != 0 {
		t.Errorf("%d keys are here, want none", n)
	}
}

func TestVerifyExpiry(t *testing.T) {
	t.Parallel()
	h := newHouse(t, freeShop)
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
	h := newHouse(t, freeShop)
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
