package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

var accessTests = map[string]func(*tenant){
	"workspaces": testWorkspaces, "rename and contents": testRename, "delete": testDeleteWorkspace, "missing": testMissingAccess, "bans": testBans,
	"state of access": testAccessState, "secret": testSecret, "audit": testAudit, "links": testLinks, "sessions": testSessions, "tokens": testTokens,
	"keys": testKeys, "rotate": testRotate, "live keys": testLiveKeys, "key bounds": testKeyBounds, "expired keys": testExpiredKeys, "key pages": testKeyPages,
	"keyring": testKeyring, "caller's key": testCallersKey,
}

// testWorkspaces: they are kept, listed and counted. A name is found however its letters are composed, and is one workspace's,
// whoever comes at once.
func testWorkspaces(s *tenant) {
	made, err := s.CreateWorkspace(s.ctx, access.Workspace{Name: "caf\u00e9", Plan: access.Enterprise,
		Quota: access.Quota{PerMinute: 7, PerDay: 9}, CreatedAt: start.Add(time.Hour)}, "cli")
	want := access.Workspace{ID: made.ID, Shop: made.ID, Name: "caf\u00e9", Plan: access.Enterprise, Quota: access.Quota{PerMinute: 7, PerDay: 9},
		CreatedAt: start.Add(time.Hour), LowStock: access.DefaultLowStock}
	if err != nil || made != want || made.ID < 1 || made.ID == s.workspace {
		s.Errorf("CreateWorkspace = %+v, %v, want %+v with an id of its own", made, err, want)
	}
	same(s, "Workspace", want)(s.Workspace(s.ctx, "caf\u00e9"))
	same(s, "Workspace of the letters one by one", want)(s.Workspace(s.ctx, "cafe\u0301"))
	want.Plan, want.Quota = access.Free, access.FreeQuota
	same(s, "UpdateWorkspace", want)(s.UpdateWorkspace(s.ctx, made.ID, "cli", func(w *access.Workspace) { w.Plan, w.Quota = access.Free, access.FreeQuota }))
	want.LowStock = 0
	same(s, "UpdateWorkspace", want)(s.UpdateWorkspace(s.ctx, made.ID, "cli", func(w *access.Workspace) { w.LowStock = 0 }))
	if e := s.lastAudit(); e.Action != "workspace.set_low_stock" || e.Subject != want.Name || e.Detail != "0 units or fewer" {
		s.Errorf("the audit log has %+v", e)
	}
	mine, err := s.Workspace(s.ctx, s.name)
	if err != nil || !mine.CreatedAt.Equal(start) {
		s.Errorf("Workspace = %+v, %v, want it made at %s", mine, err, start)
	}
	all := []access.Workspace{want, mine} // by name
	same(s, "Workspaces", all)(s.Workspaces(s.ctx, 0, 100))
	same(s, "Workspaces from the second", all[1:2])(s.Workspaces(s.ctx, 1, 1))
	same(s, "Workspaces from the end", []access.Workspace{})(s.Workspaces(s.ctx, 2, 1))
	same(s, "CountWorkspaces", int64(2))(s.CountWorkspaces(s.ctx))
	all = []access.Workspace{mine, want} // by id
	for _, test := range []struct {
		after int64
		limit int
		names []string
		want  []access.Workspace
	}{
		{0, 9, nil, all},
		{0, 1, nil, all[:1]},
		{mine.ID, 9, nil, all[1:]},
		{made.ID, 9, nil, nil},
		{0, 9, []string{"beta", "caf\u00e9", "\x00"}, all[1:2]},
		{0, 9, []string{"\xff"}, nil},
	} {
		same(s, fmt.Sprintf("WorkspacePage of %+v", test), test.want)(s.WorkspacePage(s.ctx, test.after, test.limit, test.names...))
	}
	got := codes(parallel(20, func(int) error { return errOf(s.tryWorkspace("new")) }))
	if got[""] != 1 || got[access.CodeWorkspaceExists] != 19 {
		s.Errorf("outcomes = %v, want one success and 19 times %s", got, access.CodeWorkspaceExists)
	}
}

