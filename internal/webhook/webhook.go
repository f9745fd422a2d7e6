// Package webhook posts the events of workspaces to their webhooks, signed as Standard
// Webhooks says (https://www.standardwebhooks.com). Each event is delivered at least
// once; what fails is tried again later. The store keeps all deliveries. The package
// contains no SQL, and of the API only the JSON of webhooks, deliveries and answers.
package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"example.com/petstore/internal/petstore"
)

// The codes of errors about webhooks.
const (
	CodeWebhookNotFound  petstore.Code = "webhook_not_found"
	CodeDeliveryNotFound petstore.Code = "delivery_not_found"
	CodeTooManyWebhooks  petstore.Code = "too_many_webhooks"
)

// MaxWebhooks is how many webhooks a workspace can have.
const MaxWebhooks = 20

// A State says whether events are delivered to a webhook.
type State string

// The states. Deliveries stay due while their webhook is paused or disabled.
const (
	Active   State = "active"
	Paused   State = "paused"   // by its owner
	Disabled State = "disabled" // since its receiver answered 410, or failed for too long
)

// A Webhook is a URL to which the events of a workspace are posted.
type Webhook struct {
	ID           string               `json:"id"` // public: "wh_" and letters
	Workspace    int64                `json:"-"`
	URL          string               `json:"url"`
	Types        []petstore.EventType `json:"types,omitempty"` // nil: all
	Description  string               `json:"description,omitzero"`
	State        State                `json:"state"`
	CreatedAt    time.Time            `json:"createdAt"`
	After        int64                `json:"after"`                 // all events up to this id have a delivery, or are of other types
	FailingSince time.Time            `json:"failingSince,omitzero"` // the first failure since the last success; zero if there is none
	Failure      string               `json:"-"`                     // the answer to the latest try that failed, in a line; "" if there is none
	Secret       string               `json:"-"`                     // "whsec_" and Base64
	OldSecret    string               `json:"-"`                     // signs messages too until OldUntil
	OldUntil     time.Time            `json:"-"`
}

// secrets returns the secrets that sign messages at an instant.
func (w *Webhook) secrets(now time.Time) []string {
	if w.OldSecret != "" && now.Before(w.OldUntil) {
		return []string{w.Secret, w.OldSecret}
	}
	return []string{w.Secret}
}

// withSecret is a webhook with the secret as a member.
type withSecret struct {
	Webhook
	Secret string `json:"secret"`
}

// WithSecret returns the canonical form with the secret at its end. The API answers
// with it only when the secret is new.
func (w Webhook) WithSecret() []byte { return petstore.JSON(withSecret{w, w.Secret}) }

// ParseWithSecret returns the webhook of which WithSecret returned the form.
func ParseWithSecret(body []byte) (Webhook, error) {
	var w withSecret
	err := json.Unmarshal(body, &w)
	w.Webhook.Secret = w.Secret
	return w.Webhook, err
}

// A DeliveryState is the state of a delivery.
type DeliveryState string

// The states of deliveries.
const (
	Pending   DeliveryState = "pending" // it will be tried, again or for the first time
	Delivered DeliveryState = "delivered"
	Failed    DeliveryState = "failed" // it will not be tried again, unless a user asks for it
)

// A Delivery is one event on its way to one webhook. Its id is that of the event.
type Delivery struct {
	ID      int64
	Type    petstore.EventType
	State   DeliveryState
	Tries   int
	TriedAt time.Time // the latest try; zero before the first
	Answer            // to the latest try
	NextAt  time.Time // zero unless it is pending and its webhook active
	Earlier []Attempt // the tries before the latest, the oldest first; at most maxEarlier
}

// An Attempt is a try that was answered or timed out.
type Attempt struct {
	At time.Time
	Answer
}

// Limits of the tries that are kept before the latest.
const (
	maxEarlier     = 10
	maxEarlierText = 200 // bytes of an answer
)

// Attempts returns the tries of d, the latest at the end, in the form in which Earlier
// keeps them after the next try.
func (d *Delivery) Attempts() []Attempt {
	latest := Attempt{d.TriedAt, d.Answer}
	latest.Text = petstore.Shorten(latest.Text, maxEarlierText)
	all := append(slices.Clip(d.Earlier), latest)
	return all[max(0, len(all)-maxEarlier):]
}

// AppendJSON appends d in its canonical form.
func (d Delivery) AppendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"id":`...), d.ID, 10)
	dst = append(append(dst, `,"type":"`...), d.Type...)
	dst = append(append(dst, `","state":"`...), d.State...)
	dst = strconv.AppendInt(append(dst, `","tries":`...), int64(d.Tries), 10)
	if !d.TriedAt.IsZero() {
		dst = petstore.AppendInstant(dst, "triedAt", d.TriedAt)
		dst = d.Answer.appendMembers(append(dst, ','))
	}
	if !d.NextAt.IsZero() {
		dst = petstore.AppendInstant(dst, "nextTryAt", d.NextAt)
	}
	return append(dst, '}')
}

// secretPrefix begins every secret, as Standard Webhooks says.
const secretPrefix = "whsec_"

// MintSecret returns a new secret of 256 bits.
func MintSecret() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // it never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(key[:])
}

// mintID returns a new public id.
func mintID() string { return "wh_" + rand.Text() }

// Takes reports whether events of the type are posted to w. A reset is always posted: a
// receiver that keeps a copy has to read everything again.
func (w *Webhook) Takes(t petstore.EventType) bool {
	return len(w.Types) == 0 || t == petstore.WorkspaceReset || slices.Contains(w.Types, t)
}

// NoWebhook returns the error for a webhook that the workspace does not have.
func NoWebhook(id string) error {
	return petstore.Errorf(CodeWebhookNotFound, "There is no webhook with the id %.60q.", id)
}

// NoDelivery returns the error for a delivery that does not exist, or no longer exists.
func NoDelivery(id int64) error {
	return petstore.Errorf(CodeDeliveryNotFound, "There is no delivery with the id %d.", id)
}
