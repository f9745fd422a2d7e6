package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/webhook"
)

// testPatience is how much longer a page may take that waits for a receiver.
const testPatience = 30 * time.Second

func webhookPath(id string) string { return "/console/webhooks/" + id }

// hook returns the webhook in the path.
func (v *visit) hook() (webhook.Webhook, error) {
	return v.Webhooks.Store.Webhook(v.r.Context(), v.who.Workspace.ID, v.id)
}

// actor returns who is signed in, for the audit log.
func (v *visit) actor() string { return "console:" + v.who.Key.ID }

func showWebhooks(v *visit) error {
	l := listOf("Webhooks", "Webhooks post the events of this workspace to your URLs.", "There are no webhooks yet.", "URL", "Events", "State", "Failing since", "Created")
	l.New = &link{Title: "Create a webhook", URL: "/console/webhooks/new"}
	all, err := v.Webhooks.Store.Webhooks(v.r.Context(), v.who.Workspace.ID)
	for i := range all {
		w := &all[i]
		failing := cell{Text: "not failing"}
		if !w.FailingSince.IsZero() {
			failing = cell{At: w.FailingSince}
		}
		l.Rows = append(l.Rows, []cell{
			{Text: shortened(w.URL, 60), Name: true, URL: webhookPath(w.ID)}, {Text: typesOf(w)}, {Text: string(w.State), Badge: string(w.State)}, failing, {At: w.CreatedAt},
		})
	}
	return v.list(l, err)
}