// rename gives the workspace another name.
func (s *tenant) rename(to string) (access.Workspace, error) {
	return s.UpdateWorkspace(s.ctx, s.workspace, "cli", func(w *access.Workspace) { w.Name = to })
}

// setPlan gives the workspace another plan.
func (s *tenant) setPlan(p access.Plan, q access.Quota) error {
	return errOf(s.UpdateWorkspace(s.ctx, s.workspace, "cli", func(w *access.Workspace) { w.Plan, w.Quota = p, q }))
}

func testRename(s *tenant) {
	other := s.beside("other")
	s.order(s.pet(5), 1)
	other.pet(1)
	got, err := s.rename("anew")
	if err != nil || got.ID != s.workspace || got.Name != "anew" {
		s.Fatalf("UpdateWorkspace = %+v, %v, want the workspace %d named anew", got, err, s.workspace)
	}
	same(s, "Workspace", got)(s.Workspace(s.ctx, "anew"))
	s.wantCode("Workspace by its old name", errOf(s.Workspace(s.ctx, s.name)), access.CodeWorkspaceNotFound)
	s.must(s.rename("anew"))
	s.wantCode("UpdateWorkspace to a name that is taken", errOf(s.rename("other")), access.CodeWorkspaceExists)
	for workspace, want := range map[int64]access.Contents{
		s.workspace:     {Categories: 1, Pets: 1, Orders: 1},
		other.workspace: {Categories: 1, Pets: 1},
	} {
		same(s, "Contents", want)(s.Contents(s.ctx, workspace, 0))
	}
}

// wantEmpty fails the test unless the workspace has no rows.
func (s *tenant) wantEmpty() {
	s.Helper()
	page := petstore.Page{Limit: 10}
	same(s, "Pets", []petstore.StockedPet{})(s.Stores.Pets(s.ctx, s.workspace, petstore.PetQuery{Page: page}))
	same(s, "Categories", []petstore.Category{})(s.Stores.Categories(s.ctx, s.workspace, petstore.CategoryQuery{Page: page}))
	same(s, "Orders", []petstore.Order{})(s.Stores.Orders(s.ctx, s.workspace, petstore.OrderQuery{Page: page}))
	_, _, err := s.Movements(s.ctx, s.workspace, 1, 0, 10)
	s.wantCode("Movements", err, petstore.CodePetNotFound)
}

func testDeleteWorkspace(s *tenant) {
	doomed := s.beside("doomed")
	k := doomed.key("k", time.Time{})
	s.ban(k, time.Hour)
	doomed.order(doomed.pet(5), 1)
	must(s, s.DeleteWorkspace(s.ctx, doomed.workspace, "cli"))
	must(s, s.Resume(s.ctx))
	doomed.wantEmpty()
	s.wantCode("Key", errOf(s.Key(s.ctx, k.ID)), access.CodeKeyNotFound)
	s.wantCode("Workspace", errOf(s.Workspace(s.ctx, "doomed")), access.CodeWorkspaceNotFound)
	if again := s.beside("doomed"); again.workspace == doomed.workspace {
		s.Errorf("id of the next workspace = %d, want one that was never issued", again.workspace)
	}
}

func testMissingAccess(s *tenant) {
	for _, name := range []string{"x", "a\x00", "\xff"} {
		s.wantCode("Workspace", errOf(s.Workspace(s.ctx, name)), access.CodeWorkspaceNotFound)
	}
	s.wantCode("UpdateWorkspace", errOf(s.UpdateWorkspace(s.ctx, 99, "cli", func(*access.Workspace) {})), access.CodeWorkspaceNotFound)
	s.wantCode("Contents", errOf(s.Contents(s.ctx, 99, 0)), access.CodeWorkspaceNotFound)
	s.wantCode("ResetWorkspace", s.ResetWorkspace(s.ctx, 99, "cli"), access.CodeWorkspaceNotFound)
	s.wantCode("DeleteWorkspace", s.DeleteWorkspace(s.ctx, 99, "cli"), access.CodeWorkspaceNotFound)
	s.wantCode("create", s.create(access.Key{ID: "key_x", WorkspaceID: 99}), access.CodeWorkspaceNotFound)
	for _, id := range []string{"key_x", "\x00", "\xff"} { // also what no engine holds
		s.wantCode("Key", errOf(s.Key(s.ctx, id)), access.CodeKeyNotFound)
		s.wantCode("rotate", errOf(s.rotate(id, access.Key{ID: "key_y"}, start)), access.CodeKeyNotFound)
		s.wantCode("revoke", s.revoke(id, start), access.CodeKeyNotFound)
	}
}

