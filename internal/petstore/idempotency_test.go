package petstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
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

// gateStore holds every change until the test lets it go.
type gateStore struct {
	Store
	entered, leave chan struct{}
}

func (g *gateStore) Do(_ context.Context, c *Change) (*Receipt, error) {
	g.entered <- struct{}{}
	<-g.leave
	_, err := c.Ask(Facts{})
	return nil, err
}

// TestCreateInProgress: of two requests with the same key one is carried out at a time. It
// runs in a bubble, where one that waits for ever is noticed.
func TestCreateInProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testCreateInProgress)
}

func testCreateInProgress(t *testing.T) {
	gate := &gateStore{entered: make(chan struct{}), leave: make(chan struct{})}
	service := NewService(gate)
	create := func(workspace int64, i *Idempotency) (Created, error) {
		return service.CreateCategory(context.Background(), workspace, NewCategory{Name: "Cats"}, i)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := create(home, once("k", "Cats")); err != nil {
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
	if _, err := create(home, once("k", "Cats")); err != nil {
		t.Errorf("CreateCategory afterwards = %v, want that the store decides", err)
	}
	wait.Wait()
}
