package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
)

// follow returns a channel that receives when the node is told of changes of access,
// several maybe once.
func follow(t *testing.T, db *DB) <-chan struct{} {
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
	here, there := node(t, url, Options{}), node(t, url, Options{})
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
	here, there := node(t, url, Options{}), node(t, url, Options{})
	workspace, _ := newStocked(t, here, 1)
	<-follow(t, there) // it listens
	for name, write := range map[string]func() error{
		"a change": func() error {
			_, err := petstore.NewService(here).CreateCategory(t.Context(), shopOf(t, here, workspace), petstore.NewCategory{Name: "cats"}, nil)
			return err
		},
		"a reset": func() error { return here.ResetWorkspace(t.Context(), workspace, "cli") },
	} {
		for awake := false; !awake; { // what was told of before may wake it too
			shop := shopOf(t, there, workspace)
			before, err := there.Events(t.Context(), shop, petstore.EventQuery{Oldest: true, Limit: 100})
			must(t, err)
			woken := there.Written(shop)
			must(t, write())
			select {
			case <-woken:
			case <-time.After(5 * time.Second):
				t.Fatalf("%s: nobody was woken", name)
			}
			after, err := there.Events(t.Context(), shopOf(t, there, workspace), petstore.EventQuery{Oldest: true, Limit: 100})
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
			if applied[i], err = MigrateUp(t.Context(), url, nil); err != nil {
				t.Errorf("MigrateUp: %v", err)
			}
		})
	}
	wg.Wait()
	known, err := MigrateStatus(t.Context(), url)
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

func TestNotMigrated(t *testing.T) {
	t.Parallel()
	url := emptyDatabase(t)
	_, err := Open(t.Context(), url, Options{NoMigrate: true})
	if err == nil || !strings.Contains(err.Error(), "run petstore migrate up") {
		t.Errorf("Open = %v, want advice to migrate", err)
	}
	known, err := MigrateStatus(t.Context(), url)
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
		_, err := Open(t.Context(), test.url, Options{})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: Open = %v, want an error that begins with %q and keeps the password", test.name, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, newDatabase(t), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with a cancelled context = %v, want %v", err, context.Canceled)
	}
}
