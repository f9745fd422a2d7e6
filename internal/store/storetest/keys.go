package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
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

// testKeyBounds: a workspace has a hundred live keys at most, whoever comes at once, and however they are made.
func testKeyBounds(t *testing.T, open Open) {
	s := newTenant(t, open)
	first := s.key("first", time.Time{})
	var refused atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 26 {
				switch err := s.create(s.mint(time.Time{})); petstore.CodeOf(err) {
				case "":
				case access.CodeTooManyKeys:
					refused.Add(1)
				default:
					t.Errorf("create = %v", err)
				}
			}
		})
	}
	all.Wait()
	keys, err := s.Keys(s.ctx, s.workspace)
	if err != nil || len(keys) != access.MaxKeys || refused.Load() != 5 {
		t.Fatalf("the workspace has %d keys, %v, and %d were refused, want %d and 5", len(keys), err, refused.Load(), access.MaxKeys)
	}
	late := s.mint(time.Time{})
	wantCode(t, "create of one more", s.create(late), access.CodeTooManyKeys)
	_, err = s.Key(s.ctx, late.ID)
	wantCode(t, "Key of the one more", err, access.CodeKeyNotFound)
	_, err = s.rotate(first.ID, late, s.clock.Now().Add(time.Hour))
	wantCode(t, "rotate with an overlap", err, access.CodeTooManyKeys)
	s.wantKey(first)
	_, err = s.rotate(first.ID, late, s.clock.Now())
	wantCode(t, "rotate without an overlap", err, "")
	wantCode(t, "revoke", s.revoke(late.ID, s.clock.Now()), "")
	wantCode(t, "create after a revocation", s.create(s.mint(time.Time{})), "")
	wantCode(t, "create of another workspace", s.create(s.beside("other").mint(time.Time{})), "")
}

// testRotateKeepsBan: a rotation is no way out of a ban.
func testRotateKeepsBan(t *testing.T, open Open) {
	s := newTenant(t, open)
	k := s.key("k", time.Time{})
	k.Ban = &access.Ban{KeyID: k.ID, From: start, Until: start.Add(time.Hour), Level: 3, Reason: "too fast", By: "limiter"}
	wantCode(t, "SetBan", s.SetBan(s.ctx, *k.Ban, "limiter"), "")
	got, err := s.rotate(k.ID, s.mint(time.Time{}), s.clock.Now().Add(time.Hour))
	want := *k.Ban
	want.KeyID = got.ID
	if err != nil || !reflect.DeepEqual(got.Ban, &want) {
		t.Errorf("rotate = %+v, %v, want the ban %+v", got, err, want)
	}
}

// testKeyPages: every key once, in either order, those of one instant too.
func testKeyPages(t *testing.T, open Open) {
	s := newTenant(t, open)
	other := s.beside("other").key("foreign", time.Time{})
	for i := range 9 {
		wantCode(t, "create", s.create(s.mint(time.Time{})), "")
		if i%3 == 2 {
			s.clock.Advance(time.Second)
		}
	}
	all, err := s.Keys(s.ctx, s.workspace)
	must(t, err)
	wantCode(t, "revoke", s.revoke(all[4].ID, s.clock.Now()), "")
	oldest, err := s.KeyPage(s.ctx, s.workspace, access.KeyPage{Limit: 100})
	if err != nil || !reflect.DeepEqual(ids(oldest), ids(all)) {
		t.Errorf("KeyPage of the oldest = %v, %v, want %v", ids(oldest), err, ids(all))
	}
	if rest, err := s.KeyPage(s.ctx, s.workspace, access.KeyPage{After: all[3].ID, Limit: 2}); err != nil || !reflect.DeepEqual(ids(rest), ids(all[4:6])) {
		t.Errorf("KeyPage after the fourth = %v, %v, want %v", ids(rest), err, ids(all[4:6]))
	}
	for unrevoked, want := range map[bool]int{false: 9, true: 8} {
		var seen []string
		var times []time.Time
		for after := ""; ; after = seen[len(seen)-1] {
			page, err := s.KeyPage(s.ctx, s.workspace, access.KeyPage{Newest: true, Unrevoked: unrevoked, After: after, Limit: 2})
			if err != nil || len(page) > 2 {
				t.Fatalf("KeyPage = %v, %v", page, err)
			}
			for _, k := range page {
				if slices.Contains(seen, k.ID) || len(times) > 0 && k.CreatedAt.After(times[len(times)-1]) {
					t.Errorf("the key %s of %s comes twice, or after an older one", k.ID, k.CreatedAt)
				}
				seen, times = append(seen, k.ID), append(times, k.CreatedAt)
			}
			if len(page) < 2 {
				break
			}
		}
		if len(seen) != want || slices.Contains(seen, all[4].ID) == unrevoked {
			t.Errorf("the pages show %d keys, want %d: %v", len(seen), want, seen)
		}
	}
	for _, after := range []string{other.ID, "key_unknown", "\x00", "\xff"} {
		if page, err := s.KeyPage(s.ctx, s.workspace, access.KeyPage{After: after, Limit: 2}); err != nil || len(page) != 0 {
			t.Errorf("KeyPage after %q = %v, %v, want none", after, page, err)
		}
	}
}

