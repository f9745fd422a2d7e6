package storetest

import (
	"fmt"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

var sandboxTests = map[string]func(*tenant){
	"reset": testSandboxReset, "resets at once": testSandboxResetsAtOnce, "bounds": testSandboxBounds, "end": testSandboxEnd, "by the operator": testSandboxByOperator,
}

// seed is what a sandbox begins with: a category and two pets.
func seed() []petstore.Unit {
	units := []petstore.Unit{{Category: &petstore.Category{ID: 1, Name: "Dogs"}}}
	for id := int64(1); id <= 2; id++ {
		units = append(units, petstore.Unit{PetID: id, Pet: &petstore.StockedPet{Pet: petstore.Pet{ID: id, Name: "Rex", CategoryID: 1, Status: petstore.Available}, Quantity: 3}})
	}
	return checked(units)
}

// sandbox makes a sandbox, of which the tenant is the shop.
func (s *tenant) sandbox() (*tenant, access.Workspace) {
	s.Helper()
	w, err := s.newSandbox("192.0.2.1", 0, 0)
	must(s, err)
	shop := *s
	shop.workspace, shop.name = w.Shop, w.Name
	return &shop, w
}

func (s *tenant) newSandbox(from string, most, perAddress int) (access.Workspace, error) {
	id := access.MintID()
	secret, prefix := access.Mint()
	end := s.clock.Now().Add(24 * time.Hour)
	return s.CreateSandbox(s.ctx, access.NewSandbox{
		Workspace: access.Workspace{Name: "sandbox-" + id, Plan: access.Free, Quota: access.FreeQuota, CreatedAt: s.clock.Now(), Sandbox: &access.Sandbox{ExpiresAt: end, Catalogue: "seed"}},
		Keys:      []access.Key{{ID: id, Name: "sandbox", Prefix: prefix, Hash: access.HashOf(secret), Scopes: access.Read, CreatedAt: s.clock.Now(), ExpiresAt: end}},
		From:      from, Rows: seed(), Most: most, PerAddress: perAddress,
	})
}

// reset resets a sandbox, removes what it had, and returns the shop that it has now.
func (s *tenant) reset(w access.Workspace) *tenant {
	s.Helper()
	before, err := s.resetNow(w)
	now, readErr := s.WorkspaceByID(s.ctx, w.ID)
	if err != nil || readErr != nil || now.Shop == before {
		s.Fatalf("ResetSandbox = %d, %v; the workspace is then %+v, %v, want another shop", before, err, now, readErr)
	}
	shop := *s
	shop.workspace = now.Shop
	return &shop
}

// resetNow resets a sandbox, and returns the shop that it had.
func (s *tenant) resetNow(w access.Workspace) (before int64, err error) {
	if before, err = s.ResetSandbox(s.ctx, w.ID, seed()); err == nil {
		err = s.Resume(s.ctx)
	}
	return before, err
}

// wantSeed checks that a shop has the seed and no more, and that everything is numbered from 1.
func (s *tenant) wantSeed() {
	s.Helper()
	same(s, "Contents", access.Contents{Categories: 1, Pets: 2})(s.Contents(s.ctx, s.workspace, 0))
	s.wantItem(2, 3, petstore.Available)
	s.wantIDs(petstore.EventQuery{Oldest: true, Limit: 10})
	once := &petstore.Idempotency{Operation: "POST /store/orders", Key: "k"}
	made, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: 2, Quantity: 1}, once)
	if err != nil || made.ID != 1 || made.Replayed {
		s.Errorf("CreateOrder = %+v, %v, want a new order 1", made, err)
	}
	if pet := s.petIn(1, "Rex", petstore.Available); pet != 3 {
		s.Errorf("the next pet has the id %d, want 3", pet)
	}
	if all := s.events(); len(all) == 0 || all[0].ID != 1 {
		s.Errorf("Events = %+v, want the first to have the id 1", all)
	}
}

// testSandboxReset: each time the same calls give the same answers, the keys stay, and who
// knows the shop before is told that it has ended.
func testSandboxReset(s *tenant) {
	shop, w := s.sandbox()
	for range 3 {
		shop.wantSeed()
		written := s.Written(shop.workspace)
		before := shop
		shop = s.reset(w)
		select {
		case <-written:
		case <-time.After(time.Minute):
			s.Fatal("who waits for events was not woken by the reset")
		}
		s.wantCode("Events of the shop before", errOf(s.Events(s.ctx, before.workspace, petstore.EventQuery{Limit: 10})), petstore.CodeEventsExpired)
		s.wantCode("CreateCategory in the shop before", errOf(s.CreateCategory(s.ctx, before.workspace, petstore.NewCategory{Name: "late"}, nil)), petstore.CodeServiceUnavailable)
		before.wantEmpty()
	}
	if keys, err := s.KeyPage(s.ctx, w.ID, access.KeyPage{Limit: 100}); err != nil || len(keys) != 1 || keys[0].State(s.clock.Now()) != "active" {
		s.Errorf("Keys = %+v, %v, want one that is active", keys, err)
	}
}

