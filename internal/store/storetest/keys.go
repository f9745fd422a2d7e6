package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// mint returns a key of the workspace that the store does not have.
func (s *tenant) mint(expires time.Time) access.Key {
	text, prefix := access.Mint()
	return access.Key{
		ID: access.MintID(), WorkspaceID: s.workspace, Name: "k", Prefix: prefix, Hash: access.HashOf(text),
		Scopes: access.Read, CreatedAt: s.clock.Now(), ExpiresAt: expires,
	}
}

// create adds a key, as the operator.
func (s *tenant) create(k access.Key) error {
	_, err := s.MakeKey(s.ctx, access.KeyRequest{Key: k, By: "cli"})
	return err
}

// rotate makes next in the place of the key with the id, which ends at until.
func (s *tenant) rotate(id string, next access.Key, until time.Time) (access.Key, error) {
	made, err := s.MakeKey(s.ctx, access.KeyRequest{Key: next, Replaces: id, Until: until, By: "cli"})
	return made.Key, err
}

// revoke revokes a key at an instant, as the operator.
func (s *tenant) revoke(id string, at time.Time) error {
	ring := access.Keyring{Store: s.Stores, Now: func() time.Time { return at }, By: "cli"}
	return ring.Revoke(s.ctx, id, petstore.Condition{})
}

// key makes a key of the workspace.
func (s *tenant) key(name string, expires time.Time) access.Key {
	s.Helper()
	k := s.mint(expires)
	k.Name, k.Scopes = name, access.Read|access.Write
	must(s, s.create(k))
	s.clock.Advance(time.Second) // keys are listed in the order of their creation
	return k
}

func (s *tenant) wantKey(want access.Key) {
	s.Helper()
	same(s, "Key", want)(s.Key(s.ctx, want.ID))
}

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
	entries, err := s.AuditPage(s.ctx, 0, 0, 1)
	if err != nil || len(entries) != 1 {
		s.Fatalf("AuditPage = %v, %v", entries, err)
	}
	return entries[0]
}

// testKeys: they are kept and listed. Name, expiry and revocation change, and are noted; what edit refuses changes nothing.
func testKeys(s *tenant) {
	other := s.beside("other")
	first, second := s.key("first", time.Time{}), s.key("second", start.Add(time.Hour))
	other.key("foreign", time.Time{})
	s.wantKey(first)
	s.wantKey(second)
	for _, at := range []time.Time{start.Add(time.Minute), start.Add(time.Hour)} { // the first one counts
		must(s, s.revoke(first.ID, at))
	}
	first.RevokedAt = start.Add(time.Minute)
	same(s, "KeyPage", []access.Key{first, second})(s.KeyPage(s.ctx, s.workspace, access.KeyPage{Limit: 100}))
	clash := second
	clash.ID = access.MintID()
	if err := s.create(clash); err == nil {
		s.Error("create with a hash that exists succeeded")
	}
	k := s.key("before", time.Time{})
	end := s.clock.Now().Add(time.Hour)
	got, err := s.UpdateKey(s.ctx, k.ID, "api:key_x", "", func(_, k *access.Key) error {
		k.Name, k.ExpiresAt = "after", end
		return nil
	})
	must(s, err)
	k.Name, k.ExpiresAt = "after", end
	s.wantKey(k)
	if !got.ExpiresAt.Equal(end) || got.Name != "after" {
		s.Errorf("UpdateKey = %+v", got)
	}
	if e := s.lastAudit(); e.Action != "key.update" || e.Actor != "api:key_x" || e.Subject != k.ID || !strings.Contains(e.Detail, `"after" was "before"`) {
		s.Errorf("the audit log has %+v", e)
	}
	s.must(s.UpdateKey(s.ctx, k.ID, "cli", "", func(_, _ *access.Key) error { return nil }))
	refused := errors.New("refused")
	if _, err := s.UpdateKey(s.ctx, k.ID, "cli", "", func(_, k *access.Key) error { k.Name = "no"; return refused }); !errors.Is(err, refused) {
		s.Errorf("UpdateKey = %v, want %v", err, refused)
	}
	s.wantKey(k)
	if e := s.lastAudit(); e.Actor != "api:key_x" {
		s.Errorf("what changed nothing is in the audit log: %+v", e)
	}
	s.wantCode("UpdateKey of none", errOf(s.UpdateKey(s.ctx, "key_unknown", "cli", "", func(_, _ *access.Key) error { return nil })), access.CodeKeyNotFound)
}

