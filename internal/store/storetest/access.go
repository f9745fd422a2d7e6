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

var accessTests = map[string]func(*testing.T, Open){
	"workspaces":          testWorkspaces,
	"reset":               testReset,
	"delete":              testDeleteWorkspace,
	"keys":                testKeys,
	"rotate":              testRotate,
	"bans":                testBans,
	"state of access":     testAccessState,
	"banned keys":         testBannedKeys,
	"missing":             testMissingAccess,
	"secret":              testSecret,
	"audit":               testAudit,
	"links":               testLinks,
	"rename and contents": testRename,
	"same name once":      testSameName,
	"rotate a ban":        testRotateKeepsBan,
	"key bounds":          testKeyBounds,
	"key pages":           testKeyPages,
	"live keys":           testLiveKeys,
	"key updates":         testKeyUpdates,
	"keys once":           testKeysOnce,
	"keyring":             testKeyring,
	"holder of a key":     testHolder,
	"sessions":            testSessions,
	"tokens":              testTokens,
	"names":               testNames,
}

// key makes a key of the workspace.
func (s *tenant) key(name string, expires time.Time) access.Key {
	s.Helper()
	text, prefix := access.Mint()
	k := access.Key{
		ID: access.MintID(), WorkspaceID: s.workspace, Name: name, Prefix: prefix, Hash: access.HashOf(text),
		Scopes: access.Read | access.Write, CreatedAt: s.clock.Now(), ExpiresAt: expires,
	}
	must(s, s.create(k))
	s.clock.Advance(time.Second) // keys are listed in the order of their creation
	return k
}

func (s *tenant) wantKey(want access.Key) {
	s.Helper()
	if got, err := s.Key(s.ctx, want.ID); err != nil || !reflect.DeepEqual(got, want) {
		s.Errorf("Key = %+v, %v, want %+v", got, err, want)
	}
}

func testWorkspaces(t *testing.T, open Open) {
	s := newTenant(t, open)
	made, err := s.CreateWorkspace(s.ctx, access.Workspace{Name: "alpha", Plan: access.Enterprise,
		Quota: access.Quota{PerMinute: 7, PerDay: 9}, CreatedAt: start.Add(time.Hour)}, "cli")
	must(t, err)
	want := access.Workspace{ID: made.ID, Shop: made.ID, Name: "alpha", Plan: access.Enterprise, Quota: access.Quota{PerMinute: 7, PerDay: 9}, CreatedAt: start.Add(time.Hour), LowStock: access.DefaultLowStock}
	if made != want || made.ID < 1 || made.ID == s.workspace {
		t.Errorf("CreateWorkspace = %+v, want %+v with an id of its own", made, want)
	}
	if got, err := s.Workspace(s.ctx, "alpha"); got != want || err != nil {
		t.Errorf("Workspace = %+v, %v, want %+v", got, err, want)
	}
	want.Plan, want.Quota = access.Free, access.FreeQuota
	if got, err := s.SetPlan(s.ctx, made.ID, access.Free, access.FreeQuota, "cli"); got != want || err != nil {
		t.Errorf("SetPlan = %+v, %v, want %+v", got, err, want)
	}
	want.LowStock = 0
	if got, err := s.SetLowStock(s.ctx, made.ID, 0, "cli"); got != want || err != nil {
		t.Errorf("SetLowStock = %+v, %v, want %+v", got, err, want)
	}
	all, err := s.Workspaces(s.ctx)
	if err != nil || len(all) != 2 || all[0] != want || all[1].Name != "tenant" || !all[1].CreatedAt.Equal(start) {
		t.Errorf("Workspaces = %+v, %v, want alpha and tenant", all, err)
	}
	if some, err := s.WorkspacesFrom(s.ctx, 1, 1); err != nil || len(some) != 1 || some[0] != all[1] {
		t.Errorf("WorkspacesFrom(1, 1) = %+v, %v, want the tenant", some, err)
	}
	if none, err := s.WorkspacesFrom(s.ctx, 2, 1); err != nil || len(none) != 0 {
		t.Errorf("WorkspacesFrom(2, 1) = %+v, %v, want none", none, err)
	}
	if n, err := s.CountWorkspaces(s.ctx); err != nil || n != 2 {
		t.Errorf("CountWorkspaces = %d, %v, want 2", n, err)
	}
	for _, test := range []struct {
		after int64
		limit int
		names []string
		want  []int64
	}{
		{0, 9, nil, []int64{s.workspace, made.ID}},
		{0, 1, nil, []int64{s.workspace}},
		{s.workspace, 9, nil, []int64{made.ID}},
		{made.ID, 9, nil, nil},
		{0, 9, []string{"beta", "alpha", "\x00"}, []int64{made.ID}},
		{0, 9, []string{"\xff"}, nil},
	} {
		page, err := s.WorkspacePage(s.ctx, test.after, test.limit, test.names...)
		var got []int64
		for _, w := range page {
			got = append(got, w.ID)
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("WorkspacePage(%d, %d, %q) = %v, %v, want %v", test.after, test.limit, test.names, got, err, test.want)
		}
	}
	_, err = s.CreateWorkspace(s.ctx, access.Workspace{Name: "alpha", Plan: access.Free, Quota: access.FreeQuota}, "cli")
	wantCode(t, "CreateWorkspace again", err, access.CodeWorkspaceExists)
}

