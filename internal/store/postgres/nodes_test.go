package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
)

// TestBuyersOnManyNodes: 1,000 buyers on four nodes, 100 units, 100 orders.
func TestBuyersOnManyNodes(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	var nodes [4]*postgres.DB
	for i := range nodes {
		nodes[i] = node(t, url, postgres.Options{})
	}
	workspace, pet := newStocked(t, nodes[0], 100)
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		ids = map[int64]bool{}
	)
	for i := range 1000 {
		wg.Go(func() {
			made, err := petstore.NewService(nodes[i%4]).CreateOrder(t.Context(), workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, nil)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && !ids[made.ID]:
				ids[made.ID] = true
			case petstore.CodeOf(err) != petstore.CodePetNotAvailable:
				t.Errorf("CreateOrder = id %d, %v, want a new one or %s", made.ID, err, petstore.CodePetNotAvailable)
			}
		})
	}
	wg.Wait()
	if len(ids) != 100 {
		t.Errorf("%d orders, want 100", len(ids))
	}
	orders, err := nodes[1].Orders(t.Context(), workspace, petstore.OrderQuery{Page: petstore.Page{Limit: 2000}})
	if err != nil || len(orders) != 100 {
		t.Errorf("Orders = %d, %v, want 100", len(orders), err)
	}
	wantSound(t, nodes[2])
}

// TestManyNodesWriteEverything: nodes that lock and write the same few rows in
// all ways finish, and leave the ledger in order.
func TestManyNodesWriteEverything(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	a, b := node(t, url, postgres.Options{}), node(t, url, postgres.Options{})
	workspace, _ := newStocked(t, a, 50)
	ctx := t.Context()
	write := func(s *petstore.Service, n int) error {
		pet, order := int64(n%3+1), int64(n%40+1)
		switch n % 7 {
		case 0:
			_, err := s.CreatePet(ctx, workspace, petstore.NewPet{Name: "Rex", CategoryID: 1}, nil)
			return err
		case 1:
			_, err := s.UpdateInventory(ctx, workspace, pet, int64(n%20), petstore.Condition{})
			return err
		case 2:
			return s.CancelOrder(ctx, workspace, order, petstore.Condition{})
		case 3:
			_, err := s.UpdateOrder(ctx, workspace, order, petstore.OrderPatch{Complete: petstore.Some(true)}, petstore.Condition{})
			return err
		case 4:
			return s.DeleteCategory(ctx, workspace, 1, petstore.Condition{})
		}
		_, err := s.CreateOrder(ctx, workspace, petstore.NewOrder{PetID: pet, Quantity: 1}, &petstore.Idempotency{Operation: "POST /store/orders", Key: fmt.Sprint(n / 4)})
		return err
	}
	var wg sync.WaitGroup
	for caller := range 40 {
		s := petstore.NewService([]*postgres.DB{a, b}[caller%2])
		wg.Go(func() {
			for i := range 30 {
				if err := write(s, caller*31+i*17); err != nil && (petstore.CodeOf(err) == "" || petstore.CodeOf(err) == petstore.CodeServiceUnavailable) {
					t.Errorf("write = %v, want no failure but the rules'", err)
				}
			}
		})
	}
	wg.Wait()
	wantSound(t, a)
}

// TestOneKeyOnManyNodes: an idempotency key makes one row, whichever nodes the
// requests come to.
func TestOneKeyOnManyNodes(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	nodes := []*postgres.DB{node(t, url, postgres.Options{}), node(t, url, postgres.Options{})}
	workspace, _ := newStocked(t, nodes[0], 1)
	ids := make([]int64, 60)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			once := &petstore.Idempotency{Operation: "POST /categories", Key: fmt.Sprint(i % 6)}
			made, err := petstore.NewService(nodes[i/6%2]).CreateCategory(t.Context(), workspace, petstore.NewCategory{Name: "cats"}, once)
			if err != nil {
				t.Errorf("CreateCategory = %v", err)
			}
			ids[i] = made.ID
		})
	}
	wg.Wait()
	for i, id := range ids {
		if id != ids[i%6] {
			t.Errorf("ids = %v, want one for each of 6 keys", ids)
			break
		}
	}
}

// follow returns a channel that receives when the node is told of changes of access,
// several maybe once.
func follow(t *testing.T, db *postgres.DB) <-chan struct{} {
	t.Helper()
	news := make(chan struct{}, 1)
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() { stop(); running.Wait() })
	running.Go(func() {
		db.Follow(ctx, func() {
			select {
			case news <- struct{}{}:
			default:
			}
		})
	})
	return news
}

