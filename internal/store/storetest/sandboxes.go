package storetest

import (
	"fmt"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

var sandboxTests = map[string]func(*testing.T, Open){
	"reset":            testSandboxReset,
	"resets at once":   testSandboxResetsAtOnce,
	"bounds":           testSandboxBounds,
	"end":              testSandboxEnd,
	"reset cut off":    testSandboxResetCutOff,
	"by the operator":  testSandboxByOperator,
	"ordinary is none": testNoSandbox,
}

// seed is what a sandbox begins with: a category and two pets.
func seed() []petstore.Unit {
	units := []petstore.Unit{{Category: &petstore.Category{ID: 1, Name: "Dogs"}}}
	for id := int64(1); id <= 2; id++ {
		units = append(units, petstore.Unit{PetID: id, Pet: &petstore.StockedPet{Pet: petstore.Pet{ID: id, Name: "Rex", CategoryID: 1, Status: petstore.Available}, Quantity: 3}})
	}
	return checked(units)
}

// sandbox makes one for an address, of which the tenant is the shop.
func (s *tenant) sandbox(from string) (*tenant, access.Workspace) {
	s.Helper()
	w, err := s.newSandbox(from, 0, 0)
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
	before, err := s.ResetSandbox(s.ctx, w.ID, seed())
	if err == nil {
		err = s.RemoveShop(s.ctx, before)
	}
	now, readErr := s.WorkspaceByID(s.ctx, w.ID)
	if err != nil || readErr != nil || now.Shop == before {
		s.Fatalf("ResetSandbox = %d, %v; the workspace is then %+v, %v, want another shop", before, err, now, readErr)
	}
	shop := *s
	shop.workspace = now.Shop
	return &shop
}

// wantSeed checks that a shop has the seed and no more, and that everything is numbered from 1.
func (s *tenant) wantSeed() {
	s.Helper()
	if has, err := s.Contents(s.ctx, s.workspace); err != nil || has != (access.Contents{Categories: 1, Pets: 2}) {
		s.Errorf("Contents = %+v, %v, want a category and two pets", has, err)
	}
	s.wantItem(2, 3, petstore.Available)
	if page, err := s.Events(s.ctx, s.workspace, petstore.EventQuery{Oldest: true, Limit: 10}); err != nil || len(page.Events) > 0 || page.Last != 0 {
		s.Errorf("Events = %+v, %v, want none", page, err)
	}
	once := &petstore.Idempotency{Operation: "POST /store/orders", Key: "k"}
	made, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: 2, Quantity: 1}, once)
	if err != nil || made.ID != 1 || made.Replayed {
		s.Errorf("CreateOrder = %+v, %v, want a new order 1", made, err)
	}
	if pet := s.petIn(1, "Rex", petstore.Available); pet != 3 {
		s.Errorf("the next pet has the id %d, want 3", pet)
	}
	if page, err := s.Events(s.ctx, s.workspace, petstore.EventQuery{Oldest: true, Limit: 10}); err != nil || len(page.Events) == 0 || page.Events[0].ID != 1 {
		s.Errorf("Events = %+v, %v, want the first to have the id 1", page, err)
	}
}

// testSandboxReset: each time the same calls give the same answers, the keys stay, and who
// knows the shop before is told that it has ended.
func testSandboxReset(t *testing.T, open Open) {
	s := newTenant(t, open)
	shop, w := s.sandbox("192.0.2.1")
	for range 3 {
		shop.wantSeed()
		written := s.Written(shop.workspace)
		before := shop
		shop = s.reset(w)
		select {
		case <-written:
		case <-time.After(time.Minute):
			t.Fatal("who waits for events was not woken by the reset")
		}
		_, err := s.Events(s.ctx, before.workspace, petstore.EventQuery{Limit: 10})
		wantCode(t, "Events of the shop before", err, petstore.CodeEventsExpired)
		_, err = s.CreateCategory(s.ctx, before.workspace, petstore.NewCategory{Name: "late"}, nil)
		wantCode(t, "CreateCategory in the shop before", err, petstore.CodeServiceUnavailable)
		before.wantEmpty()
	}
	if keys, err := s.Keys(s.ctx, w.ID); err != nil || len(keys) != 1 || keys[0].State(s.clock.Now()) != "active" {
		t.Errorf("Keys = %+v, %v, want one that is active", keys, err)
	}
}

