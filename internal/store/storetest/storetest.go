// Package storetest is the conformance suite of the stores: whatever engine
// keeps the pets, the keys and the limiter's rows passes it. It knows the
// interfaces' promises alone, no engine.
package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/webhook"
)

// Stores is what an engine implements. Check returns what is wrong with what it
// keeps, the ledger included, in words.
type Stores interface {
	petstore.Store
	petstore.Bulk
	access.Store
	ratelimit.Store
	petstore.Feed
	webhook.Store
	Check(ctx context.Context) ([]string, error)
	CheckFeed(ctx context.Context, shop int64) ([]string, error)
}

// An Open returns new, empty stores whose clock is now. They are closed when the test
// ends.
type Open func(t *testing.T, now func() time.Time) Stores

// Run tests every promise of an engine.
func Run(t *testing.T, open Open) { run(t, open, nil) }

// RunOnce has the engine carry out each statement on the rows of workspaces. It is for tables
// of another form than those of Run: what repeats statements in one order after another, or
// many at once, and what is about other tables, tells nothing more of them.
func RunOnce(t *testing.T, open Open) {
	run(t, open, map[string]bool{
		"access": true, "concurrency": true, "bulk/beside writers": true, "events/many writers": true, "events/whole workspace": true,
		"removals/reset beside others": true, "removals/reset broken off": true,
	})
}

// run runs all tests, without those groups and tests that are left out.
func run(t *testing.T, open Open, without map[string]bool) {
	for name, tests := range map[string]map[string]func(*testing.T, Open){
		"rows": rowTests, "rules": ruleTests, "receipts": receiptTests, "lists": listTests, "concurrency": concurrencyTests, "bulk": bulkTests,
		"dump": dumpTests, "access": accessTests, "removals": removalTests, "sandboxes": sandboxTests, "events": eventTests, "webhooks": webhookTests,
		"limits": limitTests,
	} {
		if without[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for test, f := range tests {
				if without[name+"/"+test] {
					continue
				}
				t.Run(test, func(t *testing.T) {
					t.Parallel()
					f(t, open)
				})
			}
		})
	}
}

// A Clock stands still until it is advanced.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows an instant.
func NewClock(at time.Time) *Clock { return &Clock{now: at} }

// Now returns what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance sets the clock forward, or back if d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// start is when every test begins.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A tenant is a workspace under test, with its stores.
type tenant struct {
	*testing.T
	Stores
	*petstore.Service
	clock     *Clock
	ctx       context.Context
	workspace int64
	name      string
}

// newTenant opens stores and makes a workspace. When the test ends the ledger
// must be in order.
func newTenant(t *testing.T, open Open) *tenant {
	t.Helper()
	s := newDamaged(t, open)
	t.Cleanup(func() { s.checkLedger() })
	return s
}

// newDamaged is newTenant for stores whose ledger need not be in order.
func newDamaged(t *testing.T, open Open) *tenant {
	t.Helper()
	c := NewClock(start)
	s := &tenant{T: t, Stores: open(t, c.Now), clock: c, ctx: t.Context()}
	s.Service = petstore.NewService(s.Stores)
	s.workspace, s.name = s.newWorkspace("tenant").ID, "tenant"
	return s
}

// beside returns another workspace of the same stores.
func (s *tenant) beside(name string) *tenant {
	other := *s
	other.workspace, other.name = s.newWorkspace(name).ID, name
	return &other
}

func (s *tenant) newWorkspace(name string) access.Workspace {
	s.Helper()
	w, err := s.CreateWorkspace(s.ctx, access.Workspace{Name: name, Plan: access.Free, Quota: access.FreeQuota}, "cli")
	must(s, err)
	return w
}

func (s *tenant) checkLedger() {
	s.Helper()
	problems, err := s.Check(context.WithoutCancel(s.ctx))
	if err != nil {
		s.Errorf("Check: %v", err)
	}
	for _, p := range problems {
		s.Errorf("Check: %s", p)
	}
}

// category makes a category and returns its id.
func (s *tenant) category(name string) int64 {
	s.Helper()
	c, err := s.CreateCategory(s.ctx, s.workspace, petstore.NewCategory{Name: name}, nil)
	must(s, err)
	return c.ID
}

// pet makes a pet with that stock in a category of its own, and returns its id.
func (s *tenant) pet(stock int64) int64 {
	s.Helper()
	id := s.petIn(s.category("pets"), "Rex", petstore.Available)
	s.stock(id, stock)
	return id
}

func (s *tenant) petIn(category int64, name string, status petstore.Status) int64 {
	s.Helper()
	p, err := s.CreatePet(s.ctx, s.workspace, petstore.NewPet{Name: name, CategoryID: category, Status: status}, nil)
	must(s, err)
	return p.ID
}

func (s *tenant) stock(pet, quantity int64) {
	s.Helper()
	if _, err := s.UpdateInventory(s.ctx, s.workspace, pet, quantity, petstore.Condition{}); err != nil {
		s.Fatal(err)
	}
}

// order places an order that must succeed, and returns its id.
func (s *tenant) order(pet, quantity int64) int64 {
	s.Helper()
	o, err := s.CreateOrder(s.ctx, s.workspace, petstore.NewOrder{PetID: pet, Quantity: quantity}, nil)
	must(s, err)
	return o.ID
}

// complete fulfils an order.
func (s *tenant) complete(order int64) error {
	_, err := s.UpdateOrder(s.ctx, s.workspace, order, petstore.OrderPatch{Complete: petstore.Some(true)}, petstore.Condition{})
	return err
}

func (s *tenant) cancel(order int64) error {
	return s.CancelOrder(s.ctx, s.workspace, order, petstore.Condition{})
}

func (s *tenant) mark(pet int64, status petstore.Status) error {
	_, err := s.UpdatePet(s.ctx, s.workspace, pet, petstore.PetPatch{Status: petstore.Some(status)}, petstore.Condition{})
	return err
}

// wantItem compares the stock of a pet.
func (s *tenant) wantItem(pet, quantity int64, status petstore.Status) {
	s.Helper()
	want := petstore.InventoryItem{PetID: pet, Quantity: quantity, Status: status}
	if got, err := s.InventoryItem(s.ctx, s.workspace, pet); got != want || err != nil {
		s.Errorf("InventoryItem(%d) = %+v, %v, want %+v", pet, got, err, want)
	}
}

// wantCode fails the test unless err has the code; "" is no error.
func wantCode(t *testing.T, what string, err error, want petstore.Code) {
	t.Helper()
	if got := petstore.CodeOf(err); got != want || (err == nil) != (want == "") {
		t.Errorf("%s = %v, want code %q", what, err, want)
	}
}

// parallel runs f n times at once and returns the errors, by its number.
func parallel(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errs
}

// codes counts errors by their code; "" counts successes.
func codes(errs []error) map[petstore.Code]int {
	count := make(map[petstore.Code]int)
	for _, err := range errs {
		code := petstore.CodeOf(err)
		if err != nil && code == "" {
			code = petstore.Code(fmt.Sprintf("not an Error: %v", err))
		}
		count[code]++
	}
	return count
}

// must ends the test if err is not nil.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
