package client_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/api"
	"example.com/petstore/client"
)

// stocked returns a client for a shop with one category and one pet.
func stocked(t *testing.T, opts ...client.Option) (*client.Client, client.Category, client.Pet) {
	t.Helper()
	c := newShop(t, opts...)
	dogs, err := c.CreateCategory(t.Context(), client.NewCategory{Name: "Dogs", Description: "Loyal"})
	must(t, err)
	rex, err := c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: dogs.ID})
	must(t, err)
	return c, dogs, rex
}

func TestEveryOperationHasAMethod(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(api.JSON())
	must(t, err)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := strings.ToUpper(op.OperationID[:1]) + op.OperationID[1:]
			if _, ok := reflect.TypeFor[*client.Client]().MethodByName(name); !ok {
				t.Errorf("%s %s has no method %s", method, path, name)
			}
		}
	}
}

func TestReadAndChange(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, dogs, rex := stocked(t)
	var resp client.Response
	pet, err := c.PetByID(ctx, rex.ID, client.Into(&resp))
	if err != nil || pet != rex || resp.ETag == "" || strings.HasPrefix(resp.ETag, "W/") {
		t.Fatalf("PetByID = %+v, %v with ETag %s, want %+v and a strong ETag", pet, err, resp.ETag, rex)
	}
	if _, err := c.PetByID(ctx, rex.ID, client.IfNoneMatch(resp.ETag)); !errors.Is(err, client.ErrNotModified) {
		t.Errorf("PetByID with its own ETag = %v, want ErrNotModified", err)
	}
	renamed, err := c.UpdatePet(ctx, rex.ID, client.PetPatch{Name: "Max"}, client.IfMatch(resp.ETag))
	if want := (client.Pet{ID: rex.ID, Name: "Max", CategoryID: dogs.ID, Status: rex.Status}); err != nil || renamed != want {
		t.Errorf("UpdatePet = %+v, %v, want %+v", renamed, err, want)
	}
	if err := c.DeletePet(ctx, rex.ID, client.IfMatch(resp.ETag)); client.CodeOf(err) != client.CodePreconditionFailed {
		t.Errorf("DeletePet with a stale ETag = %v, want %s", err, client.CodePreconditionFailed)
	}
	if err := c.DeletePet(ctx, rex.ID); err != nil {
		t.Errorf("DeletePet = %v", err)
	}
	if _, err := c.PetByID(ctx, rex.ID); client.CodeOf(err) != client.CodePetNotFound {
		t.Errorf("PetByID of a deleted pet = %v, want %s", err, client.CodePetNotFound)
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, _, rex := stocked(t)
	if _, err := c.UpdateInventory(ctx, rex.ID, client.InventoryUpdate{Quantity: 3}); err != nil {
		t.Fatal(err)
	}
	ship := time.Date(2027, time.March, 1, 9, 30, 0, 0, time.UTC)
	order, err := c.CreateOrder(ctx, client.NewOrder{PetID: rex.ID, Quantity: 2, ShipDate: ship})
	if err != nil || order.Quantity != 2 || !order.ShipDate.Equal(ship) || order.Complete {
		t.Fatalf("CreateOrder = %+v, %v, want two open units for %v", order, err, ship)
	}
	order, err = c.UpdateOrder(ctx, order.ID, client.OrderPatch{ShipDate: client.Null[time.Time]()})
	if err != nil || !order.ShipDate.IsZero() {
		t.Errorf("UpdateOrder without the date = %+v, %v, want no date", order, err)
	}
	order, err = c.UpdateOrder(ctx, order.ID, client.OrderPatch{Complete: client.Set(true)})
	if err != nil || !order.Complete || order.ShipDate.IsZero() {
		t.Errorf("UpdateOrder to complete = %+v, %v, want it complete with a date", order, err)
	}
	if err := c.CancelOrder(ctx, order.ID); client.CodeOf(err) != client.CodeOrderCompleted {
		t.Errorf("CancelOrder of a completed order = %v, want %s", err, client.CodeOrderCompleted)
	}
	open, err := c.ListOrders(ctx, client.ListOrdersParams{PetID: rex.ID, Complete: new(false)})
	if err != nil || len(open.Items) != 0 {
		t.Errorf("ListOrders of open ones = %+v, %v, want none", open, err)
	}
	item, err := c.GetInventoryItem(ctx, rex.ID)
	if want := (client.InventoryItem{PetID: rex.ID, Quantity: 1, Status: client.PetStatusAvailable}); err != nil || item != want {
		t.Errorf("GetInventoryItem = %+v, %v, want %+v", item, err, want)
	}
	for low, err := range c.AllInventory(ctx, client.ListInventoryParams{MaxQuantity: new(0)}) {
		if err != nil || low.Quantity != 0 {
			t.Errorf("AllInventory of what is out of stock = %+v, %v, want a quantity of 0", low, err)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, dogs, rex := stocked(t)
	want := []int64{rex.ID}
	for i := range 24 {
		pet, err := c.CreatePet(ctx, client.NewPet{Name: fmt.Sprint("Pet ", i), CategoryID: dogs.ID})
		must(t, err)
		want = append(want, pet.ID)
	}
	for _, limit := range []int{0, 1, 7, 25, 100} {
		var got []int64
		for pet, err := range c.AllPets(ctx, client.ListPetsParams{Limit: limit, CategoryID: dogs.ID}) {
			must(t, err)
			got = append(got, pet.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("AllPets by %d = %v, want %v", limit, got, want)
		}
	}
	page, err := c.ListPets(ctx, client.ListPetsParams{Limit: 10, Status: []client.PetStatus{client.PetStatusAvailable, client.PetStatusSold}})
	if err != nil || len(page.Items) != 10 || page.Next == "" {
		t.Errorf("ListPets by 10 = %d items, next %q, %v, want 10 and more", len(page.Items), page.Next, err)
	}
	for _, err := range c.AllPets(ctx, client.ListPetsParams{Cursor: "of nobody"}) {
		if client.CodeOf(err) != client.CodeInvalidCursor {
			t.Errorf("AllPets from an unknown cursor = %v, want %s", err, client.CodeInvalidCursor)
		}
	}
}

func TestErrorNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	c := newShop(t)
	_, err := c.CreatePet(t.Context(), client.NewPet{Name: "", CategoryID: 4711}, client.RequestID("my-request"))
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		t.Fatalf("CreatePet = %v, want an *Error", err)
	}
	if e.Code != client.CodeValidationFailed || e.Status != http.StatusBadRequest || e.RequestID != "my-request" || e.Operation != "createPet" {
		t.Errorf("CreatePet = %+v, want %s of createPet with the request id", e, client.CodeValidationFailed)
	}
	if len(e.Errors) == 0 || e.Errors[0].Pointer != "/name" || e.Errors[0].Code != client.FaultCodeTooShort {
		t.Errorf("CreatePet = %+v, want /name %s", e.Errors, client.FaultCodeTooShort)
	}
	for _, part := range []string{"POST /pets", "400 validation_failed", "/name", "my-request"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %q, want %q in it", err, part)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newShop(t)
	var first, second client.Response
	key := rand.Text()
	a, err := c.CreateCategory(ctx, client.NewCategory{Name: "Cats"}, client.IdempotencyKey(key), client.Into(&first))
	must(t, err)
	b, err := c.CreateCategory(ctx, client.NewCategory{Name: "Cats"}, client.IdempotencyKey(key), client.Into(&second))
	if err != nil || a != b || first.Replayed || !second.Replayed {
		t.Errorf("the same key = %+v (replayed %v), %v, want %+v again", b, second.Replayed, err, a)
	}
	if _, err := c.CreateCategory(ctx, client.NewCategory{Name: "Dogs"}, client.IdempotencyKey(key)); client.CodeOf(err) != client.CodeIdempotencyKeyReused {
		t.Errorf("the same key for another body = %v, want %s", err, client.CodeIdempotencyKeyReused)
	}
	if other, err := c.CreateCategory(ctx, client.NewCategory{Name: "Cats"}); err != nil || other.ID == a.ID {
		t.Errorf("without a key = %+v, %v, want a second category", other, err)
	}
}

func TestDeprecationIsReported(t *testing.T) {
	t.Parallel()
	var got []client.Deprecation
	c, _, rex := stocked(t, client.OnDeprecation(func(d client.Deprecation) { got = append(got, d) }))
	pet, err := c.GetPet(t.Context(), rex.ID) //nolint:staticcheck // its end is what is tested
	if err != nil || pet != rex {
		t.Fatalf("GetPet = %+v, %v, want %+v", pet, err, rex)
	}
	if len(got) != 1 {
		t.Fatalf("%d deprecations were reported, want 1", len(got))
	}
	d := got[0]
	if d.Operation != "getPet" || d.Sunset.Year() != 2030 || !d.Since.Before(d.Sunset) ||
		!strings.HasSuffix(d.Successor, fmt.Sprint("/pets?id=", rex.ID)) || !strings.Contains(d.Docs, "/docs") {
		t.Errorf("the deprecation is %+v, want that of getPet with its sunset and successor", d)
	}
}

func TestRateLimitIsReadable(t *testing.T) {
	t.Parallel()
	c := newShop(t)
	if _, known := c.RateLimit(); known {
		t.Error("RateLimit before the first request is known, want unknown")
	}
	var resp client.Response
	if _, err := c.ListPets(t.Context(), client.ListPetsParams{}, client.Into(&resp)); err != nil {
		t.Fatal(err)
	}
	got, known := c.RateLimit()
	if !known || got != resp.RateLimit || got.Limit != 100000 || got.Remaining >= got.Limit || time.Until(got.Reset) <= 0 {
		t.Errorf("RateLimit = %+v, %v, want that of the answer, some of it used", got, known)
	}
	account, err := c.GetAccount(t.Context())
	if err != nil || account.Plan != client.PlanEnterprise || account.Limits.Minute.Used != got.Limit-got.Remaining {
		t.Errorf("GetAccount = %+v, %v, want the enterprise plan with what the answer said", account, err)
	}
}

// TestFollowEvents: each event comes once and in order, those that were there and those that come later. An earlier test
// may have used the shop: its events come first.
func TestFollowEvents(t *testing.T) {
	t.Parallel()
	c, dogs, rex := stocked(t)
	stockedAt, err := c.LastEvent(t.Context())
	must(t, err)
	before := stockedAt - 3
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	want := []client.EventType{client.EventTypeCategoryCreated, client.EventTypePetCreated, client.EventTypeInventoryCreated, client.EventTypePetUpdated}
	var got []client.EventType
	var update sync.WaitGroup
	defer update.Wait() // its event may be here before its answer
	for e, err := range c.FollowEvents(ctx, client.ListEventsParams{Limit: 2}) {
		if len(got) == len(want) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("FollowEvents ends with %+v, %v, want %v", e, err, context.Canceled)
			}
			break
		}
		if err == nil && e.ID <= before {
			continue
		}
		if err != nil || e.ID != before+int64(len(got)+1) {
			t.Fatalf("event %d is %+v, %v", len(got)+1, e, err)
		}
		switch got = append(got, e.Type); len(got) {
		case 3:
			update.Go(func() {
				if _, err := c.UpdatePet(t.Context(), rex.ID, client.PetPatch{Name: "Tom"}); err != nil {
					t.Error(err)
				}
			})
		case 4:
			var pet client.Pet
			if err := json.Unmarshal(e.Data, &pet); err != nil || pet.Name != "Tom" || pet.CategoryID != dogs.ID || string(e.Previous) != `{"name":"Rex"}` {
				t.Errorf("the change is %s of %s, %v", e.Data, e.Previous, err)
			}
			cancel()
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("events = %v, want %v", got, want)
	}
	last, err := c.LastEvent(t.Context())
	if err != nil || last != before+4 {
		t.Errorf("LastEvent = %d, %v, want %d", last, err, before+4)
	}
	beyond := last + 1
	for e, err := range c.FollowEvents(t.Context(), client.ListEventsParams{After: &beyond}) {
		if client.CodeOf(err) != client.CodeEventsExpired {
			t.Errorf("FollowEvents from beyond the end = %+v, %v, want %s", e, err, client.CodeEventsExpired)
		}
	}
	if e, err := c.GetEvent(t.Context(), before+2); err != nil || e.Type != client.EventTypePetCreated {
		t.Errorf("GetEvent = %+v, %v, want the second", e, err)
	}
}
