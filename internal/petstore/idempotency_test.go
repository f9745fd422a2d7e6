package petstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"testing"
	"time"
)

func once(key, body string) *Idempotency {
	return &Idempotency{Operation: "POST /pets", Key: key, Fingerprint: sha256.Sum256([]byte(body))}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	i := once("k", "a")
	kept := At(time.Unix(1_000_000, 0))
	for _, test := range []struct {
		what  string
		body  string
		after time.Duration
		want  bool
		code  Code
	}{
		{"at once", "a", 0, true, ""},
		{"another body", "b", 0, false, CodeIdempotencyKeyReused},
		{"a clock that went back", "a", -time.Hour, true, ""},
		{"at the end", "a", KeepReceipts - time.Millisecond, true, ""},
		{"another body at the end", "b", KeepReceipts - time.Millisecond, false, CodeIdempotencyKeyReused},
		{"over", "a", KeepReceipts, false, ""},
		{"another body when over", "b", KeepReceipts, false, ""},
	} {
		now := At(time.Unix(1_000_000, 0).Add(test.after))
		got, err := i.Replay(sha256.Sum256([]byte(test.body)), kept, now)
		wantCode(t, test.what, err, test.code)
		if got != test.want {
			t.Errorf("%s: Replay = %t, want %t", test.what, got, test.want)
		}
	}
}

func TestCreateOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx := context.Background()
	create := func(key, body string) (Created, error) {
		return s.CreatePet(ctx, home, NewPet{Name: body, CategoryID: s.category}, once(key, body))
	}
	first, err := create("k", "Laika")
	if err != nil || first.Replayed {
		t.Fatalf("the first CreatePet = %+v, %v, want a new pet", first, err)
	}
	if _, err := s.UpdatePet(ctx, home, first.ID, PetPatch{Name: Some("Belka")}, Condition{}); err != nil {
		t.Fatal(err)
	}
	again, err := create("k", "Laika")
	if err != nil || !again.Replayed || again.ID != first.ID || string(again.Body) != string(first.Body) {
		t.Errorf("CreatePet again = %+v, %v, want the first answer %s", again, err, first.Body)
	}
	_, err = create("k", "Strelka")
	wantCode(t, "CreatePet with another body", err, CodeIdempotencyKeyReused)

	other, err := create("l", "Laika")
	if err != nil || other.Replayed || other.ID == first.ID {
		t.Errorf("CreatePet with another key = %+v, %v, want a new pet", other, err)
	}
	away, err := s.CreateCategory(ctx, home+1, NewCategory{Name: "Laika"}, once("k", "Laika"))
	if err != nil || away.Replayed {
		t.Errorf("the same key in another workspace = %+v, %v, want a new category", away, err)
	}
	s.clock.advance(KeepReceipts)
	late, err := create("k", "Strelka")
	if err != nil || late.Replayed || late.ID == first.ID {
		t.Errorf("CreatePet a day later = %+v, %v, want a new pet", late, err)
	}
	if again, err := create("k", "Strelka"); err != nil || !again.Replayed || again.ID != late.ID {
		t.Errorf("CreatePet again a day later = %+v, %v, want pet %d", again, err, late.ID)
	}
}