// testRotate: a rotation is no way out of a ban, and only of what works.
func testRotate(s *tenant) {
	until := start.Add(24 * time.Hour)
	for _, test := range []struct {
		name         string
		expires, old time.Time
	}{
		{"never expires", time.Time{}, until},
		{"expires later", until.Add(time.Hour), until},
		{"expires sooner", until.Add(-time.Hour), until.Add(-time.Hour)},
	} {
		k := s.key(test.name, test.expires)
		next := s.mint(time.Time{})
		next.Name = "ignored"
		want := next
		want.Name, want.Scopes, want.ExpiresAt = k.Name, k.Scopes, k.ExpiresAt
		same(s, "rotate of what "+test.name, want)(s.rotate(k.ID, next, until))
		s.wantKey(want)
		k.ExpiresAt, k.RotatedTo = test.old, next.ID
		s.wantKey(k)
	}
	revoked, rotated, expired := s.key("revoked", time.Time{}), s.key("rotated", time.Time{}), s.key("expired", s.clock.Now().Add(time.Second))
	must(s, s.revoke(revoked.ID, start))
	s.must(s.rotate(rotated.ID, s.mint(time.Time{}), until))
	for id, code := range map[string]petstore.Code{revoked.ID: access.CodeKeyRevoked, rotated.ID: access.CodeKeyRotated, expired.ID: access.CodeKeyExpired} {
		s.wantCode("rotate of a key that cannot be", errOf(s.rotate(id, s.mint(time.Time{}), until)), code)
	}
	banned := s.ban(s.key("banned", time.Time{}), time.Hour)
	got, err := s.rotate(banned.ID, s.mint(time.Time{}), until)
	if banned.Ban.KeyID = got.ID; err != nil || !reflect.DeepEqual(got.Ban, banned.Ban) {
		s.Errorf("rotate = %+v, %v, want the ban %+v", got, err, banned.Ban)
	}
}

// testLiveKeys: keys are found by ids and by hashes, however many are asked for, with their workspaces and bans.
func testLiveKeys(s *tenant) {
	other := s.beside("other")
	a, b, revoked, foreign := s.key("a", time.Time{}), s.key("b", time.Time{}), s.key("c", time.Time{}), other.key("d", time.Time{})
	must(s, s.revoke(revoked.ID, start))
	b = s.ban(b, time.Hour)
	many := []access.Hash{a.Hash, revoked.Hash}
	for i := range 300 {
		many = append(many, access.HashOf(fmt.Sprint(i)))
	}
	for what, test := range map[string]struct {
		ids    []string
		hashes []access.Hash
		want   []string
		of     []int64
	}{
		"nothing":          {nil, nil, []string{}, nil},
		"none":             {[]string{"key_none", "\x00"}, []access.Hash{{1}}, []string{}, nil},
		"an id":            {[]string{foreign.ID}, nil, []string{foreign.ID}, []int64{other.workspace}},
		"ids":              {[]string{a.ID, b.ID, revoked.ID, foreign.ID}, nil, []string{a.ID, b.ID, foreign.ID}, []int64{s.workspace, other.workspace}},
		"hashes":           {nil, many, []string{a.ID}, []int64{s.workspace}},
		"ids and hashes":   {[]string{b.ID}, []access.Hash{foreign.Hash}, []string{b.ID, foreign.ID}, []int64{s.workspace, other.workspace}},
		"a key both ways":  {[]string{a.ID}, []access.Hash{a.Hash}, []string{a.ID}, []int64{s.workspace}},
		"the same by hash": {nil, []access.Hash{a.Hash, a.Hash}, []string{a.ID}, []int64{s.workspace}},
	} {
		keys, workspaces, err := s.LiveKeys(s.ctx, test.ids, test.hashes)
		got, of := ids(keys), []int64(nil)
		for _, w := range workspaces {
			of = append(of, w.ID)
		}
		slices.Sort(got)
		slices.Sort(test.want)
		slices.Sort(of)
		if err != nil || !slices.Equal(got, test.want) || !slices.Equal(of, test.of) {
			s.Errorf("LiveKeys of %s = %v of %v, %v, want %v of %v", what, got, of, err, test.want, test.of)
		}
	}
	keys, workspaces, err := s.LiveKeys(s.ctx, []string{b.ID}, nil)
	if err != nil || !reflect.DeepEqual(keys, []access.Key{b}) || len(workspaces) != 1 || workspaces[0].Name != "tenant" {
		s.Errorf("LiveKeys = %+v of %+v, %v, want %+v of the tenant", keys, workspaces, err, b)
	}
}