func testRename(t *testing.T, open Open) {
	s := newTenant(t, open)
	other := s.beside("other")
	s.order(s.pet(5), 1)
	other.pet(1)
	got, err := s.RenameWorkspace(s.ctx, s.workspace, "anew", "cli")
	if err != nil || got.ID != s.workspace || got.Name != "anew" {
		t.Fatalf("RenameWorkspace = %+v, %v, want the workspace %d named anew", got, err, s.workspace)
	}
	if again, err := s.Workspace(s.ctx, "anew"); again != got || err != nil {
		t.Errorf("Workspace = %+v, %v, want %+v", again, err, got)
	}
	_, err = s.Workspace(s.ctx, s.name)
	wantCode(t, "Workspace by its old name", err, access.CodeWorkspaceNotFound)
	_, err = s.RenameWorkspace(s.ctx, s.workspace, "anew", "cli")
	wantCode(t, "RenameWorkspace to the same", err, "")
	_, err = s.RenameWorkspace(s.ctx, s.workspace, "other", "cli")
	wantCode(t, "RenameWorkspace to a name that is taken", err, access.CodeWorkspaceExists)
	for workspace, want := range map[int64]access.Contents{
		s.workspace:     {Categories: 1, Pets: 1, Orders: 1},
		other.workspace: {Categories: 1, Pets: 1},
	} {
		if got, err := s.Contents(s.ctx, workspace); got != want || err != nil {
			t.Errorf("Contents = %+v, %v, want %+v", got, err, want)
		}
	}
}

func testSameName(t *testing.T, open Open) {
	s := newTenant(t, open)
	got := codes(parallel(20, func(int) error {
		_, err := s.CreateWorkspace(s.ctx, access.Workspace{Name: "new", Plan: access.Free, Quota: access.FreeQuota}, "cli")
		return err
	}))
	if got[""] != 1 || got[access.CodeWorkspaceExists] != 19 {
		t.Errorf("outcomes = %v, want one success and 19 times %s", got, access.CodeWorkspaceExists)
	}
}

func testReset(t *testing.T, open Open) {
	s := newTenant(t, open)
	other := s.beside("other")
	k := s.key("k", time.Time{})
	s.order(s.pet(5), 1)
	kept := other.pet(5)
	s.load(&petstore.Batch{File: "x", Through: 5})
	other.load(&petstore.Batch{File: "x", Through: 6})
	s.wantReached("x", 5)
	wantCode(t, "ResetWorkspace", s.ResetWorkspace(s.ctx, s.workspace, "cli"), "")
	s.wantEmpty()
	s.wantReached("x", 0)
	other.wantReached("x", 6)
	s.wantKey(k)
	other.wantItem(kept, 5, petstore.Available)
}