// testSessions: they end one by one, with all of their key, with their time, and when a key has too many.
func testSessions(t *testing.T, open Open) {
	s := newTenant(t, open)
	made := func(n byte, key string, life time.Duration) access.Session {
		one := access.Session{Hash: [32]byte{n}, KeyID: key, Started: s.clock.Now(), Until: s.clock.Now().Add(life)}
		wantCode(t, "StartSession", s.StartSession(s.ctx, one), "")
		s.clock.Advance(time.Second)
		return one
	}
	live := func(what string, want ...access.Session) {
		t.Helper()
		var hashes []byte
		for n := range byte(100) {
			switch got, err := s.Session(s.ctx, [32]byte{n}); {
			case err == nil:
				hashes = append(hashes, n)
				if i := slices.IndexFunc(want, func(w access.Session) bool { return w.Hash == got.Hash }); i >= 0 && !reflect.DeepEqual(got, want[i]) {
					t.Errorf("%s: Session = %+v, want %+v", what, got, want[i])
				}
			case petstore.CodeOf(err) != access.CodeSessionNotFound:
				t.Errorf("%s: Session = %v", what, err)
			}
		}
		var wanted []byte
		for _, w := range want {
			wanted = append(wanted, w.Hash[0])
		}
		if !slices.Equal(hashes, wanted) {
			t.Errorf("%s: the sessions %v are live, want %v", what, hashes, wanted)
		}
	}
	a1, a2, b, operator := made(1, "a", time.Hour), made(2, "a", time.Hour), made(3, "b", time.Minute), made(4, "", time.Hour)
	live("at first", a1, a2, b, operator)
	for range 2 {
		wantCode(t, "EndSession", s.EndSession(s.ctx, a1.Hash), "")
	}
	live("after one sign-out", a2, b, operator)
	s.clock.Advance(time.Minute)
	live("after a minute", a2, operator)
	made(5, "a", time.Hour)
	wantCode(t, "EndSessions", s.EndSessions(s.ctx, "a"), "")
	live("after all of a key", operator)
	for n := range byte(access.MaxSessions + 2) {
		made(10+n, "c", time.Hour)
	}
	for n, code := range map[byte]petstore.Code{10: access.CodeSessionNotFound, 11: access.CodeSessionNotFound, 12: "", 31: "", 4: ""} {
		_, err := s.Session(s.ctx, [32]byte{n})
		wantCode(t, fmt.Sprint("Session ", n), err, code)
	}
}

// testNames: a name is found however its letters are composed.
func testNames(t *testing.T, open Open) {
	s := newTenant(t, open)
	const kept = "caf\u00e9"
	if _, err := s.CreateWorkspace(s.ctx, access.Workspace{Name: kept, Plan: access.Free, Quota: access.FreeQuota}, "cli"); err != nil {
		t.Fatal(err)
	}
	for _, asked := range []string{kept, "cafe\u0301"} {
		if got, err := s.Workspace(s.ctx, asked); err != nil || got.Name != kept {
			t.Errorf("Workspace(%+q) = %+q, %v, want %+q", asked, got.Name, err, kept)
		}
	}
}
