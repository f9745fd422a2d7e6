package webhook

import (
	"context"
	"encoding/json"
	"time"

	"example.com/petstore/internal/petstore"
)

// A Store keeps webhooks and what is due to them. Each method is one transaction, durable
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

	// RetryFailed makes all deliveries due at an instant of which a try has failed and
	// none was successful since, as if they had not been tried, and returns how many those
	// are. It returns CodeWebhookNotFound.
	RetryFailed(ctx context.Context, workspace int64, id string, at time.Time) (int64, error)

	// HoldWebhooks returns the active webhooks that the node has to itself until l.Until,
	// and no longer: those that it had, and those that nobody has. Of webhooks that have
	// been failing it counts the time since the node's last call, but no more than that of
	// one lease: so it is the time in which a node was there, whatever clocks do.
	HoldWebhooks(ctx context.Context, l Lease) ([]Webhook, error)
	// ReleaseWebhooks lets other nodes have the webhooks of a node.
	ReleaseWebhooks(ctx context.Context, node string) error
	// QueueDeliveries makes the next events of the feed due to a webhook, at most limit,
	// and moves it behind them. It reports false if there are none, or if the node does
	// not have the webhook.
	QueueDeliveries(ctx context.Context, id, node string, at time.Time, limit int) (queued bool, err error)
	// DueDeliveries returns at most limit deliveries that are due at an instant, those
	// that are due for longest first, and when the first of the others will be; zero if
	// there are no others. Nothing is due unless the node holds the webhook.
	DueDeliveries(ctx context.Context, id, node string, at time.Time, limit int) (due []Due, next time.Time, err error)
	// RecordTries keeps what came of tries. A delivery that was made due again since
	// DueDeliveries returned it stays due, and is sent again. A webhook that is disabled
	// by a try has an entry in the audit log.
	RecordTries(ctx context.Context, tries []Try) error
	// PruneDeliveries removes, in steps, all deliveries of deleted webhooks, and of the
	// others those that have ended: before an instant, and all but the latest keep.
	PruneDeliveries(ctx context.Context, before time.Time, keep int) error
}

// A Change is made to one webhook.
type Change struct {
	Workspace int64
	ID        string                // "" for a webhook that is made
	By        string                // for the audit log
	Action    string                // such as webhook.create
	Once      *petstore.Idempotency // nil unless it must happen once
	// Edit changes the webhook as it is, or fills in a new one. It may be called again.
	Edit func(w *Webhook, f Feed) error
}

// A Feed says which events of a workspace there are.
type Feed struct {
	Last      int64 // the latest event's id
	Forgotten int64 // events up to this id are not kept
}

// Changed is what came of a Change, by this call or by the same one before.
type Changed struct {
	Webhook  Webhook // as it is; without a call that did it before
	Body     []byte  // the form with the secret, as first answered; nil without Change.Once
	Replayed bool
}

// WithSecret returns the canonical form with the secret, as first answered.
func (c *Changed) WithSecret() []byte {
	if c.Body != nil {
		return c.Body
	}
	return c.Webhook.WithSecret()
}

// ID returns the id of the webhook.
func (c *Changed) ID() string {
	var w struct{ ID string }
	if c.Replayed && json.Unmarshal(c.Body, &w) == nil {
		return w.ID
	}
	return c.Webhook.ID
}

// A Lease is asked for by a node.
type Lease struct {
	Node       string
	Now, Until time.Time
}

// A Due is a delivery that is to be tried. Event.Data is nil if the event is not kept any
// more.
type Due struct {
	Event petstore.Event
	Tries int       // before
	Since time.Time // when it became due
}

// A Try is what came of one try.
type Try struct {
	Webhook string
	Event   int64
	Due     time.Time // when the delivery became due, as DueDeliveries said
	State   DeliveryState
	Tries   int // with this one
	At      time.Time
	Answer  Answer
	Next    time.Time // zero unless State is Pending

	// Why says why the try disables its webhook if that has been failing for DisableAfter,
	// as HoldWebhooks counts it. It is "" if the try says nothing against the webhook.
	DisableAfter time.Duration
	Why          string
}