// wantEmpty fails the test unless the workspace has no rows.
func (s *tenant) wantEmpty() {
	s.Helper()
	page := petstore.Page{Limit: 10}
	pets, err1 := s.Stores.Pets(s.ctx, s.workspace, petstore.PetQuery{Page: page})
	categories, err2 := s.Stores.Categories(s.ctx, s.workspace, petstore.CategoryQuery{Page: page})
	orders, err3 := s.Stores.Orders(s.ctx, s.workspace, petstore.OrderQuery{Page: page})
	_, _, err4 := s.Movements(s.ctx, s.workspace, 1, 0, 10)
	if len(pets)+len(categories)+len(orders) > 0 || err1 != nil || err2 != nil || err3 != nil || petstore.CodeOf(err4) != petstore.CodePetNotFound {
		s.Errorf("the workspace has %v, %v, %v, %v (%v, %v, %v), want nothing", pets, categories, orders, err4, err1, err2, err3)
	}
}

func testDeleteWorkspace(t *testing.T, open Open) {
	s := newTenant(t, open)
	doomed := s.beside("doomed")
	k := doomed.key("k", time.Time{})
	wantCode(t, "SetBan", s.SetBan(s.ctx, access.Ban{KeyID: k.ID, From: start, Until: start.Add(time.Hour), By: "operator"}, "cli"), "")
	doomed.order(doomed.pet(5), 1)
	wantCode(t, "DeleteWorkspace", s.DeleteWorkspace(s.ctx, doomed.workspace, "cli"), "")
	doomed.wantEmpty()
	_, err := s.Key(s.ctx, k.ID)
	wantCode(t, "Key", err, access.CodeKeyNotFound)
	_, err = s.Workspace(s.ctx, "doomed")
	wantCode(t, "Workspace", err, access.CodeWorkspaceNotFound)
	if _, err := doomed.CreateCategory(s.ctx, doomed.workspace, petstore.NewCategory{Name: "late"}, nil); err == nil {
		t.Error("CreateCategory in a deleted workspace succeeded")
	}
	if again := s.beside("doomed"); again.workspace == doomed.workspace {
		t.Errorf("id of the next workspace = %d, want one that was never issued", again.workspace)
	}
}

func testKeys(t *testing.T, open Open) {
	s := newTenant(t, open)
	other := s.beside("other")
	first, second := s.key("first", time.Time{}), s.key("second", start.Add(time.Hour))
	other.key("foreign", time.Time{})
	s.wantKey(first)
	s.wantKey(second)
	for _, at := range []time.Time{start.Add(time.Minute), start.Add(time.Hour)} { // the first one counts
		wantCode(t, "revoke", s.revoke(first.ID, at), "")
	}
	first.RevokedAt = start.Add(time.Minute)
	if got, err := s.Keys(s.ctx, s.workspace); err != nil || !reflect.DeepEqual(got, []access.Key{first, second}) {
		t.Errorf("Keys = %+v, %v, want the two of the workspace, the revoked one too", got, err)
	}
	clash := second
	clash.ID = access.MintID()
	if err := s.create(clash); err == nil {
		t.Error("create with a hash that exists succeeded")
	}
}

func testRotate(t *testing.T, open Open) {
	s := newTenant(t, open)
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
		text, prefix := access.Mint()
		next := access.Key{ID: access.MintID(), Prefix: prefix, Hash: access.HashOf(text), Name: "ignored", CreatedAt: s.clock.Now()}
		got, err := s.rotate(k.ID, next, until)
		want := next
		want.WorkspaceID, want.Name, want.Scopes, want.ExpiresAt = k.WorkspaceID, k.Name, k.Scopes, k.ExpiresAt
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: rotate = %+v, %v, want %+v", test.name, got, err, want)
		}
		s.wantKey(want)
		k.ExpiresAt, k.RotatedTo = test.old, next.ID
		s.wantKey(k)
	}
	revoked, rotated, expired := s.key("revoked", time.Time{}), s.key("rotated", time.Time{}), s.key("expired", s.clock.Now().Add(time.Second))
	wantCode(t, "revoke", s.revoke(revoked.ID, start), "")
	next := func() access.Key {
		text, prefix := access.Mint()
		return access.Key{ID: access.MintID(), Prefix: prefix, Hash: access.HashOf(text)}
	}
	_, err := s.rotate(rotated.ID, next(), until)
	wantCode(t, "rotate", err, "")
	for id, code := range map[string]petstore.Code{revoked.ID: access.CodeKeyRevoked, rotated.ID: access.CodeKeyRotated, expired.ID: access.CodeKeyExpired} {
		_, err := s.rotate(id, next(), until)
		wantCode(t, "rotate of a key that cannot be", err, code)
	}
}