// testSandboxResetsAtOnce: of resets beside writes and the end, nothing stays behind.
func testSandboxResetsAtOnce(t *testing.T, open Open) {
	s := newTenant(t, open)
	_, w := s.sandbox("192.0.2.1")
	errs := parallel(24, func(i int) error {
		if i%3 > 0 {
			before, err := s.ResetSandbox(s.ctx, w.ID, seed())
			if err == nil {
				err = s.RemoveShop(s.ctx, before)
			}
			return err
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
	if got := codes(errs); got[""] != 24 {
		t.Errorf("the calls ended with %v, want no error", got)
	}
	wantCode(t, "Resume", s.Resume(s.ctx), "")
	now, err := s.WorkspaceByID(s.ctx, w.ID)
	must(t, err)
	for shop := w.Shop; shop <= now.Shop+1; shop++ {
		if has, err := s.Contents(s.ctx, shop); shop != now.Shop && petstore.CodeOf(err) != access.CodeWorkspaceNotFound {
			t.Errorf("Contents(%d) = %+v, %v, want none but of %d", shop, has, err, now.Shop)
		}
	}
}

// testSandboxBounds: neither an address nor all together get more, also at once.
func testSandboxBounds(t *testing.T, open Open) {
	s := newTenant(t, open)
	if got := codes(parallel(8, func(int) error { _, err := s.newSandbox("192.0.2.1", 9, 3); return err })); got[""] != 3 || got[access.CodeTooManySandboxes] != 5 {
		t.Errorf("eight sandboxes of one address ended with %v, want three made", got)
	}
	s.clock.Advance(20 * time.Minute)
	_, err := s.newSandbox("192.0.2.1", 9, 3)
	wantCode(t, "one more", err, access.CodeTooManySandboxes)
	if e, ok := err.(*petstore.Error); !ok || e.RetryAfter != 40*time.Minute { //nolint:errorlint // it is the store's own
		t.Errorf("one more must wait as %+v says, want 40m", err)
	}
	if got := codes(parallel(8, func(i int) error { _, err := s.newSandbox(fmt.Sprint(i), 9, 3); return err })); got[""] != 6 || got[access.CodeSandboxesFull] != 2 {
		t.Errorf("eight more of several addresses ended with %v, want six made", got)
	}
	s.clock.Advance(40 * time.Minute)
	_, err = s.newSandbox("192.0.2.1", 10, 3)
	wantCode(t, "one more after an hour", err, "")
	if n, err := s.CountSandboxes(s.ctx); n != 10 || err != nil {
		t.Errorf("CountSandboxes = %d, %v, want 10", n, err)
	}
}

// testSandboxEnd: what has expired goes with everything, and nothing else.
func testSandboxEnd(t *testing.T, open Open) {
	s := newTenant(t, open)
	shop, w := s.sandbox("192.0.2.1")
	s.clock.Advance(time.Hour)
	later, kept := s.sandbox("192.0.2.1")
	s.clock.Advance(23 * time.Hour)
	state, err := s.AccessState(s.ctx)
	must(t, err)
	shops, err := s.EndSandboxes(s.ctx)
	if err != nil || len(shops) != 2 {
		t.Fatalf("EndSandboxes = %v, %v, want the workspace and its shop", shops, err)
	}
	if now, err := s.AccessState(s.ctx); now == state || err != nil {
		t.Errorf("AccessState = %d, %v, want another than %d", now, err, state)
	}
	wantCode(t, "Resume", s.Resume(s.ctx), "")
	shop.wantEmpty()
	_, err = s.WorkspaceByID(s.ctx, w.ID)
	wantCode(t, "WorkspaceByID", err, access.CodeWorkspaceNotFound)
	_, err = s.ResetSandbox(s.ctx, w.ID, nil)
	wantCode(t, "ResetSandbox", err, access.CodeWorkspaceNotFound)
	if _, err := s.WorkspaceByID(s.ctx, kept.ID); err != nil {
		t.Error(err)
	}
	later.wantSeed()
	if shops, err := s.EndSandboxes(s.ctx); err != nil || len(shops) != 0 {
		t.Errorf("EndSandboxes = %v, %v, want none", shops, err)
	}
}

// testSandboxResetCutOff: what a process leaves that ends after a reset, others remove.
func testSandboxResetCutOff(t *testing.T, open Open) {
	s := newTenant(t, open)
	shop, w := s.sandbox("192.0.2.1")
	if _, err := s.ResetSandbox(s.ctx, w.ID, seed()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "Resume", s.Resume(s.ctx), "")
	shop.wantEmpty()
}

// testSandboxByOperator: an operator resets and deletes a sandbox as any workspace.
func testSandboxByOperator(t *testing.T, open Open) {
	s := newTenant(t, open)
	shop, w := s.sandbox("192.0.2.1")
	wantCode(t, "ResetWorkspace", s.ResetWorkspace(s.ctx, w.ID, "cli"), "")
	shop.wantEmpty()
	now, err := s.Workspace(s.ctx, w.Name)
	if err != nil || now.Shop == w.Shop || now.Resetting || now.Sandbox == nil {
		t.Errorf("Workspace = %+v, %v, want another shop", now, err)
	}
	wantCode(t, "DeleteWorkspace", s.DeleteWorkspace(s.ctx, w.ID, "cli"), "")
	_, err = s.Contents(s.ctx, now.Shop)
	wantCode(t, "Contents", err, access.CodeWorkspaceNotFound)
}

func testNoSandbox(t *testing.T, open Open) {
	s := newTenant(t, open)
	pet := s.pet(3)
	_, err := s.ResetSandbox(s.ctx, s.workspace, nil)
	wantCode(t, "ResetSandbox of an ordinary workspace", err, access.CodeNotASandbox)
	s.wantItem(pet, 3, petstore.Available)
	s.clock.Advance(10 * 365 * 24 * time.Hour)
	if shops, err := s.EndSandboxes(s.ctx); err != nil || len(shops) != 0 {
		t.Errorf("EndSandboxes = %v, %v, want none", shops, err)
	}
}
