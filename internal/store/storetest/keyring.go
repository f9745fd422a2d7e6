package storetest

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

func ids(keys []access.Key) []string {
	all := []string{}
	for _, k := range keys {
		all = append(all, k.ID)
	}
	return all
}

// lastAudit returns the latest entry of the audit log.
func (s *tenant) lastAudit() access.AuditEntry {
	s.Helper()
	entries, err := s.AuditPage(s.ctx, 0, 1)
	if err != nil || len(entries) != 1 {
		s.Fatalf("AuditPage = %v, %v", entries, err)
	}
	return entries[0]
}

// testKeyUpdates: name, expiry and revocation are kept, noted and followed; what edit refuses changes nothing.
func testKeyUpdates(t *testing.T, open Open) {
	s := newTenant(t, open)
	k := s.key("before", time.Time{})
	end := s.clock.Now().Add(time.Hour)
	got, err := s.UpdateKey(s.ctx, k.ID, "api:key_x", "", func(_, k *access.Key) error {
		k.Name, k.ExpiresAt = "after", end
		return nil
	})
	wantCode(t, "UpdateKey", err, "")
	k.Name, k.ExpiresAt = "after", end
	s.wantKey(k)
	if !got.ExpiresAt.Equal(end) || got.Name != "after" {
		t.Errorf("UpdateKey = %+v", got)
	}
	if e := s.lastAudit(); e.Action != "key.update" || e.Actor != "api:key_x" || e.Subject != k.ID || !strings.Contains(e.Detail, `"after" was "before"`) {
		t.Errorf("the audit log has %+v", e)
	}
	if _, err := s.UpdateKey(s.ctx, k.ID, "cli", "", func(_, _ *access.Key) error { return nil }); err != nil {
		t.Errorf("UpdateKey of nothing = %v", err)
	}
	refused := errors.New("refused")
	if _, err := s.UpdateKey(s.ctx, k.ID, "cli", "", func(_, k *access.Key) error { k.Name = "no"; return refused }); !errors.Is(err, refused) {
		t.Errorf("UpdateKey = %v, want %v", err, refused)
	}
	s.wantKey(k)
	if e := s.lastAudit(); e.Actor != "api:key_x" {
		t.Errorf("what changed nothing is in the audit log: %+v", e)
	}
	_, err = s.UpdateKey(s.ctx, "key_unknown", "cli", "", func(_, _ *access.Key) error { return nil })
	wantCode(t, "UpdateKey of none", err, access.CodeKeyNotFound)
}

// testKeysOnce: two requests for a key with the same Idempotency-Key get the same one, for a
// day.
func testKeysOnce(t *testing.T, open Open) {
	s := newTenant(t, open)
	maker := s.key("maker", time.Time{})
	ring := access.Keyring{Store: s.Stores, Now: s.clock.Now, By: "api:" + access.Actor(maker.ID), Maker: &maker, Secret: "what the maker sent"}
	once := &petstore.Idempotency{Operation: "POST /keys", Key: "k-1", Fingerprint: [32]byte{1}}
	n := access.NewKey{Name: "till", Scopes: access.Read}
	first, err := ring.Create(s.ctx, s.workspace, n, once)
	wantCode(t, "Create", err, "")
	again, err := ring.Create(s.ctx, s.workspace, n, once)
	if err != nil || !again.Replayed || first.Replayed || again.Secret != first.Secret || string(again.Body) != string(first.Body) {
		t.Errorf("Create again = %+v, %v, want %+v", again, err, first)
	}
	if k, err := s.Key(s.ctx, first.Key.ID); err != nil || k.Hash != access.HashOf(first.Secret) {
		t.Errorf("Key = %+v, %v, want the hash of what was told", k, err)
	}
	other := ring
	other.Secret = "what another sent"
	if stolen, err := other.Create(s.ctx, s.workspace, n, once); err != nil || stolen.Secret == first.Secret {
		t.Errorf("another holder is told %q, %v, which is the key", stolen.Secret, err)
	}
	changed := *once
	changed.Fingerprint[0]++
	_, err = ring.Create(s.ctx, s.workspace, n, &changed)
	wantCode(t, "Create with another body", err, petstore.CodeIdempotencyKeyReused)
	rotate := &petstore.Idempotency{Operation: "POST /keys/x/rotate", Key: "k-1", Fingerprint: [32]byte{2}}
	next, err := ring.Rotate(s.ctx, first.Key.ID, time.Hour, rotate)
	wantCode(t, "Rotate", err, "")
	nextAgain, err := ring.Rotate(s.ctx, first.Key.ID, time.Hour, rotate)
	if err != nil || nextAgain.Secret != next.Secret || !nextAgain.Replayed {
		t.Errorf("Rotate again = %+v, %v, want %+v", nextAgain, err, next)
	}
	_, err = ring.Rotate(s.ctx, first.Key.ID, time.Hour, nil)
	wantCode(t, "Rotate of the rotated", err, access.CodeKeyRotated)
	s.clock.Advance(petstore.KeepReceipts)
	late, err := ring.Create(s.ctx, s.workspace, n, once)
	if err != nil || late.Replayed || late.Key.ID == first.Key.ID {
		t.Errorf("Create after a day = %+v, %v, want a new key", late, err)
	}
}