func testBans(t *testing.T, open Open) {
	s := newTenant(t, open)
	k := s.key("k", time.Time{})
	for level, by := range []string{"limiter", "operator"} {
		k.Ban = &access.Ban{KeyID: k.ID, From: start, Until: start.Add(time.Duration(level+1) * time.Minute), Level: level, Reason: "too fast", By: by}
		wantCode(t, "SetBan", s.SetBan(s.ctx, *k.Ban, "limiter"), "")
		s.wantKey(k)

		other := access.Ban{KeyID: k.ID, From: start.Add(time.Second), Until: start.Add(time.Hour), Level: 1, Reason: "too fast", By: "limiter"}
		wantCode(t, "SetBan of another node", s.SetBan(s.ctx, other, "limiter"), "")
		s.wantKey(k)
	}
	k.Ban = nil
	for range 2 {
		wantCode(t, "LiftBan", s.LiftBan(s.ctx, k.ID, "cli"), "")
		s.wantKey(k)
	}
}

// testAccessState: each change of what is read of a key shows, and nothing else does.
func testAccessState(t *testing.T, open Open) {
	s := newTenant(t, open)
	a, b, doomed := s.key("a", time.Time{}), s.key("b", time.Time{}), s.beside("doomed")
	state := func() int64 {
		t.Helper()
		n, err := s.AccessState(s.ctx)
		wantCode(t, "AccessState", err, "")
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
		{"SetPlan", true, func() error {
			_, err := s.SetPlan(s.ctx, s.workspace, access.Free, access.FreeQuota, "cli")
			return err
		}},
		{"SetLowStock", true, func() error {
			_, err := s.SetLowStock(s.ctx, s.workspace, 7, "cli")
			return err
		}},
		{"RenameWorkspace", true, func() error {
			_, err := s.RenameWorkspace(s.ctx, s.workspace, "renamed", "cli")
			return err
		}},
		{"SetBan", true, func() error {
			return s.SetBan(s.ctx, access.Ban{KeyID: a.ID, From: start, Until: start.Add(time.Hour)}, "cli")
		}},
		{"LiftBan", true, func() error { return s.LiftBan(s.ctx, a.ID, "cli") }},
		{"LiftBan of no ban", false, func() error { return s.LiftBan(s.ctx, a.ID, "cli") }},
		{"rotate", true, func() error {
			_, err := s.rotate(a.ID, access.Key{ID: access.MintID(), Hash: access.HashOf("x"), CreatedAt: start}, start.Add(time.Hour))
			return err
		}},
		{"revoke", true, func() error { return s.revoke(b.ID, start) }},
		{"ResetWorkspace", true, func() error { return s.ResetWorkspace(s.ctx, s.workspace, "cli") }},
		{"DeleteWorkspace", true, func() error { return s.DeleteWorkspace(s.ctx, doomed.workspace, "cli") }},
	} {
		before := state()
		wantCode(t, step.what, step.do(), "")
		if changed := state() != before; changed != step.changes {
			t.Errorf("after %s: AccessState changed = %t, want %t", step.what, changed, step.changes)
		}
	}
}

// testBannedKeys: those whose bans run, the first to end first.
func testBannedKeys(t *testing.T, open Open) {
	s := newTenant(t, open)
	var want []string
	for i, until := range []time.Duration{2 * time.Hour, time.Hour, 0, 3 * time.Hour} {
		k := s.key(fmt.Sprint(i), time.Time{})
		wantCode(t, "SetBan", s.SetBan(s.ctx, access.Ban{KeyID: k.ID, From: start.Add(-time.Hour), Until: start.Add(until)}, "cli"), "")
		want = append(want, k.ID)
	}
	wantCode(t, "revoke", s.revoke(want[3], start), "")
	want = []string{want[1], want[0]}
	if got, err := s.BannedKeys(s.ctx); err != nil || !slices.Equal(got, want) {
		t.Errorf("BannedKeys = %v, %v, want %v", got, err, want)
	}
}

