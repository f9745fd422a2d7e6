package postgres

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

// A contention is two nodes that do all at once what locks workspaces.
type contention struct {
	*testing.T
	nodes      [2]*DB
	workspaces []int64
}

// units returns those of a small import.
func units() []petstore.Unit { return []petstore.Unit{{Category: &petstore.Category{Name: "cats"}}} }

// closing returns nil for the errors of a shop that is being reset or has ended.
func closing(err error) error {
	switch petstore.CodeOf(err) {
	case petstore.CodeServiceUnavailable, access.CodeWorkspaceNotFound, petstore.CodeEventsExpired:
		return nil
	}
	return err
}

// category makes a category in a shop.
func (c *contention) category(db *DB, shop int64) error {
	_, err := petstore.NewService(db).CreateCategory(c.Context(), shop, petstore.NewCategory{Name: "birds"}, nil)
	return closing(err)
}

// sandboxes makes some that end at once, and writes to them while all that have expired are ended.
func (c *contention) sandboxes(db *DB) error {
	var writers sync.WaitGroup
	defer writers.Wait()
	var last int64
	for range 4 {
		w, err := db.CreateSandbox(c.Context(), access.NewSandbox{Rows: units(), Workspace: access.Workspace{
			Name: "sandbox-" + rand.Text(), Plan: access.Free, Quota: access.FreeQuota, CreatedAt: time.Now(), Sandbox: &access.Sandbox{ExpiresAt: time.Now()},
		}})
		if err != nil {
			return err
		}
		last = w.ID
		for n := range 8 {
			writers.Go(func() {
				for range 5 {
					if err := c.category(c.nodes[n%2], w.Shop); err != nil {
						c.Error(err)
					}
				}
			})
		}
	}
	_, again := db.ResetSandbox(c.Context(), last, units())
	return errors.Join(closing(again), db.EndSandboxes(c.Context()))
}

// rare does one of the things that lock a workspace for something else than a change.
func (c *contention) rare(db *DB, n int) error {
	workspace := c.workspaces[n%len(c.workspaces)]
	switch n % 5 {
	case 0:
		return errors.Join(db.ResetWorkspace(c.Context(), workspace, "cli"), db.Resume(c.Context()))
	case 1:
		return c.sandboxes(db)
	case 2:
		_, err := db.ForgetEvents(c.Context(), petstore.At(time.Now()))
		return err
	case 3:
		w, err := db.CreateWorkspace(c.Context(), access.Workspace{Name: rand.Text(), Plan: access.Free, Quota: access.FreeQuota}, "cli")
		return errors.Join(err, c.category(db, w.ID), db.DeleteWorkspace(c.Context(), w.ID, "cli"))
	}
	_, err := db.Load(c.Context(), shopOf(c, db, workspace), &petstore.Batch{Units: units(), File: fmt.Sprint(n), Through: 1})
	return closing(err)
}

// all does one of the things that lock all workspaces.
func (c *contention) all(db *DB, n int) error {
	if n%2 == 0 {
		return db.Restored(c.Context(), nil)
	}
	return db.EndFeeds(c.Context())
}

// TestLocks: whatever two nodes do at once, to several workspaces in one transaction, they lock
// in one order: so no transaction is tried again after a deadlock. What locks all workspaces does
// not see the shops that were made since it began, and is tried again if it meets them.
func TestLocks(t *testing.T) {
	t.Parallel()
	for name, rare := range map[string]func(*contention, *DB, int) error{"rare": (*contention).rare, "all": (*contention).all} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contend(t, rare)
		})
	}
}

func contend(t *testing.T, rare func(*contention, *DB, int) error) {
	t.Helper()
	url := newDatabase(t)
	c := &contention{T: t, nodes: [2]*DB{node(t, url, Options{}), node(t, url, Options{})}}
	for range 5 {
		workspace, _ := newStocked(t, c.nodes[0], 1)
		c.workspaces = append(c.workspaces, workspace)
	}
	var callers sync.WaitGroup
	for i, db := range c.nodes {
		for n := range 24 {
			callers.Go(func() {
				for turn := range 15 {
					if err := c.category(db, shopOf(t, db, c.workspaces[(n+turn)%len(c.workspaces)])); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for n := range 3 {
			callers.Go(func() {
				for turn := range 14 {
					if err := rare(c, db, 5*n+turn+i); err != nil {
						t.Errorf("%d: %v", 5*n+turn+i, err)
					}
				}
			})
		}
	}
	callers.Wait()
	for _, db := range c.nodes {
		if got := db.Stats(); got.Retries != 0 || got.LostGroups != 0 {
			t.Errorf("Stats = %+v, want no retries and no group lost", got)
		}
		must(t, db.Resume(t.Context()))
	}
	wantSound(t, c.nodes[0])
}
