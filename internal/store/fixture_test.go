package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"example.com/petstore/internal/store/postgres/postgrestest"
	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/usage"
	"example.com/petstore/internal/webhook"
)

// shared is the server of this run.
var shared = postgrestest.Shared{Settings: postgrestest.Lax()}

func TestMain(m *testing.M) { os.Exit(shared.Main(m.Run)) }

// emptyDatabase returns the URL and the name of a database of the test's own.
func emptyDatabase(t *testing.T) (url, name string) {
	t.Helper()
	server := shared.Server(t)
	name, err := server.Create(t.Context(), "")
	ok(t, err)
	return server.URL(name), name
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A shopkeeper fills a file.
type shopkeeper struct {
	*testing.T
	*sqlite.DB
	ctx context.Context
}

// newFile makes a database with rows in all of its tables, and returns its path. A copy of
// it ends with ".before".
func newFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "petstore.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Readers: 1})
	ok(t, err)
	k := shopkeeper{t, db, t.Context()}
	acme, gone := k.workspace("acme"), k.workspace("gone")
	k.trade(acme)
	_, err = db.Load(k.ctx, acme, &petstore.Batch{File: "digest", Through: 42})
	ok(t, err)
	k.keys(acme)
	k.webhook(acme)
	ok(t, db.SaveLimits(k.ctx, []ratelimit.SavedWindow{{Subject: "w:1", MinuteStart: 5, MinuteUsed: 3, Day: 20500, DayUsed: 4}, {Subject: "a:*", Day: 20500, DayUsed: 1}}))
	for i := range int64(40) {
		row := usage.Row{Workspace: acme, Interval: usage.Minute, Start: 60 * i}
		row.Requests[usage.Success], row.Latency[2] = i, i
		ok(t, db.AddUsage(k.ctx, []usage.Row{row}))
	}
	day := usage.KeyDay{Workspace: acme, KeyID: "key_a", Day: 86400}
	day.Requests[usage.Success] = 7
	ok(t, db.AddKeyDays(k.ctx, []usage.KeyDay{day}))
	_, err = db.UseLink(k.ctx, access.Link{Hash: [32]byte{1, 2}, Until: time.Now().Add(time.Hour)}, access.AuditEntry{Actor: "cli", Action: "operator.sign_in"})
	ok(t, db.StartSession(k.ctx, access.Session{Hash: [32]byte{3}, KeyID: "key_a", Started: time.Now(), Until: time.Now().Add(time.Hour)}))
	ok(t, db.AddToken(k.ctx, access.Token{ID: "op_a", Name: "ci", Hash: access.Hash{4}, CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}, "cli"))
	ok(t, errors.Join(err, db.DeleteWorkspace(k.ctx, gone, "cli")))
	if gone <= acme {
		t.Errorf("the workspaces have the ids %d and %d", acme, gone)
	}
	ok(t, db.Close())
	ok(t, sqlite.Backup(t.Context(), path, path+".before"))
	return path
}

func (k shopkeeper) workspace(name string) int64 {
	w, err := k.CreateWorkspace(k.ctx, access.Workspace{Name: name, Plan: access.Free, Quota: access.FreeQuota}, "cli")
	ok(k.T, err)
	return w.ID
}

func (k shopkeeper) keys(workspace int64) {
	for i, id := range []string{"key_a", "key_b", "key_c"} {
		key := access.Key{ID: id, WorkspaceID: workspace, Name: id, Prefix: "pst_abcd", Hash: access.Hash{byte(i)}, Scopes: access.Read, CreatedAt: time.Now()}
		if i == 0 {
			key.ExpiresAt = time.Now().Add(time.Hour)
		}
		_, err := k.MakeKey(k.ctx, access.KeyRequest{Key: key, By: "cli"})
		ok(k.T, err)
	}
	ok(k.T, access.Keyring{Store: k.DB, Now: time.Now, By: "cli"}.Revoke(k.ctx, "key_b", petstore.Condition{}))
	ok(k.T, k.SetBan(k.ctx, access.Ban{KeyID: "key_a", From: time.Now(), Until: time.Now().Add(time.Hour), Reason: "too eager", By: "operator"}, "cli"))
}

// webhook makes a webhook to which all events so far are due.
func (k shopkeeper) webhook(workspace int64) {
	const id = "wh_AAAAAAAAAAAAAAAAAAAAAAAAAA"
	now := time.Now()
	_, err := k.ChangeWebhook(k.ctx, webhook.Change{Workspace: workspace, By: "cli", Action: "webhook.create", Edit: func(w *webhook.Webhook, _ webhook.Feed) error {
		*w = webhook.Webhook{ID: id, Workspace: workspace, URL: "https://example.com/events", State: webhook.Active, CreatedAt: now, Secret: "whsec_new"}
		return nil
	}})
	ok(k.T, err)
	_, err = k.HoldWebhooks(k.ctx, webhook.Lease{Node: "a", Now: now, Until: now.Add(time.Minute)})
	ok(k.T, err)
	queued, err := k.QueueDeliveries(k.ctx, id, "a", now, 100)
	ok(k.T, err)
	if !queued {
		k.Error("no events are due to the webhook")
	}
}

// once is the Idempotency-Key of an order.
func once(i int) *petstore.Idempotency {
	return &petstore.Idempotency{Operation: "POST /store/orders", Key: fmt.Sprint("order ", i), Fingerprint: [32]byte{byte(i)}}
}

// ordered is what the order with a number asks for.
func ordered(i int, pet int64) petstore.NewOrder {
	n := petstore.NewOrder{PetID: pet, Quantity: 1, Complete: i%2 == 0}
	if i%3 == 0 {
		n.ShipDate = petstore.At(time.UnixMilli(1_800_000_000_000))
	}
	return n
}

// trade does what a shop goes through.
func (k shopkeeper) trade(workspace int64) {
	s := petstore.NewService(k.DB)
	description := "ä, 猫 and 'quotes'"
	dogs, err := s.CreateCategory(k.ctx, workspace, petstore.NewCategory{Name: "Dogs", Description: &description}, nil)
	ok(k.T, err)
	for i := range 30 {
		p, err := s.CreatePet(k.ctx, workspace, petstore.NewPet{Name: fmt.Sprint("Rex ", i), CategoryID: dogs.ID}, nil)
		ok(k.T, err)
		_, err = s.CreateOrder(k.ctx, workspace, ordered(i, p.ID), once(i))
		ok(k.T, err)
		if i%10 == 0 {
			ok(k.T, s.DeletePet(k.ctx, workspace, p.ID, petstore.Condition{}))
		}
	}
}