// testKeyring: a key changes those of its workspace alone, gives no more than it has, and no key comes back to life.
func testKeyring(t *testing.T, open Open) {
	s := newTenant(t, open)
	end := s.clock.Now().Add(time.Hour)
	forever, maker := s.key("forever", time.Time{}), s.key("maker", end)
	foreign := s.beside("other").key("foreign", time.Time{})
	ring := access.Keyring{Store: s.Stores, Now: s.clock.Now, By: "api:key_x", Maker: &maker}
	boss := access.Keyring{Store: s.Stores, Now: s.clock.Now, By: "operator"}
	expires := func(at time.Time) access.KeyPatch {
		return access.KeyPatch{ExpiresAt: petstore.Some(petstore.At(at))}
	}
	update := func(r access.Keyring, id string, p access.KeyPatch) error {
		_, err := r.Update(s.ctx, id, p, petstore.Condition{})
		return err
	}
	create := func(n access.NewKey) error {
		_, err := ring.Create(s.ctx, s.workspace, n, nil)
		return err
	}
	wantCode(t, "Create of more scopes", create(access.NewKey{Name: "a", Scopes: access.Manage, ExpiresAt: petstore.At(end)}), access.CodeInsufficientScope)
	wantCode(t, "Create of a longer one", create(access.NewKey{Name: "a", Scopes: access.Read, ExpiresAt: petstore.At(end.Add(time.Second))}), access.CodeInsufficientScope)
	if made, err := ring.Create(s.ctx, s.workspace, access.NewKey{Name: "a", Scopes: access.Read}, nil); err != nil || !made.Key.ExpiresAt.Equal(end) {
		t.Errorf("Create without an end = %+v, %v, want that of the maker, %s", made.Key, err, end)
	}
	wantCode(t, "Create of an expired one", create(access.NewKey{Name: "a", Scopes: access.Read, ExpiresAt: petstore.At(s.clock.Now())}), petstore.CodeValidationFailed)
	wantCode(t, "Create of a nameless one", create(access.NewKey{Scopes: access.Read, ExpiresAt: petstore.At(end)}), petstore.CodeValidationFailed)
	_, err := ring.Rotate(s.ctx, forever.ID, 0, nil)
	wantCode(t, "Rotate of one that lasts longer", err, access.CodeInsufficientScope)
	for what, err := range map[string]error{
		"Update": update(ring, foreign.ID, access.KeyPatch{Name: petstore.Some("mine")}),
		"Revoke": ring.Revoke(s.ctx, foreign.ID, petstore.Condition{}),
		"Key":    func() error { _, err := ring.Key(s.ctx, foreign.ID); return err }(),
		"Rotate": func() error { _, err := ring.Rotate(s.ctx, foreign.ID, 0, nil); return err }(),
	} {
		wantCode(t, what+" of another workspace's", err, access.CodeKeyNotFound)
	}
	s.wantKey(foreign)
	wantCode(t, "Update to a longer end", update(ring, maker.ID, expires(end.Add(time.Hour))), access.CodeInsufficientScope)
	wantCode(t, "Update to none", update(ring, maker.ID, access.KeyPatch{ExpiresAt: petstore.Null[petstore.Time]()}), access.CodeInsufficientScope)
	wantCode(t, "Update to the past", update(ring, maker.ID, expires(s.clock.Now())), petstore.CodeValidationFailed)
	wantCode(t, "Update to a shorter end", update(ring, forever.ID, expires(end.Add(time.Hour))), "")
	wantCode(t, "Update by the operator", update(boss, maker.ID, expires(end.Add(2*time.Hour))), "")
	stale := petstore.Condition{IfMatch: &petstore.TagSet{Tags: []petstore.Tag{"stale"}}}
	wantCode(t, "Revoke of another version", ring.Revoke(s.ctx, forever.ID, stale), petstore.CodePreconditionFailed)
	wantCode(t, "Revoke", ring.Revoke(s.ctx, forever.ID, petstore.Condition{}), "")
	wantCode(t, "Revoke again", ring.Revoke(s.ctx, forever.ID, petstore.Condition{}), access.CodeKeyNotFound)
	wantCode(t, "Revoke again by the operator", boss.Revoke(s.ctx, forever.ID, petstore.Condition{}), "")
	wantCode(t, "Update of a revoked one", update(boss, forever.ID, expires(end)), access.CodeKeyRevoked)
	s.clock.Advance(4 * time.Hour)
	wantCode(t, "Update of an expired one", update(boss, maker.ID, expires(s.clock.Now().Add(time.Hour))), access.CodeKeyExpired)
}