// testLiveKeys: keys are found by ids and by hashes, however many are asked for, with their workspaces and bans.
func testLiveKeys(t *testing.T, open Open) {
	s := newTenant(t, open)
	other := s.beside("other")
	a, b, revoked, foreign := s.key("a", time.Time{}), s.key("b", time.Time{}), s.key("c", time.Time{}), other.key("d", time.Time{})
	wantCode(t, "revoke", s.revoke(revoked.ID, start), "")
	ban := access.Ban{KeyID: b.ID, From: start, Until: start.Add(time.Hour), Reason: "too fast", By: "operator"}
	wantCode(t, "SetBan", s.SetBan(s.ctx, ban, "cli"), "")
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
		"a key both ways":  {[]string{a.ID}, []access.Hash{a.Hash}, []string{a.ID, a.ID}, []int64{s.workspace, s.workspace}},
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
			t.Errorf("LiveKeys of %s = %v of %v, %v, want %v of %v", what, got, of, err, test.want, test.of)
		}
	}
	keys, workspaces, err := s.LiveKeys(s.ctx, []string{b.ID}, nil)
	if b.Ban = &ban; err != nil || !reflect.DeepEqual(keys, []access.Key{b}) || len(workspaces) != 1 || workspaces[0].Name != "tenant" {
		t.Errorf("LiveKeys = %+v of %+v, %v, want %+v of the tenant", keys, workspaces, err, b)
	}
}

func testMissingAccess(t *testing.T, open Open) {
	s := newTenant(t, open)
	_, err := s.Workspace(s.ctx, "x")
	wantCode(t, "Workspace", err, access.CodeWorkspaceNotFound)
	_, err = s.SetPlan(s.ctx, 99, access.Free, access.FreeQuota, "cli")
	wantCode(t, "SetPlan", err, access.CodeWorkspaceNotFound)
	_, err = s.RenameWorkspace(s.ctx, 99, "y", "cli")
	wantCode(t, "RenameWorkspace", err, access.CodeWorkspaceNotFound)
	_, err = s.Contents(s.ctx, 99)
	wantCode(t, "Contents", err, access.CodeWorkspaceNotFound)
	wantCode(t, "ResetWorkspace", s.ResetWorkspace(s.ctx, 99, "cli"), access.CodeWorkspaceNotFound)
	wantCode(t, "DeleteWorkspace", s.DeleteWorkspace(s.ctx, 99, "cli"), access.CodeWorkspaceNotFound)
	wantCode(t, "create", s.create(access.Key{ID: "key_x", WorkspaceID: 99}), access.CodeWorkspaceNotFound)
	_, err = s.Keys(s.ctx, 99)
	wantCode(t, "Keys", err, access.CodeWorkspaceNotFound)
	for _, id := range []string{"key_x", "\x00", "\xff"} { // also what no engine holds
		_, err = s.Key(s.ctx, id)
		wantCode(t, "Key", err, access.CodeKeyNotFound)
		_, err = s.rotate(id, access.Key{ID: "key_y"}, start)
		wantCode(t, "rotate", err, access.CodeKeyNotFound)
		wantCode(t, "revoke", s.revoke(id, start), access.CodeKeyNotFound)
		wantCode(t, "SetBan", s.SetBan(s.ctx, access.Ban{KeyID: id}, "cli"), access.CodeKeyNotFound)
		wantCode(t, "LiftBan", s.LiftBan(s.ctx, id, "cli"), access.CodeKeyNotFound)
	}
}

