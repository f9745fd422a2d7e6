package console_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/admin"
	"example.com/petstore/internal/portal/console"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/usage"
	"example.com/petstore/internal/webhook"
)

// mostBytes is how long a page may be on its way.
const mostBytes = 40_000

// noise returns n Chinese characters that hardly compress.
func noise(n int) string {
	text := make([]rune, n)
	for i := range text {
		text[i] = rune(0x4e00 + rand.IntN(0x5000)) //nolint:gosec // it only has to be long
	}
	return string(text)
}

// filled has a page and more of everything in a workspace, with names as long as they can be. It returns an id of each kind.
func (h *house) filled(w access.Workspace, g *guest) map[string]string {
	h.t.Helper()
	ctx := h.t.Context()
	key, _ := h.key(w, access.Read, time.Time{})
	ids := map[string]string{"pets": "1", "stock": "1", "categories": "2", "orders": "1", "events": "1", "keys": key.ID, "requests": "r-1"}
	for range webhook.MaxWebhooks {
		at, _ := g.addHook("https://hook.example/" + url.PathEscape(noise(200)))
		id := strings.TrimPrefix(at, "/console/webhooks/")
		if ids["webhooks"] == "" {
			ids["webhooks"] = id
		}
	}
	for i := range 2 * page.PageSize {
		h.usage.Record(w.ID, usage.Event{At: h.clock.Now(), Method: "GET", Path: "/pets/" + noise(200), Query: noise(200), Status: 429, Code: "rate_limit_exceeded", Refused: "minute", Until: h.clock.Now().Unix(), KeyID: key.ID, RequestID: fmt.Sprint("r-", i)})
	}
	for i := range 120 {
		description := noise(petstore.MaxDescription)
		c, err := h.shop.CreateCategory(ctx, w.ID, petstore.NewCategory{Name: noise(petstore.MaxName), Description: &description}, nil)
		must(h.t, err)
		must(h.t, errOf(h.shop.CreatePet(ctx, w.ID, petstore.NewPet{Name: noise(petstore.MaxName), CategoryID: c.ID}, nil)))
		must(h.t, errOf(h.shop.UpdateInventory(ctx, w.ID, int64(i+1), 3, petstore.Condition{})))
		must(h.t, errOf(h.shop.CreateOrder(ctx, w.ID, petstore.NewOrder{PetID: 1 + int64(i), Quantity: 1, ShipDate: petstore.At(h.clock.Now().Add(time.Hour))}, nil)))
	}
	ring := access.Keyring{Store: h.db, Now: h.clock.Now, By: "test"}
	for i := range 2 * (access.MaxKeys - 4) { // half of which end
		made, err := ring.Create(ctx, w.ID, access.NewKey{Name: noise(access.MaxName), Scopes: access.Read}, nil)
		if err == nil && i%2 == 0 {
			err = ring.Revoke(ctx, made.ID, petstore.Condition{})
		}
		must(h.t, err)
	}
	h.refresh()
	h.failAll(w)
	return ids
}

// failAll has the store keep that webhooks were tried, and what they answered.
func (h *house) failAll(w access.Workspace) {
	h.t.Helper()
	ctx := h.t.Context()
	held, err := h.db.HoldWebhooks(ctx, webhook.Lease{Node: "n", Now: h.clock.Now(), Until: h.clock.Now().Add(time.Hour)})
	must(h.t, err)
	for _, one := range held {
		must(h.t, errOf(h.hooks.Replay(ctx, w.ID, one.ID, 0, "test")))
		must(h.t, errOf(h.db.QueueDeliveries(ctx, one.ID, "n", h.clock.Now(), 100)))
		for event := range int64(2 * page.PageSize) {
			h.try(one.ID, webhook.Outcome{Event: 1 + event, State: webhook.Failed, Tries: 10, Answer: webhook.Answer{Status: 503, Text: noise(1000)}, DisableReason: noise(200), DisableAfter: time.Hour})
		}
	}
}

// TestPagesAreSmall: every page of both consoles, also of a shop that is full, has at most so many bytes on its way.
func TestPagesAreSmall(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace(noise(access.MaxName))
	for range 2 * page.PageSize {
		h.workspace(noise(access.MaxName))
	}
	g := h.signedIn(w, access.Read|access.Write|access.Manage)
	ids := h.filled(w, g)
	h.save()
	g.small(console.Routes(), ids)
	operator := h.signedInOperator()
	h.ban(access.Ban{KeyID: ids["keys"], From: h.clock.Now(), Until: h.clock.Now().Add(time.Hour), Level: 1, Reason: noise(100), By: "cli"})
	operator.small(admin.Routes(), map[string]string{"workspaces": "1", "bans": ids["keys"]})
}

// small asks for all pages.
func (g *guest) small(routes []page.Route, ids map[string]string) {
	g.t.Helper()
	for _, r := range routes {
		if r.Method != http.MethodGet || r.Download || r.Path == "/console/link" { // which has a form alone
			continue
		}
		kind, _, _ := strings.Cut(strings.TrimPrefix(r.Path, "/console/"), "/")
		path := strings.NewReplacer("{$}", "", "{id}", ids[kind]).Replace(r.Path)
		if strings.HasSuffix(path, "/delivery") {
			path += "?event=1"
		}
		a := g.get(path, "Accept-Encoding", "gzip")
		g.t.Logf("%6d %s", len(a.body), path)
		if len(a.body) > mostBytes || a.status >= http.StatusBadRequest {
			g.t.Errorf("%s has %d bytes and answers %d, want at most %d bytes", path, len(a.body), a.status, mostBytes)
		}
	}
}
