package webhook

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"example.com/petstore/internal/fairshare"
	"example.com/petstore/internal/petstore"
)

// overlap is for how long both secrets sign messages after a rotation.
const overlap = 24 * time.Hour

// Limits of tests at a time. All workspaces share them fairly.
const (
	maxTests       = 64
	maxTestsOfEach = 4 // workspace
)

// maxDescription is the greatest number of characters of a description.
const maxDescription = 500

// A Service manages the webhooks of workspaces. The parameter by of its methods names
// the user, for the audit log.
type Service struct {
	Store  Store
	Sender *Sender
	Now    func() time.Time
	Wake   func() // tells this node's deliverer that something has changed

	once  sync.Once
	tests *fairshare.Pool
}

// A New describes a webhook that is to be created.
type New struct {
	URL         string               `json:"url"`
	Types       []petstore.EventType `json:"types,omitzero"` // nil: all
	Description string               `json:"description,omitzero"`
}

// A Patch says what to change of a webhook.
type Patch struct {
	URL         petstore.Optional[string]               `json:"url,omitzero"`
	Types       petstore.Optional[[]petstore.EventType] `json:"types,omitzero"`       // null: all
	Description petstore.Optional[string]               `json:"description,omitzero"` // null: none
	State       petstore.Optional[State]                `json:"state,omitzero"`
}

// Create creates a webhook that gets the events after the latest one. If once is not
// nil, repeating the call has the same result.
func (s *Service) Create(ctx context.Context, workspace int64, n New, once *petstore.Idempotency, by string) (Changed, error) {
	fields := s.Sender.guard.checkURL(nil, n.URL)
	fields = petstore.CheckText(checkTypes(fields, n.Types), "/description", &n.Description, 0, maxDescription)
	if err := petstore.Invalid(fields); err != nil {
		return Changed{}, err
	}
	return s.change(ctx, Change{Workspace: workspace, By: by, Action: "webhook.create", Once: once, Edit: func(w *Webhook, f Feed) error {
		*w = Webhook{
			ID: mintID(), Workspace: workspace, URL: n.URL, Types: n.Types, Description: n.Description,
			State: Active, CreatedAt: s.Now(), After: f.Last, Secret: MintSecret(),
		}
		return nil
	}})
}

// Update changes what the patch names, if the condition holds.
func (s *Service) Update(ctx context.Context, workspace int64, id string, p Patch, on petstore.Condition, by string) (Webhook, error) {
	if err := petstore.Invalid(s.checkPatch(&p)); err != nil {
		return Webhook{}, err
	}
	changed, err := s.change(ctx, Change{Workspace: workspace, ID: id, By: by, Action: "webhook.update", Edit: func(w *Webhook, _ Feed) error {
		if err := on.Check(*w); err != nil {
			return err
		}
		p.apply(w)
		return nil
	}})
	return changed.Webhook, err
}

func (p Patch) apply(w *Webhook) {
	if p.URL.Present && p.URL.Value != w.URL {
		w.URL, w.FailingSince = p.URL.Value, time.Time{}
	}
	if p.Types.Present {
		w.Types = p.Types.Value
	}
	if p.Description.Present {
		w.Description = p.Description.Value
	}
	if p.State.Present {
		if w.State != Active && p.State.Value == Active {
			w.FailingSince = time.Time{}
		}
		w.State = p.State.Value
	}
}

// Delete removes a webhook, if the condition holds.
func (s *Service) Delete(ctx context.Context, workspace int64, id string, on petstore.Condition, by string) error {
	err := s.Store.DeleteWebhook(ctx, workspace, id, by, func(w Webhook) error { return on.Check(w) })
	s.Wake()
	return err
}

// Rotate gives a webhook a new secret. For a day the old one signs messages too. If once
// is not nil, repeating the call has the same result.
func (s *Service) Rotate(ctx context.Context, workspace int64, id string, once *petstore.Idempotency, by string) (Changed, error) {
	return s.change(ctx, Change{Workspace: workspace, ID: id, By: by, Action: "webhook.rotate", Once: once, Edit: func(w *Webhook, _ Feed) error {
		w.OldSecret, w.OldUntil, w.Secret = w.Secret, s.Now().Add(overlap), MintSecret()
		return nil
	}})
}

// Replay delivers all events after the one with the id again. It returns an error if
// they are not all kept.
func (s *Service) Replay(ctx context.Context, workspace int64, id string, after int64, by string) (Webhook, error) {
	changed, err := s.change(ctx, Change{Workspace: workspace, ID: id, By: by, Action: "webhook.replay", Edit: func(w *Webhook, f Feed) error {
		switch {
		case after < 0 || after > f.Last:
			return petstore.Invalid([]petstore.Field{{Pointer: "/after", Code: petstore.OutOfRange,
				Message: fmt.Sprintf("after must be from 0 to %d, the id of the latest event, not %d.", f.Last, after)}})
		case after < f.Forgotten:
			gone := petstore.EventsExpired(after, f.Forgotten+1)
			gone.Fields = []petstore.Field{{Pointer: "/after", Code: petstore.OutOfRange, Message: gone.Message}}
			return gone
		}
		w.After = after
		return nil
	}})
	return changed.Webhook, err
}