// testKeyBounds: a workspace has a hundred live keys at most, whoever comes at once, and however they are made.
func testKeyBounds(s *tenant) {
	first := s.key("first", time.Time{})
	if got := codes(parallel(104, func(int) error { return s.create(s.mint(time.Time{})) })); got[""] != access.MaxKeys-1 || got[access.CodeTooManyKeys] != 5 {
		s.Errorf("outcomes = %v, want 5 refused", got)
	}
	late := s.mint(time.Time{})
	s.wantCode("create of one more", s.create(late), access.CodeTooManyKeys)
	s.wantCode("Key of the one more", errOf(s.Key(s.ctx, late.ID)), access.CodeKeyNotFound)
	s.wantCode("rotate with an overlap", errOf(s.rotate(first.ID, late, s.clock.Now().Add(time.Hour))), access.CodeTooManyKeys)
	s.wantKey(first)
	s.must(s.rotate(first.ID, late, s.clock.Now()))
	must(s, s.revoke(late.ID, s.clock.Now()))
	must(s, s.create(s.mint(time.Time{})))
	must(s, s.create(s.beside("other").mint(time.Time{})))
}

// testExpiredKeys: of the expired keys, those of long ago are revoked when a key is made.
func testExpiredKeys(s *tenant) {
	oldest := s.key("oldest", s.clock.Now().Add(time.Minute))
	for range 3 {
		for range 50 {
			must(s, s.create(s.mint(s.clock.Now().Add(time.Hour))))
		}
		s.clock.Advance(2 * time.Hour)
	}
	must(s, s.create(s.mint(time.Time{})))
	page, err := s.KeyPage(s.ctx, s.workspace, access.KeyPage{Unrevoked: true, Limit: 1000})
	if err != nil || len(page) != access.MaxKeys+1 {
		s.Errorf("%d keys are not revoked, %v, want %d", len(page), err, access.MaxKeys+1)
	}
	if got, err := s.Key(s.ctx, oldest.ID); err != nil || got.RevokedAt.IsZero() {
		s.Errorf("the key that expired first is %+v, %v, want it revoked", got, err)
	}
}

// testKeyPages: every key once, in either order, those of one instant too.
func testKeyPages(s *tenant) {
	other := s.beside("other").key("foreign", time.Time{})
	for i := range 9 {
		must(s, s.create(s.mint(time.Time{})))
		if i%3 == 2 {
			s.clock.Advance(time.Second)
		}
	}
	all, err := s.KeyPage(s.ctx, s.workspace, access.KeyPage{Limit: 100})
	must(s, err)
	must(s, s.revoke(all[4].ID, s.clock.Now()))
	page := func(p access.KeyPage) []string {
		s.Helper()
		found, err := s.KeyPage(s.ctx, s.workspace, p)
		must(s, err)
		return ids(found)
	}
	want := ids(all)
	same(s, "KeyPage of the oldest", want)(page(access.KeyPage{Limit: 100}), nil)
	same(s, "KeyPage after the fourth", want[4:6])(page(access.KeyPage{After: want[3], Limit: 2}), nil)
	slices.SortFunc(all, func(a, b access.Key) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID)) })
	newest := ids(all)
	for _, unrevoked := range []bool{false, true} {
		var seen []string
		for more := true; more; {
			p := access.KeyPage{Newest: true, Unrevoked: unrevoked, Limit: 2}
			if len(seen) > 0 {
				p.After = seen[len(seen)-1]
			}
			next := page(p)
			seen, more = append(seen, next...), len(next) == 2
		}
		same(s, "KeyPage of the newest", newest)(seen, nil)
		newest = slices.DeleteFunc(newest, func(id string) bool { return id == want[4] })
	}
	for _, after := range []string{other.ID, "key_unknown", "\x00", "\xff"} {
		same(s, "KeyPage after "+after, []string{})(page(access.KeyPage{After: after, Limit: 2}), nil)
	}
}