// shortened returns at most so many characters of a text.
func shortened(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func typesOf(w *webhook.Webhook) string {
	if len(w.Types) == 0 {
		return "all"
	}
	names := make([]string, len(w.Types))
	for i, t := range w.Types {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}

func hookFacts(w *webhook.Webhook) []fact {
	facts := []fact{
		{"URL", cell{Text: w.URL, Name: true}}, {"Events", cell{Text: typesOf(w)}}, {"State", cell{Text: string(w.State), Badge: string(w.State)}},
		{"Created", cell{At: w.CreatedAt}}, {"Read up to event", cell{Text: text(w.After)}}, {"Id", cell{Text: w.ID, Code: true}},
	}
	if w.Description != "" {
		facts = append(facts, fact{"Description", cell{Text: access.Printable(w.Description), Name: true}})
	}
	if !w.FailingSince.IsZero() {
		facts = append(facts, fact{"Failing since", cell{At: w.FailingSince}})
	}
	return facts
}

func newWebhook(v *visit) (form, error) {
	return form{
		Title: "Create a webhook", Submit: "Create the webhook", Back: link{Title: "Webhooks", URL: "/console/webhooks"},
		Lead: "It sends the events from now on to your URL.", Fields: hookFields(&webhook.Webhook{}),
		send: func(in *input) error {
			made, err := v.Webhooks.Create(v.r.Context(), v.who.Workspace.ID, in.hook(), nil, v.actor())
			return v.madeSecret(&made.Webhook, err)
		},
	}, nil
}

func hookFields(w *webhook.Webhook) []field {
	types := field{Name: "types", Label: "Events (all, if you choose none)", Kind: "checks", Options: optionsOf("", petstore.EventTypes()...)[1:]}
	for _, t := range w.Types {
		choose(types.Options, string(t))
	}
	return []field{
		{Name: "url", Label: "URL", Kind: "text", Value: w.URL, Required: true, Hint: "For example https://example.com/petstore. It must be public."},
		types, {Name: "description", Label: "Description", Kind: "text", Value: w.Description},
	}
}

// hook returns what a form says of a webhook.
func (in *input) hook() webhook.New {
	n := webhook.New{URL: strings.TrimSpace(in.text("url")), Description: strings.TrimSpace(in.text("description"))}
	for _, t := range in.r.PostForm["types"] {
		n.Types = append(n.Types, petstore.EventType(t))
	}
	return n
}

func editWebhook(v *visit) (form, error) {
	w, err := v.hook()
	return form{
		Title: "Edit the webhook", Lead: "Events that are not delivered yet go to the new URL.", Submit: "Save", Fields: hookFields(&w),
		Back: link{Title: "Webhook", URL: webhookPath(w.ID)},
		send: func(in *input) error {
			_, err := v.Webhooks.Update(v.r.Context(), v.who.Workspace.ID, w.ID, patchOf(&w, in.hook()), petstore.Condition{}, v.actor())
			return v.done(webhookPath(w.ID), "The webhook was saved.", err)
		},
	}, err
}

// patchOf returns what a form changes of a webhook. What it leaves as it is may be what could not be entered now.
func patchOf(w *webhook.Webhook, n webhook.New) (p webhook.Patch) {
	if n.URL != w.URL {
		p.URL = petstore.Some(n.URL)
	}
	if !slices.Equal(n.Types, w.Types) {
		p.Types = petstore.Some(n.Types)
	}
	if n.Description != w.Description {
		p.Description = petstore.Some(n.Description)
	}
	return p
}

// madeSecret shows a new secret of a webhook, this once, unless it failed.
func (v *visit) madeSecret(w *webhook.Webhook, err error) error {
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "made", "The secret of your webhook", madeKey{
		Lead: "With it your receiver verifies that events come from here. Copy it now: you cannot see it again.", Secret: w.Secret,
		Next: link{Title: "To the webhook", URL: webhookPath(w.ID)},
	})
}

func showWebhook(v *visit) error {
	w, err := v.hook()
	if err != nil {
		return err
	}
	at := webhookPath(w.ID)
	deliveries, err := v.deliveries(at)
	if err != nil {
		return err
	}
	p := sheetPage{
		Title: "Webhook", Lead: cmp.Or(access.Printable(w.Description), w.URL), Back: link{Title: "Webhooks", URL: "/console/webhooks"},
		Sheets: []list{deliveries}, Facts: hookFacts(&w), Wide: true,
		Links: []link{{Title: "Pause", URL: at + "/pause"}, {Title: "Edit", URL: at + "/edit"}, {Title: "Test", URL: at + "/test"}, {Title: "Rotate", URL: at + "/rotate"}, {Title: "Replay", URL: at + "/replay"}, {Title: "Delete", URL: at + "/delete", Danger: true}},
	}
	if w.State != webhook.Active {
		p.Links[0] = link{Title: "Resume", URL: at + "/resume"}
	}
	return v.render(http.StatusOK, "sheets", p.Title, p)
}

// deliveries reads the page of deliveries that the query asks for, the newest first.
func (v *visit) deliveries(at string) (list, error) {
	l := listOf("Deliveries", "", "No event was sent to it yet.", "Event", "Type", "State", "Tries", "Last try", "Answer", "Next try", "")
	l.Numbers[3] = true
	rows, err := v.Webhooks.Deliveries(v.r.Context(), v.who.Workspace.ID, v.id, petstore.Page{After: placeIn(v.r.URL.Query(), "after"), Limit: pageSize + 1})
	rows = pageOf(v, &l, rows, "after", func(last *webhook.Delivery) string { return text(last.ID) })
	for i := range rows {
		d, id := &rows[i], text(rows[i].ID)
		l.Rows = append(l.Rows, []cell{
			{Text: id, URL: "/console/events/" + id}, {Text: string(d.Type), Code: true}, {Text: string(d.State), Badge: string(d.State)}, {Text: number(int64(d.Tries))},
			instantCell(d.TriedAt), {Text: answerOf(d), Name: true}, instantCell(d.NextAt), {Links: []link{{Title: "Try again", URL: at + "/retry?delivery=" + id}}},
		})
	}
	return l, err
}

func instantCell(t time.Time) cell {
	if t.IsZero() {
		return cell{Text: "none"}
	}
	return cell{At: t}
}

// answerOf says in a line what a receiver answered to the latest try.
func answerOf(d *webhook.Delivery) string {
	if d.TriedAt.IsZero() {
		return "not tried yet"
	}
	return saidIn(d.Answer)
}

// saidIn says in a line what a receiver answered.
func saidIn(a webhook.Answer) string {
	if a.Status == 0 {
		return a.Error
	}
	said := fmt.Sprintf("%d in %d ms", a.Status, a.Latency.Milliseconds())
	if a.Text != "" {
		said += ": " + shortened(access.Printable(a.Text), 80)
	}
	return said
}

// hookForm completes a form of the webhook in the path.
func (v *visit) hookForm(f form) (form, error) {
	w, err := v.hook()
	f.Back, f.Facts = link{Title: "Webhook", URL: webhookPath(w.ID)}, hookFacts(&w)
	return f, err
}

func pauseWebhook(v *visit) (form, error) {
	return v.hookForm(form{
		Title: "Pause this webhook?", Lead: "Nothing is sent until you resume it. It then sends what happened in between, as far as those events are kept.", Submit: "Pause the webhook",
		send: func(*input) error { return v.setState(webhook.Paused, "The webhook is paused.") },
	})
}

func resumeWebhook(v *visit) (form, error) {
	return v.hookForm(form{
		Title: "Resume this webhook?", Lead: "It sends the events that are waiting at once.", Submit: "Resume the webhook",
		send: func(*input) error { return v.setState(webhook.Active, "The webhook is active.") },
	})
}

func (v *visit) setState(s webhook.State, said string) error {
	_, err := v.Webhooks.Update(v.r.Context(), v.who.Workspace.ID, v.id, webhook.Patch{State: petstore.Some(s)}, petstore.Condition{}, v.actor())
	return v.done(webhookPath(v.id), said, err)
}

func deleteWebhook(v *visit) (form, error) {
	return v.hookForm(form{
		Title: "Delete this webhook?", Lead: "Its deliveries go with it. This cannot be undone.", Submit: "Delete the webhook", Danger: true,
		send: func(*input) error {
			err := v.Webhooks.Delete(v.r.Context(), v.who.Workspace.ID, v.id, petstore.Condition{}, v.actor())
			return v.done("/console/webhooks", "The webhook was deleted.", err)
		},
	})
}

func rotateWebhook(v *visit) (form, error) {
	return v.hookForm(form{
		Title: "Rotate the secret?", Lead: "A new secret is made. Both sign for a day, so that your receiver can take over the new one.", Submit: "Create the new secret",
		send: func(*input) error {
			made, err := v.Webhooks.Rotate(v.r.Context(), v.who.Workspace.ID, v.id, nil, v.actor())
			return v.madeSecret(&made.Webhook, err)
		},
	})
}

func testWebhook(v *visit) (form, error) {
	return v.hookForm(form{
		Title: "Send a test event", Lead: "An event of the type webhook.test is posted now, and the answer is shown here.", Submit: "Send it",
		send: func(in *input) error {
			v.extend(testPatience)
			answer, err := v.Webhooks.Test(v.r.Context(), v.who.Workspace.ID, v.id)
			if err != nil {
				return err
			}
			if answer.OK() {
				in.form.Said = "The receiver answered " + saidIn(answer)
			} else {
				in.form.Error = "It was not delivered: " + saidIn(answer)
			}
			return v.show(http.StatusOK, in.form)
		},
	})
}

func replayWebhook(v *visit) (form, error) {
	return v.hookForm(form{
		Title: "Send events again", Lead: "All events after this one are sent again, the oldest first, as far as they are kept.", Submit: "Send them again",
		Fields: []field{{Name: "after", Label: "Event", Kind: "number", Required: true, Hint: "Its number: those after it are sent. 0 is the beginning."}},
		send: func(in *input) error {
			after := in.number("after")
			_, err := v.Webhooks.Replay(v.r.Context(), v.who.Workspace.ID, v.id, after, v.actor())
			return v.done(webhookPath(v.id), "The events after "+text(after)+" are sent again.", err)
		},
	})
}

// retryDelivery is the form of one delivery, with the whole of what was answered to it.
func retryDelivery(v *visit) (form, error) {
	f, err := v.hookForm(form{
		Title: "Try a delivery again", Lead: "The event is sent now. If that fails, it is tried as often as a new one.", Submit: "Try again",
		Fields: []field{{Name: "delivery", Label: "Event", Kind: "number", Required: true}},
		send:   v.retryDelivery,
	})
	delivery, _ := strconv.ParseInt(v.r.FormValue("delivery"), 10, 64) // anything else is none
	delivery = min(delivery, 1<<62)
	if err != nil || delivery < 1 {
		return f, err
	}
	f.Fields[0].Value = text(delivery)
	found, err := v.Webhooks.Deliveries(v.r.Context(), v.who.Workspace.ID, v.id, petstore.Page{After: delivery + 1, Limit: 1})
	if err == nil && len(found) == 1 && found[0].ID == delivery {
		f.Facts = deliveryFacts(&found[0])
	}
	return f, err
}

func deliveryFacts(d *webhook.Delivery) []fact {
	facts := []fact{
		{"Event", cell{Text: text(d.ID), URL: "/console/events/" + text(d.ID)}}, {"Type", cell{Text: string(d.Type), Code: true}}, {"State", cell{Text: string(d.State), Badge: string(d.State)}},
		{"Tries", cell{Text: number(int64(d.Tries))}}, {"Last try", instantCell(d.TriedAt)}, {"Next try", instantCell(d.NextAt)}, {"Answer", cell{Text: answerOf(d), Name: true}},
	}
	if len(d.Text) > 80 {
		facts = append(facts, fact{"The answer in full", cell{Text: access.Printable(d.Text), Name: true}})
	}
	return facts
}

func (v *visit) retryDelivery(in *input) error {
	delivery := in.number("delivery")
	_, err := v.Webhooks.Retry(v.r.Context(), v.who.Workspace.ID, v.id, delivery)
	if e, ok := errors.AsType[*petstore.Error](err); ok && e.Code == webhook.CodeDeliveryNotFound {
		return wrong("delivery", e.Message)
	}
	return v.done(webhookPath(v.id), "Event "+text(delivery)+" is sent again.", err)
}
