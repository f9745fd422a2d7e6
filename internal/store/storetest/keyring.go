package storetest

import (
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// testKeyring: a key changes those of its workspace alone, gives no more than it has, and no key comes back to life.
func testKeyring(s *tenant) {
	end := s.clock.Now().Add(time.Hour)
	forever, maker := s.key("forever", time.Time{}), s.key("maker", end)
	foreign := s.beside("other").key("foreign", time.Time{})
	ring := access.Keyring{Store: s.Stores, Now: s.clock.Now, By: "api:key_x", Caller: &maker}
	boss := access.Keyring{Store: s.Stores, Now: s.clock.Now, By: "operator"}
	update := func(r access.Keyring, id string, until time.Time) error {
		return errOf(r.Update(s.ctx, id, access.KeyPatch{ExpiresAt: petstore.Some(petstore.At(until))}, petstore.Condition{}))
	}
	if made, err := ring.Create(s.ctx, s.workspace, access.NewKey{Name: "a", Scopes: access.Read}, nil); err != nil || !made.Key.ExpiresAt.Equal(end) {
		s.Errorf("Create without an end = %+v, %v, want that of the maker, %s", made.Key, err, end)
	}
	for what, err := range map[string]error{
		"Update": update(ring, foreign.ID, end),
		"Revoke": ring.Revoke(s.ctx, foreign.ID, petstore.Condition{}),
		"Key":    errOf(ring.Key(s.ctx, foreign.ID)),
		"Rotate": errOf(ring.Rotate(s.ctx, foreign.ID, 0, nil)),
	} {
		s.wantCode(what+" of another workspace's", err, access.CodeKeyNotFound)
	}
	s.wantKey(foreign)
	s.wantCode("Update to a longer end", update(ring, maker.ID, end.Add(time.Hour)), access.CodeInsufficientScope)
	s.wantCode("Update to the past", update(ring, maker.ID, s.clock.Now()), petstore.CodeValidationFailed)
	s.wantCode("Update to a shorter end", update(ring, forever.ID, end.Add(time.Hour)), "")
	s.wantCode("Update by the operator", update(boss, maker.ID, end.Add(2*time.Hour)), "")
	s.wantCode("Revoke", ring.Revoke(s.ctx, forever.ID, petstore.Condition{}), "")
	s.wantCode("Revoke again", ring.Revoke(s.ctx, forever.ID, petstore.Condition{}), access.CodeKeyNotFound)
	s.wantCode("Revoke again by the operator", boss.Revoke(s.ctx, forever.ID, petstore.Condition{}), "")
	s.wantCode("Update of a revoked one", update(boss, forever.ID, end), access.CodeKeyRevoked)
	s.clock.Advance(4 * time.Hour)
	s.wantCode("Update of an expired one", update(boss, maker.ID, s.clock.Now().Add(time.Hour)), access.CodeKeyExpired)
}

// testCallersKey: what a key does, it does as it is then, whatever it was when the request began.
func testCallersKey(s *tenant) {
	end := s.clock.Now().Add(time.Hour)
	ends := map[petstore.Code]func(k access.Key) error{
		access.CodeInvalidKey: func(k access.Key) error { return s.revoke(k.ID, s.clock.Now()) },
		access.CodeExpiredKey: func(k access.Key) error {
			return errOf(s.rotate(k.ID, s.mint(time.Time{}), s.clock.Now()))
		},
		access.CodeBannedKey: func(k access.Key) error {
			return access.SetBan(s.ctx, s.Stores, access.Ban{KeyID: k.ID, From: s.clock.Now(), Until: end}, "cli")
		},
		access.CodeInsufficientScope: func(k access.Key) error { // it ends sooner than what it is about to make
			return errOf(s.rotate(k.ID, s.mint(time.Time{}), end))
		},
	}
	for want, ended := range ends {
		maker, one, short := s.key("maker", time.Time{}), s.key("one", time.Time{}), s.key("short", end)
		ring := access.Keyring{Store: s.Stores, Now: s.clock.Now, By: "api:key_x", Caller: &maker, Secret: "what the maker sent"}
		n, once := access.NewKey{Name: "new", Scopes: access.Read}, &petstore.Idempotency{Operation: "POST /keys", Key: maker.ID}
		s.must(ring.Create(s.ctx, s.workspace, n, once))
		must(s, ended(maker))
		s.wantCode("Create", errOf(ring.Create(s.ctx, s.workspace, n, nil)), want)
		s.wantCode("Rotate", errOf(ring.Rotate(s.ctx, one.ID, time.Hour, nil)), want)
		s.wantCode("Update", errOf(ring.Update(s.ctx, short.ID, access.KeyPatch{ExpiresAt: petstore.Null[petstore.Time]()}, petstore.Condition{})), want)
		if want != access.CodeInsufficientScope { // it may do what makes nothing last
			s.wantCode("Create again", errOf(ring.Create(s.ctx, s.workspace, n, once)), want)
			s.wantCode("Revoke", ring.Revoke(s.ctx, one.ID, petstore.Condition{}), want)
		}
		s.wantKey(one)
		s.wantKey(short)
	}
	gone := access.Key{ID: access.MintID(), WorkspaceID: s.workspace, Scopes: access.Read}
	ring := access.Keyring{Store: s.Stores, Now: s.clock.Now, By: "api:key_x", Caller: &gone}
	s.wantCode("Create by one that is gone", errOf(ring.Create(s.ctx, s.workspace, access.NewKey{Name: "new", Scopes: access.Read}, nil)), access.CodeInvalidKey)
}