// Every creation keeps its receipt, and a failure keeps none.
func TestOnlySuccessIsKept(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx := context.Background()
	pet := s.mustStock(3)
	order := func() (Created, error) {
		return s.CreateOrder(ctx, home, NewOrder{PetID: pet, Quantity: 5}, once("k", "five"))
	}
	_, err := order()
	wantCode(t, "CreateOrder", err, CodeInsufficientStock)
	s.mustSet(pet, 6)
	made, err := order()
	if err != nil || made.Replayed {
		t.Fatalf("CreateOrder after a failure = %+v, %v, want a new order", made, err)
	}
	if again, err := order(); err != nil || !again.Replayed || again.ID != made.ID {
		t.Errorf("CreateOrder again = %+v, %v, want order %d", again, err, made.ID)
	}
	s.wantPet("two equal orders", pet, Available, 1, 1)
	s.clock.advance(KeepReceipts + time.Second)
	if n, err := s.Forget(ctx); err != nil || n != 1 {
		t.Errorf("Forget = %d, %v, want 1 receipt", n, err)
	}
	category, err := s.CreateCategory(ctx, home, NewCategory{Name: "Cats"}, once("c", "Cats"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.CreateCategory(ctx, home, NewCategory{Name: "Cats"}, once("c", "Cats")); err != nil || again.ID != category.ID || !again.Replayed {
		t.Errorf("CreateCategory again = %+v, %v, want category %d", again, err, category.ID)
	}
}

// gateStore holds every change until the test lets it go.
type gateStore struct {
	Store
	entered, leave chan struct{}
}

func (g *gateStore) Do(ctx context.Context, c *Change) (*Receipt, error) {
	g.entered <- struct{}{}
	<-g.leave
	return g.Store.Do(ctx, c)
}

func TestCreateInProgress(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	gate := &gateStore{Store: s.store, entered: make(chan struct{}), leave: make(chan struct{})}
	service := NewService(gate)
	create := func(workspace int64, i *Idempotency) (Created, error) {
		return service.CreateCategory(context.Background(), workspace, NewCategory{Name: "Cats"}, i)
	}
	var first Created
	var wait sync.WaitGroup
	wait.Go(func() {
		var err error
		if first, err = create(home, once("k", "Cats")); err != nil {
			t.Errorf("the first CreateCategory: %v", err)
		}
	})
	<-gate.entered

	_, err := create(home, once("k", "Cats"))
	wantCode(t, "the same request", err, CodeIdempotencyInProgress)
	if e, ok := errors.AsType[*Error](err); !ok || e.RetryAfter <= 0 {
		t.Errorf("the same request: %+v, want a RetryAfter", err)
	}
	_, err = create(home, once("k", "Dogs"))
	wantCode(t, "the same key with another body", err, CodeIdempotencyKeyReused)

	operation := once("k", "Cats")
	operation.Operation = "POST /store/orders"
	for what, do := range map[string]func() (Created, error){
		"another key":       func() (Created, error) { return create(home, once("l", "Cats")) },
		"another workspace": func() (Created, error) { return create(home+1, once("k", "Cats")) },
		"another operation": func() (Created, error) { return create(home, operation) },
		"no key":            func() (Created, error) { return create(home, nil) },
	} {
		wait.Go(func() {
			if made, err := do(); err != nil || made.Replayed {
				t.Errorf("%s = %+v, %v, want a new category", what, made, err)
			}
		})
		<-gate.entered
	}
	close(gate.leave)
	wait.Wait()

	wait.Go(func() { <-gate.entered })
	again, err := create(home, once("k", "Cats"))
	wait.Wait()
	if err != nil || !again.Replayed || again.ID != first.ID {
		t.Errorf("CreateCategory afterwards = %+v, %v, want category %d again", again, err, first.ID)
	}
}

// Any number of equal requests at once make one row.
func TestCreateOnceAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	pet := s.mustStock(100)
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			_, err := s.CreateOrder(context.Background(), home, NewOrder{PetID: pet, Quantity: 1}, once("k", "one"))
			if c := CodeOf(err); err != nil && c != CodeIdempotencyInProgress {
				t.Errorf("CreateOrder: %v, want none or idempotency_in_progress", err)
			}
		})
	}
	wait.Wait()
	s.wantPet("50 equal requests", pet, Available, 99, 1)
}

// A store may ask for the decision more than once; the last one counts.
func TestDecisionAskedAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	service := NewService(&retryStore{Store: s.store})
	pet := s.mustStock(5)
	made, err := service.CreateOrder(context.Background(), home, NewOrder{PetID: pet, Quantity: 2}, once("k", "two"))
	if err != nil || made.ID == 0 {
		t.Fatalf("CreateOrder = %+v, %v, want an order", made, err)
	}
	o := s.order(made.ID)
	if string(made.Body) != string(o.AppendJSON(nil)) {
		t.Errorf("CreateOrder answers %s, want %s", made.Body, o.AppendJSON(nil))
	}
	s.wantPet("CreateOrder", pet, Available, 3, 1)
	got, err := service.UpdatePet(context.Background(), home, pet, PetPatch{Status: Some(Pending)}, Condition{})
	if err != nil || got.Status != Pending {
		t.Errorf("UpdatePet = %+v, %v, want status pending", got, err)
	}
}

// retryStore asks for every decision on rows that are then given up, as a
// store does whose first transaction was rolled back.
type retryStore struct{ Store }

func (r *retryStore) Do(ctx context.Context, c *Change) (*Receipt, error) {
	decide := c.Decide
	c.Decide = func(f Facts) (Effects, error) {
		if f.Pet != nil {
			copied := *f.Pet
			again := f
			again.Pet = &copied
			if e, err := decide(again); err == nil && e.SaveOrder != nil {
				e.SaveOrder.ID = 999_999
			}
		}
		return decide(f)
	}
	return r.Store.Do(ctx, c)
}

func TestWithdrawnChangeLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	pet := s.mustStock(5)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.CreateOrder(ctx, home, NewOrder{PetID: pet, Quantity: 2}, once("k", "two"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("CreateOrder with a context that ended: %v, want %v", err, context.Canceled)
	}
	s.wantPet("CreateOrder", pet, Available, 5, 0)
	if made, err := s.CreateOrder(context.Background(), home, NewOrder{PetID: pet, Quantity: 2}, once("k", "two")); err != nil || made.Replayed {
		t.Errorf("CreateOrder afterwards = %+v, %v, want a new order", made, err)
	}
}