// ban bans a key from the start on, as the operator, and returns it as it is then.
func (s *tenant) ban(k access.Key, long time.Duration) access.Key {
	s.Helper()
	k.Ban = &access.Ban{KeyID: k.ID, From: start, Until: start.Add(long), Reason: "too fast", By: "operator"}
	must(s, access.SetBan(s.ctx, s.Stores, *k.Ban, "cli"))
	return k
}

// testBans: those that run are listed, the first to end first. One that another node sets meanwhile changes nothing.
func testBans(s *tenant) {
	k := s.key("k", time.Time{})
	for level, by := range []access.Actor{access.Limiter, "operator"} {
		k.Ban = &access.Ban{KeyID: k.ID, From: start, Until: start.Add(time.Duration(level+1) * time.Minute), Level: level, Reason: "too fast", By: string(by)}
		must(s, access.SetBan(s.ctx, s.Stores, *k.Ban, by))
		s.wantKey(k)
		other := access.Ban{KeyID: k.ID, From: start.Add(time.Second), Until: start.Add(time.Hour), Level: 1, Reason: "too fast", By: "limiter"}
		must(s, access.SetBan(s.ctx, s.Stores, other, access.Limiter))
		s.wantKey(k)
	}
	long, revoked := s.ban(s.key("long", time.Time{}), 2*time.Hour), s.ban(s.key("revoked", time.Time{}), 3*time.Hour)
	must(s, s.revoke(revoked.ID, start))
	s.ban(s.key("over", time.Time{}), 0)
	same(s, "BannedKeys", []string{k.ID, long.ID})(s.BannedKeys(s.ctx))
	k.Ban = nil
	for range 2 {
		must(s, access.LiftBan(s.ctx, s.Stores, k.ID, "cli"))
		s.wantKey(k)
	}
}

// testAccessState: each change of what is read of a key shows, and nothing else does.
func testAccessState(s *tenant) {
	a, b, doomed := s.key("a", time.Time{}), s.key("b", time.Time{}), s.beside("doomed")
	state := func() int64 {
		s.Helper()
		n, err := s.AccessState(s.ctx)
		must(s, err)
		return n
	}
	for _, step := range []struct {
		what    string
		changes bool
		do      func() error
	}{
		{"nothing", false, func() error { return nil }},
		{"a pet", false, func() error { s.pet(3); return nil }},
		{"a new key", false, func() error { s.key("c", time.Time{}); return nil }},
		{"another plan", true, func() error { return s.setPlan(access.Pro, access.FreeQuota) }},
		{"the same plan", false, func() error { return s.setPlan(access.Pro, access.FreeQuota) }},
		{"another name", true, func() error { return errOf(s.rename("renamed")) }},
		{"SetBan", true, func() error { s.ban(a, time.Hour); return nil }},
		{"LiftBan", true, func() error { return access.LiftBan(s.ctx, s.Stores, a.ID, "cli") }},
		{"LiftBan of no ban", false, func() error { return access.LiftBan(s.ctx, s.Stores, a.ID, "cli") }},
		{"rotate", true, func() error { return errOf(s.rotate(a.ID, s.mint(time.Time{}), start.Add(time.Hour))) }},
		{"revoke", true, func() error { return s.revoke(b.ID, start) }},
		{"ResetWorkspace", true, func() error { return s.ResetWorkspace(s.ctx, s.workspace, "cli") }},
		{"DeleteWorkspace", true, func() error { return s.DeleteWorkspace(s.ctx, doomed.workspace, "cli") }},
	} {
		before := state()
		must(s, step.do())
		if changed := state() != before; changed != step.changes {
			s.Errorf("after %s: AccessState changed = %t, want %t", step.what, changed, step.changes)
		}
	}
}

