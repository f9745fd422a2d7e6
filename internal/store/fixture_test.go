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
	"example.com/petstore/internal/processtest"
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

// ok ends the test if err is not nil.
var ok = processtest.Must

// A shopkeeper fills a file.
type shopkeeper struct {
	*testing.T
	*sqlite.DB
	ctx context.Context
}

// ok ends the test if one of some calls failed.
func (k shopkeeper) ok(errs ...error) { k.Helper(); ok(k.T, errors.Join(errs...)) }

// errOf returns the error of a call.
func errOf[T any](_ T, err error) error { return err }

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
	k.keys(acme)
	k.webhook(acme)
	now, hour := time.Now(), time.Now().Add(time.Hour)
	usages := make([]usage.Row, 41)
	for i := range usages {
		usages[i] = usage.Row{Workspace: acme, Interval: usage.Minute, Start: int64(60 * i)}
		usages[i].Requests[usage.Success], usages[i].Latency[2] = int64(i), int64(i)
	}
	usages[40].Interval, usages[40].Key = usage.Day, "key_a"
	k.ok(errOf(db.Load(k.ctx, acme, &petstore.Batch{File: "digest", Through: 42})),
		db.SaveLimits(k.ctx, []ratelimit.SavedWindow{{Subject: "w:1", MinuteStart: 5, MinuteUsed: 3, Day: 20500, DayUsed: 4}, {Subject: "a:*", Day: 20500, DayUsed: 1}}),
		db.AddUsage(k.ctx, usages),
		errOf(db.UseLink(k.ctx, access.Link{Hash: [32]byte{1, 2}, Until: hour}, access.AuditEntry{Actor: "cli", Action: "operator.sign_in"})),
		db.StartSession(k.ctx, access.Session{Hash: [32]byte{3}, KeyID: "key_a", Started: now, Until: hour}),
		db.AddToken(k.ctx, access.Token{ID: "op_a", Name: "ci", Hash: access.Hash{4}, CreatedAt: now, ExpiresAt: hour}, "cli"),
		db.DeleteWorkspace(k.ctx, gone, "cli"), db.Resume(k.ctx), db.Close(), sqlite.Backup(t.Context(), path, path+".before"))
	return path
}

func (k shopkeeper) workspace(name string) int64 {
	w, err := k.CreateWorkspace(k.ctx, access.Workspace{Name: name, Plan: access.Free, Quota: access.FreeQuota}, "cli")
	k.ok(err)
	return w.ID
}

func (k shopkeeper) keys(workspace int64) {
	for i, id := range []string{"key_a", "key_b", "key_c"} {
		key := access.Key{ID: id, WorkspaceID: workspace, Name: id, Prefix: "pst_abcd", Hash: access.Hash{byte(i)}, Scopes: access.Read, CreatedAt: time.Now()}
		if i == 0 {
			key.ExpiresAt = time.Now().Add(time.Hour)
		}
		k.ok(errOf(k.MakeKey(k.ctx, access.KeyRequest{Key: key, By: "cli"})))
	}
	k.ok(access.Keyring{Store: k.DB, Now: time.Now, By: "cli"}.Revoke(k.ctx, "key_b", petstore.Condition{}),
		access.SetBan(k.ctx, k.DB, access.Ban{KeyID: "key_a", From: time.Now(), Until: time.Now().Add(time.Hour), Reason: "too eager", By: "operator"}, "cli"))
}

// webhook makes a webhook to which all events so far are due.
func (k shopkeeper) webhook(workspace int64) {
	const id = "wh_AAAAAAAAAAAAAAAAAAAAAAAAAA"
	now := time.Now()
	k.ok(errOf(k.ChangeWebhook(k.ctx, webhook.Change{Workspace: workspace, By: "cli", Action: "webhook.create", Edit: func(w *webhook.Webhook, _ webhook.Feed) error {
		*w = webhook.Webhook{ID: id, Workspace: workspace, URL: "https://example.com/events", State: webhook.Active, CreatedAt: now, Secret: "whsec_new"}
		return nil
	}})), errOf(k.HoldWebhooks(k.ctx, webhook.Lease{Node: "a", Now: now, Until: now.Add(time.Minute)})))
	if queued, err := k.QueueDeliveries(k.ctx, id, "a", now, 100); err != nil || !queued {
		k.Errorf("QueueDeliveries = %t, %v, want that events are due to the webhook", queued, err)
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
	k.ok(err)
	for i := range 30 {
		p, err := s.CreatePet(k.ctx, workspace, petstore.NewPet{Name: fmt.Sprint("Rex ", i), CategoryID: dogs.ID}, nil)
		k.ok(err, errOf(s.CreateOrder(k.ctx, workspace, ordered(i, p.ID), once(i))))
		if i%10 == 0 {
			k.ok(s.DeletePet(k.ctx, workspace, p.ID, petstore.Condition{}))
		}
	}
}
