// Package storetest is the conformance suite of the stores: whatever engine
// keeps the pets, the keys and the limiter's rows passes it. It knows the
// interfaces' promises alone, no engine.
package storetest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/usage"
	"example.com/petstore/internal/webhook"
)

// Stores is what an engine implements. Check returns what is wrong with what it
// keeps, the ledger included, in words.
type Stores interface {
	petstore.Store
	petstore.Bulk
	petstore.Feed
	access.Store
	ratelimit.Store
	usage.Store
	webhook.Store
	Check(ctx context.Context) ([]string, error)
	CheckFeed(ctx context.Context, shop int64) ([]string, error)
}

// An Open returns new, empty stores whose clock is now. They are closed when the test
// ends.
type Open func(t *testing.T, now func() time.Time) Stores

// Run tests every promise of an engine, or those alone that are named: a group of tests, or
// one of them, such as "bulk/counters". Stores of nodes are for what many callers do at once:
// where several servers may share a database, their changes go to two of them in turn.
func Run(t *testing.T, open, nodes Open, only ...string) {
	for name, tests := range map[string]map[string]func(*tenant){
		"rows": rowTests, "receipts": receiptTests, "lists": listTests, "concurrency": concurrencyTests, "bulk": bulkTests, "access": accessTests,
		"removals": removalTests, "sandboxes": sandboxTests, "events": eventTests, "webhooks": webhookTests, "limits": limitTests, "usage": usageTests,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := open
			if name == "concurrency" {
				open = nodes
			}
			for test, f := range tests {
				if len(only) > 0 && !slices.Contains(only, name) && !slices.Contains(only, name+"/"+test) {
					continue
				}
				t.Run(test, func(t *testing.T) {
					t.Parallel()
					f(newTenant(t, open))
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
	open      Open
	clock     *Clock
	ctx       context.Context
	workspace int64 // the id of its shop, which is that of the workspace until a reset
	name      string
}

// newTenant opens stores and makes a workspace. When the test ends the ledger
// must be in order.
func newTenant(t *testing.T, open Open) *tenant {
	t.Helper()
	s := newDamaged(t, open)
	t.Cleanup(s.checkLedger)
	return s
}

// newDamaged is newTenant for stores whose ledger need not be in order.
func newDamaged(t *testing.T, open Open) *tenant {
	t.Helper()
	c := NewClock(start)
	s := &tenant{T: t, Stores: open(t, c.Now), open: open, clock: c, ctx: t.Context(), name: "tenant"}
	s.Service = petstore.NewService(s.Stores)
	s.workspace = s.newWorkspace(s.name).ID
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
	w, err := s.tryWorkspace(name)
	must(s, err)
	return w
}

func (s *tenant) tryWorkspace(name string) (access.Workspace, error) {
	return s.CreateWorkspace(s.ctx, access.Workspace{Name: name, Plan: access.Free, Quota: access.FreeQuota}, "cli")
}

// empty resets the workspace. The tenant goes on with its new shop.
func (s *tenant) empty() {
	s.Helper()
	w, err := s.Workspace(s.ctx, s.name)
	must(s, err)
	must(s, s.ResetWorkspace(s.ctx, w.ID, "cli"))
	s.follow()
}

// follow has the tenant use the shop that the workspace has now.
func (s *tenant) follow() {
	s.Helper()
	w, err := s.Workspace(s.ctx, s.name)
	must(s, err)
	s.workspace = w.Shop
}

func (s *tenant) checkLedger() {
	s.Helper()
	ctx := context.WithoutCancel(s.ctx)
	must(s, s.Resume(ctx))
	problems, err := s.Check(ctx)
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
	s.must(s.UpdateInventory(s.ctx, s.workspace, pet, quantity, petstore.Condition{}))
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

func (s *tenant) deletePet(pet int64) error {
	return s.DeletePet(s.ctx, s.workspace, pet, petstore.Condition{})
}

// wantItem compares the stock of a pet.
func (s *tenant) wantItem(pet, quantity int64, status petstore.Status) {
	s.Helper()
	same(s, "InventoryItem", petstore.InventoryItem{PetID: pet, Quantity: quantity, Status: status})(s.InventoryItem(s.ctx, s.workspace, pet))
}

// wantCode fails the test unless err has the code; "" is no error.
func (s *tenant) wantCode(what string, err error, want petstore.Code) {
	s.Helper()
	if got := petstore.CodeOf(err); got != want || (err == nil) != (want == "") {
		s.Errorf("%s = %v, want code %q", what, err, want)
	}
}

// errOf returns the error of a call.
func errOf[T any](_ T, err error) error { return err }

// same returns what fails the test unless a call has this result, and no error. An empty
// list is one, whatever it is made of.
func same[T any](tb testing.TB, what string, want T) func(T, error) {
	tb.Helper()
	empty := func(v T) bool {
		list := reflect.ValueOf(v)
		return list.Kind() == reflect.Slice && list.Len() == 0
	}
	return func(got T, err error) {
		tb.Helper()
		if err != nil || !reflect.DeepEqual(got, want) && !(empty(got) && empty(want)) {
			tb.Errorf("%s = %+v, %v, want %+v", what, got, err, want)
		}
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

// together is parallel for what must not fail.
func (s *tenant) together(n int, f func(i int) error) {
	s.Helper()
	for _, err := range parallel(n, f) {
		must(s, err)
	}
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

// must ends the test if the call before failed.
func (s *tenant) must(_ any, err error) {
	s.Helper()
	must(s, err)
}

// must ends the test if err is not nil.
var must = processtest.Must