func testSecret(s *tenant) {
	first, err := s.Secret(s.ctx)
	must(s, err)
	same(s, "Secret again", first)(s.Secret(s.ctx))
	foreign, err := newTenant(s.T, s.open).Secret(s.ctx)
	if err != nil || len(first) != 32 || slices.Equal(first, foreign) {
		s.Errorf("Secret = %d bytes, of another store the same: %t (%v), want 32 and false", len(first), slices.Equal(first, foreign), err)
	}
}

// testAudit: every entry once, the newest first, of all workspaces or of one, whatever its name was.
func testAudit(s *tenant) {
	k := s.key("k", time.Time{})
	s.ban(k, time.Hour)
	must(s, access.LiftBan(s.ctx, s.Stores, k.ID, "operator"))
	s.wantCode("revoke of an unknown key", s.revoke("key_x", start), access.CodeKeyNotFound)
	now := s.clock.Now()
	hook := s.hook(0, 0).ID
	s.must(s.rename("anew"))
	other := s.beside("other").workspace
	must(s, s.Note(s.ctx, access.AuditEntry{Actor: "cli", Action: "operator.link", Subject: "operator", Detail: "ends soon"}))
	mine := []access.AuditEntry{
		{At: now, Actor: "cli", Action: "workspace.rename", Subject: "tenant"},
		{At: now, Actor: "api:key_1", Action: "webhook.create", Subject: hook},
		{At: now, Actor: "operator", Action: "ban.lift", Subject: k.ID},
		{At: now, Actor: "cli", Action: "ban.set", Subject: k.ID},
		{At: start, Actor: "cli", Action: "key.create", Subject: k.ID},
		{At: start, Actor: "cli", Action: "workspace.create", Subject: "tenant"},
	}
	for i := range mine {
		mine[i].Workspace = s.workspace
	}
	all := append([]access.AuditEntry{
		{At: now, Actor: "cli", Action: "operator.link", Subject: "operator"},
		{At: now, Actor: "cli", Action: "workspace.create", Subject: "other", Workspace: other},
	}, mine...)
	for _, limit := range []int{1, 3, 100} {
		s.wantAudit(0, limit, all)
		s.wantAudit(s.workspace, limit, mine)
	}
}

// wantAudit reads the audit log of a workspace in pages, the details and ids of whose entries do not matter.
func (s *tenant) wantAudit(workspace int64, limit int, want []access.AuditEntry) {
	s.Helper()
	var got []access.AuditEntry
	for before := int64(0); ; {
		page, err := s.AuditPage(s.ctx, workspace, before, limit)
		if err != nil || len(page) > limit {
			s.Fatalf("AuditPage(%d, %d, %d) = %+v, %v", workspace, before, limit, page, err)
		}
		if len(page) == 0 {
			break
		}
		before = page[len(page)-1].ID
		got = append(got, page...)
	}
	for i := range got {
		if got[i].Detail == "" {
			s.Errorf("entry %d of the audit has no detail", i)
		}
		got[i].Detail, got[i].ID = "", 0
	}
	if !reflect.DeepEqual(got, want) {
		s.Errorf("AuditPage of %d by %d = %+v, want %+v", workspace, limit, got, want)
	}
}

// testLinks: a link is used once, however many try at the same time, and its use stands in the audit log.
func testLinks(s *tenant) {
	signIn := access.AuditEntry{Actor: "operator", Action: "operator.sign_in", Subject: "operator", Detail: "by a link"}
	link := access.Link{Hash: [32]byte{1}, Until: start.Add(10 * time.Minute)}
	var uses atomic.Int64
	s.together(8, func(int) error {
		first, err := s.UseLink(s.ctx, link, signIn)
		if first {
			uses.Add(1)
		}
		return err
	})
	if n := uses.Load(); n != 1 {
		s.Errorf("of 8 uses of one link %d were the first, want 1", n)
	}
	use := func(what string, l access.Link, want bool) {
		s.Helper()
		same(s, what, want)(s.UseLink(s.ctx, l, signIn))
	}
	use("another link", access.Link{Hash: [32]byte{2}, Until: link.Until}, true)
	forget := func() { must(s, errOf(s.Forget(s.ctx))) }
	s.clock.Advance(10*time.Minute + petstore.KeepReceipts)
	forget()
	use("before a day is over since its end", link, false)
	s.clock.Advance(time.Second)
	forget()
	use("forgotten", link, true)
	issued := access.AuditEntry{Actor: "cli", Action: "operator.link", Subject: "operator", Detail: "ends soon"}
	must(s, s.Note(s.ctx, issued))
	got, err := s.AuditPage(s.ctx, 0, 0, 2)
	issued.At, signIn.At = s.clock.Now(), s.clock.Now()
	for i := range got {
		got[i].ID = 0
	}
	if want := []access.AuditEntry{issued, signIn}; err != nil || !reflect.DeepEqual(got, want) {
		s.Errorf("AuditPage = %+v, %v, want %+v", got, err, want)
	}
}

