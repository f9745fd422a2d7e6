package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/webhook"
)

// webhooks are the operations on the webhooks of the caller's workspace.
type webhooks struct{ service *webhook.Service }

// routes returns no routes if no events are kept.
func (h webhooks) routes() []route {
	if h.service == nil {
		return nil
	}
	const needs = access.Read | access.Manage // Read, since a webhook gets everything that a reader sees
	const one = "/webhooks/{webhookId}"
	all := list((*listRequest).position, ofShop(h.after), positionOfWebhook)
	deliveries := list((*listRequest).pageQuery, h.deliveries, positionOfDelivery)
	return []route{
		{at: "GET /webhooks", id: "listWebhooks", scope: needs, handle: all, query: pageOnly},
		{at: "POST /webhooks", id: "createWebhook", scope: needs, handle: withNew(readNewWebhook, h.create), body: jsonBody},
		{at: "GET " + one, id: "getWebhook", scope: needs, handle: h.get},
		{at: "PATCH " + one, id: "updateWebhook", scope: needs, handle: withChange(readWebhookPatch, h.update), body: patchBody},
		{at: "DELETE " + one, id: "deleteWebhook", scope: needs, handle: withCondition(h.remove)},
		{at: "POST " + one + "/rotate", id: "rotateWebhook", scope: needs, handle: h.rotate},
		{at: "POST " + one + "/test", id: "testWebhook", scope: needs, handle: h.test, waits: true},
		{at: "POST " + one + "/replay", id: "replayWebhook", scope: needs, handle: withBody(readReplay, h.replay), body: jsonBody},
		{at: "GET " + one + "/deliveries", id: "listDeliveries", scope: needs, handle: deliveries, query: pageOnly},
		{at: "POST " + one + "/deliveries/{deliveryId}/retry", id: "retryDelivery", scope: needs, handle: h.retry},
	}
}

// after returns the webhooks of a workspace after a position.
func (h webhooks) after(ctx context.Context, workspace int64, at position) ([]webhook.Webhook, error) {
	all, err := h.service.Store.Webhooks(ctx, workspace)
	return slices.DeleteFunc(all, func(w webhook.Webhook) bool { return positionOfWebhook(w) <= at }), err
}

// positionOfWebhook returns the position after w. Webhooks are in the order of their
// creation.
func positionOfWebhook(w webhook.Webhook) position {
	return position(fmt.Sprintf("%015d%s", w.CreatedAt.UnixMilli(), w.ID))
}

func (h webhooks) get(x *exchange) error {
	return x.sendResource(h.service.Store.Webhook(x.ctx, x.shop(), x.pathID))
}

func (h webhooks) create(x *exchange, n webhook.New, once *petstore.Idempotency) error {
	made, err := h.service.Create(x.ctx, x.shop(), n, once, x.caller())
	if err != nil {
		return err
	}
	x.set("Location", x.env.baseURL+"/webhooks/"+made.Webhook.ID)
	return sendWithSecret(x, http.StatusCreated, made)
}

func (h webhooks) rotate(x *exchange) error {
	once, err := onceOf(x)
	if err != nil {
		return err
	}
	made, err := h.service.Rotate(x.ctx, x.shop(), x.pathID, once, x.caller())
	if err != nil {
		return err
	}
	return sendWithSecret(x, http.StatusOK, made)
}

// sendWithSecret answers with a webhook and its secret.
func sendWithSecret(x *exchange, status int, made webhook.Changed) error {
	return x.sendOnce(status, petstore.TagOf(petstore.JSON(made.Webhook)), made.Webhook.WithSecret(), made.Replayed)
}

func (h webhooks) update(x *exchange, p webhook.Patch, on petstore.Condition) error {
	return x.sendChanged(h.service.Update(x.ctx, x.shop(), x.pathID, p, on, x.caller()))
}

func (h webhooks) remove(x *exchange, on petstore.Condition) error {
	return x.sendDone(h.service.Delete(x.ctx, x.shop(), x.pathID, on, x.caller()))
}

// test stops when the client disconnects, since it changes nothing.
func (h webhooks) test(x *exchange) error {
	return x.sendFound(h.service.Test(x.r.Context(), x.shop(), x.pathID))
}

func (h webhooks) replay(x *exchange, from replay) error {
	return x.sendChanged(h.service.Replay(x.ctx, x.shop(), x.pathID, from.After, x.caller()))
}

func (h webhooks) deliveries(x *exchange, p petstore.Page) ([]webhook.Delivery, error) {
	return h.service.Deliveries(x.ctx, x.shop(), x.pathID, p)
}

func positionOfDelivery(d webhook.Delivery) position { return numbered(d.ID) }

func (h webhooks) retry(x *exchange) error {
	delivery, err := readID("deliveryId", x.r.PathValue("deliveryId"))
	if err != nil {
		return err
	}
	return x.sendChanged(h.service.Retry(x.ctx, x.shop(), x.pathID, delivery))
}

// readOnlyOfWebhook are the members of a webhook that clients may not set.
var readOnlyOfWebhook = []string{"id", "createdAt", "after", "failingSince", "secret"}

// Readers of the bodies for webhooks.
var (
	readNewWebhook   = decode(webhook.New{}, append(readOnlyOfWebhook, "state")...)
	readWebhookPatch = decode(webhook.Patch{}, readOnlyOfWebhook...)
	readReplay       = decode(replay{})
)

// A replay is the body of replayWebhook.
type replay struct {
	After int64 `json:"after"`
}

// eventTypes reads the names of event types. It does not check that they exist.
func (f *form) eventTypes(m member) []petstore.EventType {
	all := []petstore.EventType{}
	f.strings(m, func(_, name string) { all = append(all, petstore.EventType(name)) })
	return all
}