// testSandboxResetsAtOnce: of resets beside writes and the end, nothing stays behind.
func testSandboxResetsAtOnce(s *tenant) {
	_, w := s.sandbox()
	s.together(24, func(i int) error {
		if i%3 > 0 {
			return errOf(s.resetNow(w))
		}
		now, err := s.WorkspaceByID(s.ctx, w.ID)
		if err == nil {
			_, err = s.CreateCategory(s.ctx, now.Shop, petstore.NewCategory{Name: fmt.Sprint(i)}, nil)
		}
		if petstore.CodeOf(err) == petstore.CodeServiceUnavailable { // it was reset meanwhile
			err = nil
		}
		return err
	})
	must(s, s.Resume(s.ctx))
	now, err := s.WorkspaceByID(s.ctx, w.ID)
	must(s, err)
	for shop := w.Shop; shop <= now.Shop+1; shop++ {
		if has, err := s.Contents(s.ctx, shop, 0); shop != now.Shop && petstore.CodeOf(err) != access.CodeWorkspaceNotFound {
			s.Errorf("Contents(%d) = %+v, %v, want none but of %d", shop, has, err, now.Shop)
		}
	}
}

// testSandboxBounds: neither an address nor all together get more, also at once.
func testSandboxBounds(s *tenant) {
	got := codes(parallel(8, func(int) error { return errOf(s.newSandbox("192.0.2.1", 9, 3)) }))
	if got[""] != 3 || got[access.CodeTooManySandboxes] != 5 {
		s.Errorf("eight sandboxes of one address ended with %v, want three made", got)
	}
	s.clock.Advance(20 * time.Minute)
	err := errOf(s.newSandbox("192.0.2.1", 9, 3))
	if e, ok := err.(*petstore.Error); !ok || e.Code != access.CodeTooManySandboxes || e.RetryAfter != 40*time.Minute { //nolint:errorlint // it is the store's own
		s.Errorf("one more = %+v, want %s, to wait 40m", err, access.CodeTooManySandboxes)
	}
	got = codes(parallel(8, func(i int) error { return errOf(s.newSandbox(fmt.Sprint(i), 9, 3)) }))
	if got[""] != 6 || got[access.CodeSandboxesFull] != 2 {
		s.Errorf("eight more of several addresses ended with %v, want six made", got)
	}
	s.clock.Advance(40 * time.Minute)
	s.must(s.newSandbox("192.0.2.1", 10, 3))
	same(s, "CountSandboxes", int64(10))(s.CountSandboxes(s.ctx))
}

// testSandboxEnd: what has expired goes with everything, and nothing else.
func testSandboxEnd(s *tenant) {
	shop, w := s.sandbox()
	s.clock.Advance(time.Hour)
	later, kept := s.sandbox()
	s.clock.Advance(23 * time.Hour)
	state, err := s.AccessState(s.ctx)
	must(s, err)
	must(s, s.EndSandboxes(s.ctx))
	if now, err := s.AccessState(s.ctx); now == state || err != nil {
		s.Errorf("AccessState = %d, %v, want another than %d", now, err, state)
	}
	must(s, s.Resume(s.ctx))
	shop.wantEmpty()
	s.wantCode("WorkspaceByID", errOf(s.WorkspaceByID(s.ctx, w.ID)), access.CodeWorkspaceNotFound)
	s.wantCode("ResetSandbox", errOf(s.ResetSandbox(s.ctx, w.ID, nil)), access.CodeWorkspaceNotFound)
	s.must(s.WorkspaceByID(s.ctx, kept.ID))
	later.wantSeed()
}

// testSandboxByOperator: an operator resets and deletes a sandbox as any workspace. What a process leaves that ends after a reset,
// others remove. An ordinary workspace is no sandbox.
func testSandboxByOperator(s *tenant) {
	pet := s.pet(3)
	shop, w := s.sandbox()
	must(s, s.ResetWorkspace(s.ctx, w.ID, "cli"))
	must(s, s.Resume(s.ctx))
	shop.wantEmpty()
	now, err := s.Workspace(s.ctx, w.Name)
	if err != nil || now.Shop == w.Shop || now.Sandbox == nil {
		s.Errorf("Workspace = %+v, %v, want another shop", now, err)
	}
	s.must(s.ResetSandbox(s.ctx, w.ID, seed()))
	must(s, s.Resume(s.ctx))
	shop.workspace = now.Shop
	shop.wantEmpty()
	must(s, s.DeleteWorkspace(s.ctx, w.ID, "cli"))
	s.wantCode("Contents", errOf(s.Contents(s.ctx, now.Shop, 0)), access.CodeWorkspaceNotFound)
	s.wantCode("ResetSandbox of an ordinary workspace", errOf(s.ResetSandbox(s.ctx, s.workspace, nil)), access.CodeNotASandbox)
	s.clock.Advance(10 * 365 * 24 * time.Hour)
	must(s, s.EndSandboxes(s.ctx))
	s.wantItem(pet, 3, petstore.Available)
}
