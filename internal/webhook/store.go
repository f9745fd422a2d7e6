package webhook

import (
	"context"
	"time"

	"example.com/petstore/internal/petstore"
)

// A Store keeps webhooks and their deliveries. Each method is one transaction, durable
// when it returns, and all may be called concurrently, on every node.
type Store interface {
	// ChangeWebhook makes or changes a webhook, and adds an entry to the audit log. It
	// returns CodeWebhookNotFound if the workspace has none with the id,
	// CodeTooManyWebhooks if it has MaxWebhooks already, the error of c.Edit, and of
	// c.Once that of Replay.
	ChangeWebhook(ctx context.Context, c Change) (Changed, error)
	// DeleteWebhook removes a webhook; PruneDeliveries removes its deliveries, of which
	// there may be many. It returns CodeWebhookNotFound, or the error of may.
	DeleteWebhook(ctx context.Context, workspace int64, id, by string, may func(Webhook) error) error
	Webhooks(ctx context.Context, workspace int64) ([]Webhook, error) // in the order of their creation
	Webhook(ctx context.Context, workspace int64, id string) (Webhook, error)
	// Deliveries returns at most limit deliveries of events before the one with the id,
	// the newest first; the newest of all if that is 0.
	Deliveries(ctx context.Context, workspace int64, id string, before int64, limit int) ([]Delivery, error)
	// RetryDelivery makes a delivery due at an instant, as if it had not been tried. It
	// returns CodeWebhookNotFound or CodeDeliveryNotFound.
	RetryDelivery(ctx context.Context, workspace int64, id string, delivery int64, at time.Time) (Delivery, error)

	// RetryFailed makes all deliveries due at an instant whose latest try has failed, as
	// if they had not been tried, and returns how many they are. It returns
	// CodeWebhookNotFound.
	RetryFailed(ctx context.Context, workspace int64, id string, at time.Time) (int64, error)

	// HoldWebhooks returns the active webhooks that only this node holds until l.Until:
	// those that it held before, and those that no node holds. To the failing time of a
	// webhook it adds the time since the node's last call, but at most the time of one
	// lease. So that counts only the time in which a node was running, even if clocks
	// jump.
	HoldWebhooks(ctx context.Context, l Lease) ([]Webhook, error)
	// ReleaseWebhooks lets other nodes hold the webhooks of a node at once.
	ReleaseWebhooks(ctx context.Context, node string) error
	// QueueDeliveries makes deliveries of the next events of the feed due, at most
	// limit, and advances the webhook's After. It reports false if there are none, or if
	// the node does not hold the webhook.
	QueueDeliveries(ctx context.Context, id, node string, at time.Time, limit int) (queued bool, err error)
	// DueDeliveries returns at most limit deliveries that are due at an instant, the
	// longest due first. next is when the first of those that are not due yet will be;
	// zero if there are none. Nothing is due unless the node holds the webhook.
	DueDeliveries(ctx context.Context, id, node string, at time.Time, limit int) (due []DueDelivery, next time.Time, err error)
	// RecordOutcomes stores the outcomes of tries. A delivery that was made due again
	// since DueDeliveries returned it stays due, and is sent again. If a webhook is
	// disabled by a try, an entry is added to the audit log.
	RecordOutcomes(ctx context.Context, outcomes []Outcome) error
	// PruneDeliveries removes, in steps, all deliveries of deleted webhooks. Of the
	// other deliveries it removes those that ended before an instant, and for each
	// webhook all that ended but the latest keep.
	PruneDeliveries(ctx context.Context, before time.Time, keep int) error
}

// A Change is made to one webhook.
type Change struct {
	Workspace int64
	ID        string                // "" to create a webhook
	By        string                // for the audit log
	Action    string                // such as webhook.create
	Once      *petstore.Idempotency // see [petstore.Idempotency]; may be nil
	// Edit changes the present webhook, or fills in a new one. It may be called several
	// times.
	Edit func(w *Webhook, f Feed) error
}

// A Feed says which events of a workspace are kept.
type Feed struct {
	Last      int64 // the latest event's id
	Forgotten int64 // events up to this id are not kept
}

// Changed is the result of a Change, made by this call or by an earlier one with the
// same key.
type Changed struct {
	Webhook  Webhook // after the change; if Replayed, what was first answered
	Replayed bool
}

// A Lease is what a node asks HoldWebhooks for.
type Lease struct {
	Node       string
	Now, Until time.Time
}

// A DueDelivery is a delivery that is to be tried. Event.Data is nil if the event is not
// kept any more.
type DueDelivery struct {
	Event petstore.Event
	Tries int // before
	DueAt time.Time
}

// An Outcome is the result of one try.
type Outcome struct {
	Webhook string
	Event   int64
	DueAt   time.Time // as DueDeliveries said
	State   DeliveryState
	Tries   int // with this one
	At      time.Time
	Answer  Answer
	Next    time.Time // zero unless State is Pending

	// The try disables its webhook, for DisableReason, if that has been failing for
	// DisableAfter as HoldWebhooks counts it. DisableReason is "" if the try does not count
	// as a failure of the webhook.
	DisableAfter  time.Duration
	DisableReason string
}