// TestChangesReachOtherNodes: a revocation is known at once to who listens.
func TestChangesReachOtherNodes(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	here, there := node(t, url, postgres.Options{}), node(t, url, postgres.Options{})
	workspace, _ := newStocked(t, here, 1)
	k := access.Key{ID: access.MintID(), WorkspaceID: workspace, Hash: access.HashOf("x")}
	if _, err := here.MakeKey(t.Context(), access.KeyRequest{Key: k, By: "cli"}); err != nil {
		t.Fatal(err)
	}
	news := follow(t, there)
	<-news // it listens
	before, err := there.AccessState(t.Context())
	must(t, err)
	must(t, (access.Keyring{Store: here, Now: time.Now, By: "cli"}).Revoke(t.Context(), k.ID, petstore.Condition{}))
	select {
	case <-news:
	case <-time.After(time.Second):
		t.Error("the other node was not told within a second")
	}
	if after, err := there.AccessState(t.Context()); err != nil || after == before {
		t.Errorf("AccessState = %d, %v, as before the revocation", after, err)
	}
}

// TestFeedsReachOtherNodes: who waits for events on one node is woken by a write on
// another, and a reset.
func TestFeedsReachOtherNodes(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	here, there := node(t, url, postgres.Options{}), node(t, url, postgres.Options{})
	workspace, _ := newStocked(t, here, 1)
	<-follow(t, there) // it listens
	for name, write := range map[string]func() error{
		"a change": func() error {
			_, err := petstore.NewService(here).CreateCategory(t.Context(), workspace, petstore.NewCategory{Name: "cats"}, nil)
			return err
		},
		"a reset": func() error { return here.ResetWorkspace(t.Context(), workspace, "cli") },
	} {
		for awake := false; !awake; { // what was told of before may wake it too
			before, err := there.Events(t.Context(), workspace, petstore.EventQuery{Oldest: true, Limit: 100})
			must(t, err)
			woken := there.Written(workspace)
			must(t, write())
			select {
			case <-woken:
			case <-time.After(5 * time.Second):
				t.Fatalf("%s: nobody was woken", name)
			}
			after, err := there.Events(t.Context(), workspace, petstore.EventQuery{Oldest: true, Limit: 100})
			must(t, err)
			awake = after.Next > before.Next
		}
	}
}

func TestNodesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := emptyDatabase(t)
	var (
		wg      sync.WaitGroup
		applied [6][]store.Migration
	)
	for i := range applied {
		wg.Go(func() {
			var err error
			if applied[i], err = postgres.MigrateUp(t.Context(), url, nil); err != nil {
				t.Errorf("MigrateUp: %v", err)
			}
		})
	}
	wg.Wait()
	known, err := postgres.MigrateStatus(t.Context(), url)
	must(t, err)
	count := 0
	for _, a := range applied {
		count += len(a)
	}
	if count != len(known) || count == 0 {
		t.Errorf("%d nodes applied %d migrations, want %d in all", len(applied), count, len(known))
	}
	for _, m := range known {
		if !m.Applied || time.Since(m.At) > time.Hour {
			t.Errorf("migration %+v is not applied", m)
		}
	}
}

func emptyDatabase(t *testing.T) string {
	t.Helper()
	return shared.Server(t).Database(t, "")
}

func TestNotMigrated(t *testing.T) {
	t.Parallel()
	url := emptyDatabase(t)
	_, err := postgres.Open(t.Context(), url, postgres.Options{NoMigrate: true})
	if err == nil || !strings.Contains(err.Error(), "run petstore migrate up") {
		t.Errorf("Open = %v, want advice to migrate", err)
	}
	known, err := postgres.MigrateStatus(t.Context(), url)
	if err != nil || len(known) == 0 || known[0].Applied {
		t.Errorf("MigrateStatus = %+v, %v, want nothing applied", known, err)
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, url, want string }{
		{"no server", "postgres://me:secret@127.0.0.1:1/petstore", "database petstore on 127.0.0.1:1: "},
		{"not a URL", "postgres://me:secret@127.0.0.1:port/petstore", "the database's URL: "},
	} {
		_, err := postgres.Open(t.Context(), test.url, postgres.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: Open = %v, want an error that begins with %q and keeps the password", test.name, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := postgres.Open(ctx, newDatabase(t), postgres.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with a cancelled context = %v, want %v", err, context.Canceled)
	}
}

// TestImpossibleText: what PostgreSQL cannot hold is not found, and no error.
func TestImpossibleText(t *testing.T) {
	t.Parallel()
	db := node(t, newDatabase(t), postgres.Options{})
	workspace, _ := newStocked(t, db, 5)
	if got, err := db.Pets(t.Context(), workspace, petstore.PetQuery{Page: petstore.Page{Limit: 5}, Name: "a\x00"}); err != nil || len(got) != 0 {
		t.Errorf("Pets named with a NUL = %v, %v, want none", got, err)
	}
	if _, err := db.Workspace(t.Context(), "\xff"); petstore.CodeOf(err) != access.CodeWorkspaceNotFound {
		t.Errorf("Workspace = %v, want %s", err, access.CodeWorkspaceNotFound)
	}
	if _, err := db.Key(t.Context(), "a\x00"); petstore.CodeOf(err) != access.CodeKeyNotFound {
		t.Errorf("Key = %v, want %s", err, access.CodeKeyNotFound)
	}
}