func testSecret(t *testing.T, open Open) {
	s, other := newTenant(t, open), newTenant(t, open)
	first, err1 := s.Secret(s.ctx)
	again, err2 := s.Secret(s.ctx)
	foreign, err3 := other.Secret(s.ctx)
	if err1 != nil || err2 != nil || err3 != nil || len(first) != 32 || !slices.Equal(first, again) || slices.Equal(first, foreign) {
		t.Errorf("Secret = %d bytes, again the same %t, of another store the same %t (%v, %v, %v), want 32, true, false",
			len(first), slices.Equal(first, again), slices.Equal(first, foreign), err1, err2, err3)
	}
}

// testAudit: every entry once, the newest first.
func testAudit(t *testing.T, open Open) {
	s := newTenant(t, open)
	k := s.key("k", time.Time{})
	wantCode(t, "SetBan", s.SetBan(s.ctx, access.Ban{KeyID: k.ID, From: start, Until: start.Add(time.Hour), Reason: "too fast"}, "limiter"), "")
	wantCode(t, "LiftBan", s.LiftBan(s.ctx, k.ID, "operator"), "")
	wantCode(t, "revoke of an unknown key", s.revoke("key_x", start), access.CodeKeyNotFound)
	want := []access.AuditEntry{
		{At: s.clock.Now(), Actor: "operator", Action: "ban.lift", Subject: k.ID},
		{At: s.clock.Now(), Actor: "limiter", Action: "ban.set", Subject: k.ID},
		{At: start, Actor: "cli", Action: "key.create", Subject: k.ID},
		{At: start, Actor: "cli", Action: "workspace.create", Subject: "tenant"},
	}
	for _, limit := range []int{1, 3, 100} {
		var got []access.AuditEntry
		for before := int64(0); ; {
			page, err := s.AuditPage(s.ctx, before, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("AuditPage(%d, %d) = %+v, %v", before, limit, page, err)
			}
			if len(page) == 0 {
				break
			}
			before = page[len(page)-1].ID
			got = append(got, page...)
		}
		for i := range got {
			if got[i].Detail == "" {
				t.Errorf("entry %d of the audit has no detail", i)
			}
			got[i].Detail, got[i].ID = "", 0
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("AuditPage by %d = %+v, want %+v", limit, got, want)
		}
	}
}

// testLinks: a link is used once, however many try at the same time, and its use stands in the audit log.
func testLinks(t *testing.T, open Open) {
	s := newTenant(t, open)
	signIn := access.AuditEntry{Actor: "operator", Action: "operator.sign_in", Subject: "operator", Detail: "by a link"}
	link := access.Link{Hash: [32]byte{1}, Until: start.Add(10 * time.Minute)}
	var first atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			ok, err := s.UseLink(s.ctx, link, signIn)
			if err != nil {
				t.Errorf("UseLink = %v", err)
			}
			if ok {
				first.Add(1)
			}
		})
	}
	wait.Wait()
	if n := first.Load(); n != 1 {
		t.Errorf("of 8 uses of one link %d were the first, want 1", n)
	}
	other := access.Link{Hash: [32]byte{2}, Until: start.Add(10 * time.Minute)}
	if ok, err := s.UseLink(s.ctx, other, signIn); !ok || err != nil {
		t.Errorf("UseLink of another link = %t, %v, want true", ok, err)
	}
	// A link is refused until its end and the grace are over; then it is forgotten.
	use := func(what string, l access.Link, want bool) {
		t.Helper()
		if ok, err := s.UseLink(s.ctx, l, signIn); ok != want || err != nil {
			t.Errorf("%s: UseLink = %t, %v, want %t", what, ok, err, want)
		}
	}
	s.clock.Advance(10*time.Minute + access.LinkGrace - time.Second)
	use("before the end of the grace", link, false)
	s.clock.Advance(2 * time.Second)
	use("forgotten", link, true)
	issued := access.AuditEntry{Actor: "cli", Action: "operator.link", Subject: "operator", Detail: "ends soon"}
	wantCode(t, "Note", s.Note(s.ctx, issued), "")
	got, err := s.AuditPage(s.ctx, 0, 2)
	issued.At, signIn.At = s.clock.Now(), s.clock.Now()
	for i := range got {
		got[i].ID = 0
	}
	if want := []access.AuditEntry{issued, signIn}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("AuditPage = %+v, %v, want %+v", got, err, want)
	}
}