// testHolder: what a key does, it does as it is then, whatever it was when the request began.
func testHolder(t *testing.T, open Open) {
	s := newTenant(t, open)
	end := s.clock.Now().Add(time.Hour)
	ends := map[petstore.Code]func(k access.Key) error{
		access.CodeInvalidKey: func(k access.Key) error { return s.revoke(k.ID, s.clock.Now()) },
		access.CodeExpiredKey: func(k access.Key) error {
			_, err := s.rotate(k.ID, s.mint(time.Time{}), s.clock.Now())
			return err
		},
		access.CodeBannedKey: func(k access.Key) error {
			return s.SetBan(s.ctx, access.Ban{KeyID: k.ID, From: s.clock.Now(), Until: end}, "cli")
		},
		access.CodeInsufficientScope: func(k access.Key) error { // it ends sooner than what it is about to make
			_, err := s.rotate(k.ID, s.mint(time.Time{}), end)
			return err
		},
	}
	for want, ended := range ends {
		maker, one, short := s.key("maker", time.Time{}), s.key("one", time.Time{}), s.key("short", end)
		ring := access.Keyring{Store: s.Stores, Now: s.clock.Now, By: "api:key_x", Maker: &maker, Secret: "what the maker sent"}
		n, once := access.NewKey{Name: "new", Scopes: access.Read}, &petstore.Idempotency{Operation: "POST /keys", Key: maker.ID}
		_, err := ring.Create(s.ctx, s.workspace, n, once)
		wantCode(t, "Create", err, "")
		wantCode(t, "ending the maker", ended(maker), "")
		_, err = ring.Create(s.ctx, s.workspace, n, nil)
		wantCode(t, "Create", err, want)
		_, err = ring.Rotate(s.ctx, one.ID, time.Hour, nil)
		wantCode(t, "Rotate", err, want)
		_, err = ring.Update(s.ctx, short.ID, access.KeyPatch{ExpiresAt: petstore.Null[petstore.Time]()}, petstore.Condition{})
		wantCode(t, "Update", err, want)
		if want != access.CodeInsufficientScope { // it may do what makes nothing last
			_, err = ring.Create(s.ctx, s.workspace, n, once)
			wantCode(t, "Create again", err, want)
			wantCode(t, "Revoke", ring.Revoke(s.ctx, one.ID, petstore.Condition{}), want)
		}
		s.wantKey(one)
		s.wantKey(short)
	}
	gone := access.Key{ID: access.MintID(), WorkspaceID: s.workspace, Scopes: access.Read}
	ring := access.Keyring{Store: s.Stores, Now: s.clock.Now, By: "api:key_x", Maker: &gone}
	_, err := ring.Create(s.ctx, s.workspace, access.NewKey{Name: "new", Scopes: access.Read}, nil)
	wantCode(t, "Create by one that is gone", err, access.CodeInvalidKey)
}

// testTokens: they are found by their hash, also when they have ended, and are revoked once.
func testTokens(t *testing.T, open Open) {
	s := newTenant(t, open)
	made := func(name string, hash byte) access.Token {
		one := access.Token{ID: "op_" + name, Name: name, Prefix: "pso_abcd", Hash: access.Hash{hash}, CreatedAt: s.clock.Now(), ExpiresAt: s.clock.Now().Add(time.Hour)}
		wantCode(t, "AddToken", s.AddToken(s.ctx, one, "cli"), "")
		s.clock.Advance(time.Second)
		return one
	}
	a, b := made("a", 1), made("b", 2)
	if all, err := s.Tokens(s.ctx); err != nil || !reflect.DeepEqual(all, []access.Token{a, b}) {
		t.Errorf("Tokens = %+v, %v, want %+v and %+v", all, err, a, b)
	}
	for range 2 {
		revoked, err := s.RevokeToken(s.ctx, a.ID, s.clock.Now(), "cli")
		if a.RevokedAt.IsZero() {
			a.RevokedAt = s.clock.Now()
		}
		if err != nil || !reflect.DeepEqual(revoked, a) {
			t.Errorf("RevokeToken = %+v, %v, want %+v", revoked, err, a)
		}
		s.clock.Advance(time.Second)
	}
	for _, want := range []access.Token{a, b} {
		if got, err := s.TokenOf(s.ctx, want.Hash); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("TokenOf = %+v, %v, want %+v", got, err, want)
		}
	}
	if e := s.lastAudit(); e.Action != "token.revoke" || e.Subject != a.ID {
		t.Errorf("the audit log has %+v", e)
	}
	_, err := s.TokenOf(s.ctx, access.Hash{3})
	wantCode(t, "TokenOf of none", err, access.CodeTokenNotFound)
	for _, id := range []string{"op_c", "\x00", "\xff"} {
		_, err = s.RevokeToken(s.ctx, id, s.clock.Now(), "cli")
		wantCode(t, "RevokeToken of none", err, access.CodeTokenNotFound)
	}
}