// testSessions: they end one by one, with all of their key, with their time, and when a key has too many.
func testSessions(s *tenant) {
	made := func(n byte, key string, life time.Duration) access.Session {
		one := access.Session{Hash: [32]byte{n}, KeyID: key, Started: s.clock.Now(), Until: s.clock.Now().Add(life)}
		must(s, s.StartSession(s.ctx, one))
		s.clock.Advance(time.Second)
		return one
	}
	live := func(want ...access.Session) {
		s.Helper()
		var got []access.Session
		for n := range byte(100) {
			one, err := s.Session(s.ctx, [32]byte{n})
			if err == nil {
				got = append(got, one)
			} else {
				s.wantCode("Session", err, access.CodeSessionNotFound)
			}
		}
		same(s, "what lives", want)(got, nil)
	}
	a1, a2, b, operator := made(1, "a", time.Hour), made(2, "a", time.Hour), made(3, "b", time.Minute), made(4, "", time.Hour)
	live(a1, a2, b, operator)
	for range 2 {
		must(s, s.EndSession(s.ctx, a1.Hash))
	}
	live(a2, b, operator)
	s.clock.Advance(time.Minute)
	live(a2, operator)
	made(5, "a", time.Hour)
	must(s, s.EndSessions(s.ctx, "a"))
	live(operator)
	for n := range byte(access.MaxSessions + 2) {
		made(10+n, "c", time.Hour)
	}
	for n, code := range map[byte]petstore.Code{10: access.CodeSessionNotFound, 11: access.CodeSessionNotFound, 12: "", 31: "", 4: ""} {
		s.wantCode(fmt.Sprint("Session ", n), errOf(s.Session(s.ctx, [32]byte{n})), code)
	}
}

// testTokens: they are found by their hash, also when they have ended, and are revoked once.
func testTokens(s *tenant) {
	made := func(name string, hash byte) access.Token {
		one := access.Token{ID: "op_" + name, Name: name, Prefix: "pso_abcd", Hash: access.Hash{hash}, CreatedAt: s.clock.Now(), ExpiresAt: s.clock.Now().Add(time.Hour)}
		must(s, s.AddToken(s.ctx, one, "cli"))
		s.clock.Advance(time.Second)
		return one
	}
	a, b := made("a", 1), made("b", 2)
	same(s, "Tokens", []access.Token{a, b})(s.Tokens(s.ctx))
	for range 2 {
		if a.RevokedAt.IsZero() {
			a.RevokedAt = s.clock.Now()
		}
		same(s, "RevokeToken", a)(s.RevokeToken(s.ctx, a.ID, s.clock.Now(), "cli"))
		s.clock.Advance(time.Second)
	}
	for _, want := range []access.Token{a, b} {
		same(s, "TokenOf", want)(s.TokenOf(s.ctx, want.Hash))
	}
	if e := s.lastAudit(); e.Action != "token.revoke" || e.Subject != a.ID {
		s.Errorf("the audit log has %+v", e)
	}
	s.wantCode("TokenOf of none", errOf(s.TokenOf(s.ctx, access.Hash{3})), access.CodeTokenNotFound)
	for _, id := range []string{"op_c", "\x00", "\xff"} {
		s.wantCode("RevokeToken of none", errOf(s.RevokeToken(s.ctx, id, s.clock.Now(), "cli")), access.CodeTokenNotFound)
	}
}