func (s *Service) change(ctx context.Context, c Change) (Changed, error) {
	changed, err := s.Store.ChangeWebhook(ctx, c)
	s.Wake()
	return changed, err
}

// Test posts an event of the type webhook.test now, whatever the webhook's state, and
// returns the receiver's answer. It stops when ctx ends, or when it has to make room
// for the test of another workspace.
func (s *Service) Test(ctx context.Context, workspace int64, id string) (Answer, error) {
	w, err := s.Store.Webhook(ctx, workspace, id)
	if err != nil {
		return Answer{}, err
	}
	s.once.Do(func() { s.tests = fairshare.New(fairshare.Options{Capacity: maxTests, Each: maxTestsOfEach}) })
	ctx, giveWay := context.WithCancel(ctx)
	defer giveWay()
	share, err := s.tests.Enter(ctx, fairshare.Holder{Workspace: workspace}, 1, giveWay)
	if err != nil {
		return Answer{}, tooManyTests()
	}
	defer share.Leave()
	now := s.Now()
	data := append(petstore.AppendString([]byte(`{"webhookId":`), w.ID), '}')
	event := petstore.Event{Type: "webhook.test", CreatedAt: petstore.At(now), Data: data}
	answer := s.Sender.Send(ctx, Message{ID: "test_" + rand.Text(), URL: w.URL, Secrets: w.secrets(now), Body: petstore.JSON(event)})
	if ctx.Err() != nil && answer.Status == 0 {
		return Answer{}, tooManyTests()
	}
	return answer, nil
}

func tooManyTests() error {
	return &petstore.Error{Code: petstore.CodeServiceUnavailable, RetryAfter: time.Second, Message: "Too many webhooks are being tested. Try again shortly."}
}

// Deliveries returns a page of the deliveries of a webhook, the newest first.
func (s *Service) Deliveries(ctx context.Context, workspace int64, id string, p petstore.Page) ([]Delivery, error) {
	return s.Store.Deliveries(ctx, workspace, id, p.After, p.Limit)
}

// Retry makes a delivery due now, with the full number of tries.
func (s *Service) Retry(ctx context.Context, workspace int64, id string, delivery int64) (Delivery, error) {
	d, err := s.Store.RetryDelivery(ctx, workspace, id, delivery, s.Now())
	s.Wake()
	return d, err
}

// RetryFailed makes all deliveries that have failed due now, with the full number of
// tries, and returns how many they are.
func (s *Service) RetryFailed(ctx context.Context, workspace int64, id string) (int64, error) {
	n, err := s.Store.RetryFailed(ctx, workspace, id, s.Now())
	s.Wake()
	return n, err
}

// Request returns the request that posts an event to a webhook, as it would be sent now.
func (s *Service) Request(ctx context.Context, w *Webhook, e petstore.Event) ([]byte, error) {
	r, err := s.Sender.request(ctx, messageOf(w, e, s.Now()))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = r.Write(&b)
	return b.Bytes(), err
}

func (s *Service) checkPatch(p *Patch) (fields []petstore.Field) {
	if petstore.RefuseNull(&fields, "/url", p.URL) {
		fields = s.Sender.guard.checkURL(fields, p.URL.Value)
	}
	if p.Types.Present && !p.Types.Null {
		fields = checkTypes(fields, p.Types.Value)
	}
	fields = petstore.CheckText(fields, "/description", &p.Description.Value, 0, maxDescription)
	if petstore.RefuseNull(&fields, "/state", p.State) && p.State.Value != Active && p.State.Value != Paused {
		fields = append(fields, petstore.Field{Pointer: "/state", Code: petstore.InvalidEnum,
			Message: fmt.Sprintf("state can be set to active or paused, not %.40q.", p.State.Value)})
	}
	return fields
}

// checkTypes appends what is wrong with the types of a webhook. Nil stands for all
// types.
func checkTypes(fields []petstore.Field, types []petstore.EventType) []petstore.Field {
	if types != nil && len(types) == 0 {
		return append(fields, petstore.Field{Pointer: "/types", Code: petstore.TooShort, Message: "types must have at least one type; without types all events are sent."})
	}
	if len(types) > len(petstore.EventTypes()) {
		return append(fields, petstore.Field{Pointer: "/types", Code: petstore.TooLong, Message: fmt.Sprintf("There are only %d types of events.", len(petstore.EventTypes()))})
	}
	seen := make(map[petstore.EventType]bool)
	for i, t := range types {
		pointer := fmt.Sprintf("/types/%d", i)
		switch {
		case !t.Valid():
			fields = append(fields, petstore.Field{Pointer: pointer, Code: petstore.InvalidEnum, Message: fmt.Sprintf("There is no type of event %.40q.", t)})
		case seen[t]:
			fields = append(fields, petstore.Field{Pointer: pointer, Code: petstore.InvalidFormat, Message: fmt.Sprintf("types has %s twice.", t)})
		}
		seen[t] = true
	}
	return fields
}
