package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/webhook"
)

// testTimeout is how much longer a page may take that waits for a receiver.
const testTimeout = 30 * time.Second

func webhookPath(id string) string { return "/console/webhooks/" + id }

func webhookInPath(v *visit) (webhook.Webhook, error) {
	return v.Webhooks.Store.Webhook(v.R.Context(), v.who.Workspace.ID, v.ID)
}

// actor returns who is signed in, for the audit log.
func (v *visit) actor() string { return "console:" + v.who.Key.ID }

func showWebhooks(v *visit) error {
	l := page.NewList("Webhooks", "Webhooks post the events of this workspace to your URLs.", "There are no webhooks yet.", "URL", "Events", "State", "Failing since", "Created")
	l.New = &page.Link{Title: "Create a webhook", URL: "/console/webhooks/new"}
	all, err := v.Webhooks.Store.Webhooks(v.R.Context(), v.who.Workspace.ID)
	for i := range all {
		w := &all[i]
		failing := page.Cell{Text: "not failing"}
		if !w.FailingSince.IsZero() {
			failing = page.Cell{At: w.FailingSince}
		}
		l.Rows = append(l.Rows, []page.Cell{
			{Text: shortened(w.URL, 60), Name: true, URL: webhookPath(w.ID)}, {Text: typesOf(w)}, {Text: string(w.State), Badge: string(w.State)}, failing, {At: w.CreatedAt},
		})
	}
	return v.List(l, err)
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

func hookFacts(w *webhook.Webhook) []page.Fact {
	facts := []page.Fact{
		{Title: "URL", Cell: page.Cell{Text: w.URL, Name: true}}, {Title: "Events", Cell: page.Cell{Text: typesOf(w)}}, {Title: "State", Cell: page.Cell{Text: string(w.State), Badge: string(w.State)}},
		{Title: "Created", Cell: page.Cell{At: w.CreatedAt}}, {Title: "Read up to event", Cell: page.Cell{Text: page.Text(w.After)}}, {Title: "Id", Cell: page.Cell{Text: w.ID, Code: true}},
	}
	if w.Description != "" {
		facts = append(facts, page.Fact{Title: "Description", Cell: page.Cell{Text: access.Printable(w.Description), Name: true}})
	}
	if !w.FailingSince.IsZero() {
		facts = append(facts, page.Fact{Title: "Failing since", Cell: page.Cell{At: w.FailingSince}})
	}
	return facts
}

func newWebhook(v *visit) (page.Form, error) {
	return page.Form{
		Title: "Create a webhook", Submit: "Create the webhook", Back: page.Link{Title: "Webhooks", URL: "/console/webhooks"},
		Lead: "It sends the events from now on to your URL.", Fields: hookFields(&webhook.Webhook{}),
		Send: func(in *page.Input) error {
			made, err := v.Webhooks.Create(v.R.Context(), v.who.Workspace.ID, hookOf(in), v.OnceHere(), v.actor())
			return madeSecret(v, made, err)
		},
	}, nil
}

func hookFields(w *webhook.Webhook) []page.Field {
	types := page.Field{Name: "types", Label: "Events (all, if you choose none)", Kind: "checks", Options: page.OptionsOf("", petstore.EventTypes()...)[1:]}
	for _, t := range w.Types {
		page.Choose(types.Options, string(t))
	}
	return []page.Field{
		{Name: "url", Label: "URL", Kind: "text", Value: w.URL, Required: true, Hint: "For example https://example.com/petstore. It must be public."},
		types, {Name: "description", Label: "Description", Kind: "text", Value: w.Description},
	}
}

func hookOf(in *page.Input) webhook.New {
	n := webhook.New{URL: strings.TrimSpace(in.Text("url")), Description: strings.TrimSpace(in.Text("description"))}
	for _, t := range in.R.PostForm["types"] {
		n.Types = append(n.Types, petstore.EventType(t))
	}
	return n
}

func editWebhook(v *visit) (page.Form, error) {
	w, err := webhookInPath(v)
	return page.Form{
		Title: "Edit the webhook", Lead: "Events that are not delivered yet go to the new URL.", Submit: "Save", Fields: hookFields(&w),
		Back: page.Link{Title: "Webhook", URL: webhookPath(w.ID)},
		Send: func(in *page.Input) error {
			_, err := v.Webhooks.Update(v.R.Context(), v.who.Workspace.ID, w.ID, patchOf(&w, hookOf(in)), petstore.Condition{}, v.actor())
			return v.Then(webhookPath(w.ID), "The webhook was saved.", err)
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

func madeSecret(v *visit, made webhook.Changed, err error) error {
	w := made.Webhook
	if err == nil && made.Replayed {
		err = json.Unmarshal(made.Body, &w)
	}
	if err != nil {
		return err
	}
	return page.ShowSecret(v.Visit, page.Secret{
		Title: "The secret of your webhook", Lead: "With it your receiver verifies that events come from here. Copy it now: you cannot see it again.", Secret: w.Secret,
		Next: page.Link{Title: "To the webhook", URL: webhookPath(w.ID)},
	})
}

func showWebhook(v *visit) error {
	w, err := webhookInPath(v)
	if err != nil {
		return err
	}
	at := webhookPath(w.ID)
	deliveries, err := deliveriesPage(v, at)
	if err != nil {
		return err
	}
	p := sheetPage{
		Title: "Webhook", Lead: cmp.Or(access.Printable(w.Description), w.URL), Back: page.Link{Title: "Webhooks", URL: "/console/webhooks"},
		Sheets: []page.List{deliveries}, Facts: hookFacts(&w), Wide: true,
		Links: []page.Link{{Title: "Pause", URL: at + "/pause"}, {Title: "Edit", URL: at + "/edit"}, {Title: "Test", URL: at + "/test"}, {Title: "Rotate", URL: at + "/rotate"}, {Title: "Replay", URL: at + "/replay"}, {Title: "Delete", URL: at + "/delete", Danger: true}},
	}
	if w.State != webhook.Active {
		p.Links[0] = page.Link{Title: "Resume", URL: at + "/resume"}
	}
	return v.Render(http.StatusOK, "sheets", p.Title, p)
}

// deliveriesPage reads the page of deliveries that the query asks for, the newest first.
func deliveriesPage(v *visit, at string) (page.List, error) {
	l := page.NewList("Deliveries", "", "No event was sent to it yet.", "Event", "Type", "State", "Tries", "Last try", "Answer", "Next try", "")
	l.Numbers[3] = true
	rows, err := v.Webhooks.Deliveries(v.R.Context(), v.who.Workspace.ID, v.ID, petstore.Page{After: page.PlaceIn(v.R.URL.Query(), "after"), Limit: page.PageSize + 1})
	rows = page.Cut(&l, v.R.URL, rows, "after", func(last *webhook.Delivery) string { return page.Text(last.ID) })
	for i := range rows {
		d, id := &rows[i], page.Text(rows[i].ID)
		l.Rows = append(l.Rows, []page.Cell{
			{Text: id, URL: "/console/events/" + id}, {Text: string(d.Type), Code: true}, {Text: string(d.State), Badge: string(d.State)}, {Text: page.Number(int64(d.Tries))},
			instantCell(d.TriedAt), {Text: deliveryAnswer(d), Name: true}, instantCell(d.NextAt), {Links: []page.Link{{Title: "Try again", URL: at + "/retry?delivery=" + id}}},
		})
	}
	return l, err
}

func instantCell(t time.Time) page.Cell {
	if t.IsZero() {
		return page.Cell{Text: "none"}
	}
	return page.Cell{At: t}
}

// deliveryAnswer says in a line what a receiver answered to the latest try.
func deliveryAnswer(d *webhook.Delivery) string {
	if d.TriedAt.IsZero() {
		return "not tried yet"
	}
	return answerText(d.Answer)
}

// answerText says in a line what a receiver answered.
func answerText(a webhook.Answer) string {
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
func hookForm(v *visit, f page.Form) (page.Form, error) {
	w, err := webhookInPath(v)
	f.Back, f.Facts = page.Link{Title: "Webhook", URL: webhookPath(w.ID)}, hookFacts(&w)
	return f, err
}

func pauseWebhook(v *visit) (page.Form, error) {
	return hookForm(v, page.Form{
		Title: "Pause this webhook?", Lead: "Nothing is sent until you resume it. It then sends what happened in between, as far as those events are kept.", Submit: "Pause the webhook",
		Send: func(*page.Input) error { return setState(v, webhook.Paused, "The webhook is paused.") },
	})
}

func resumeWebhook(v *visit) (page.Form, error) {
	return hookForm(v, page.Form{
		Title: "Resume this webhook?", Lead: "It sends the events that are waiting at once.", Submit: "Resume the webhook",
		Send: func(*page.Input) error { return setState(v, webhook.Active, "The webhook is active.") },
	})
}

func setState(v *visit, s webhook.State, said string) error {
	_, err := v.Webhooks.Update(v.R.Context(), v.who.Workspace.ID, v.ID, webhook.Patch{State: petstore.Some(s)}, petstore.Condition{}, v.actor())
	return v.Then(webhookPath(v.ID), said, err)
}

func deleteWebhook(v *visit) (page.Form, error) {
	return hookForm(v, page.Form{
		Title: "Delete this webhook?", Lead: "Its deliveries go with it. This cannot be undone.", Submit: "Delete the webhook", Danger: true,
		Send: func(*page.Input) error {
			err := v.Webhooks.Delete(v.R.Context(), v.who.Workspace.ID, v.ID, petstore.Condition{}, v.actor())
			return v.Then("/console/webhooks", "The webhook was deleted.", err)
		},
	})
}

func rotateWebhook(v *visit) (page.Form, error) {
	return hookForm(v, page.Form{
		Title: "Rotate the secret?", Lead: "A new secret is made. Both sign for a day, so that your receiver can take over the new one.", Submit: "Create the new secret",
		Send: func(*page.Input) error {
			made, err := v.Webhooks.Rotate(v.R.Context(), v.who.Workspace.ID, v.ID, v.OnceHere(), v.actor())
			return madeSecret(v, made, err)
		},
	})
}

func testWebhook(v *visit) (page.Form, error) {
	return hookForm(v, page.Form{
		Title: "Send a test event", Lead: "An event of the type webhook.test is posted now, and the answer is shown here.", Submit: "Send it",
		Send: func(in *page.Input) error {
			v.Extend(testTimeout)
			answer, err := v.Webhooks.Test(v.R.Context(), v.who.Workspace.ID, v.ID)
			if err != nil {
				return err
			}
			if answer.OK() {
				in.Form.Said = "The receiver answered " + answerText(answer)
			} else {
				in.Form.Error = "It was not delivered: " + answerText(answer)
			}
			return v.Show(http.StatusOK, in.Form)
		},
	})
}

func replayWebhook(v *visit) (page.Form, error) {
	return hookForm(v, page.Form{
		Title: "Send events again", Lead: "All events after this one are sent again, the oldest first, as far as they are kept.", Submit: "Send them again",
		Fields: []page.Field{{Name: "after", Label: "Event", Kind: "number", Required: true, Hint: "Its number: those after it are sent. 0 is the beginning."}},
		Send: func(in *page.Input) error {
			after := in.Number("after")
			_, err := v.Webhooks.Replay(v.R.Context(), v.who.Workspace.ID, v.ID, after, v.actor())
			return v.Then(webhookPath(v.ID), "The events after "+page.Text(after)+" are sent again.", err)
		},
	})
}

// retryDelivery is the form of one delivery, with the whole of what was answered to it.
func retryDelivery(v *visit) (page.Form, error) {
	f, err := hookForm(v, page.Form{
		Title: "Try a delivery again", Lead: "The event is sent now. If that fails, it is tried as often as a new one.", Submit: "Try again",
		Fields: []page.Field{{Name: "delivery", Label: "Event", Kind: "number", Required: true}},
		Send:   func(in *page.Input) error { return sendAgain(v, in) },
	})
	delivery, _ := strconv.ParseInt(v.R.FormValue("delivery"), 10, 64) // anything else is none
	delivery = min(delivery, 1<<62)
	if err != nil || delivery < 1 {
		return f, err
	}
	f.Fields[0].Value = page.Text(delivery)
	found, err := v.Webhooks.Deliveries(v.R.Context(), v.who.Workspace.ID, v.ID, petstore.Page{After: delivery + 1, Limit: 1})
	if err == nil && len(found) == 1 && found[0].ID == delivery {
		f.Facts = deliveryFacts(&found[0])
	}
	return f, err
}

func deliveryFacts(d *webhook.Delivery) []page.Fact {
	facts := []page.Fact{
		{Title: "Event", Cell: page.Cell{Text: page.Text(d.ID), URL: "/console/events/" + page.Text(d.ID)}}, {Title: "Type", Cell: page.Cell{Text: string(d.Type), Code: true}}, {Title: "State", Cell: page.Cell{Text: string(d.State), Badge: string(d.State)}},
		{Title: "Tries", Cell: page.Cell{Text: page.Number(int64(d.Tries))}}, {Title: "Last try", Cell: instantCell(d.TriedAt)}, {Title: "Next try", Cell: instantCell(d.NextAt)}, {Title: "Answer", Cell: page.Cell{Text: deliveryAnswer(d), Name: true}},
	}
	if len(d.Text) > 80 {
		facts = append(facts, page.Fact{Title: "The answer in full", Cell: page.Cell{Text: access.Printable(d.Text), Name: true}})
	}
	return facts
}

func sendAgain(v *visit, in *page.Input) error {
	delivery := in.Number("delivery")
	_, err := v.Webhooks.Retry(v.R.Context(), v.who.Workspace.ID, v.ID, delivery)
	if e, ok := errors.AsType[*petstore.Error](err); ok && e.Code == webhook.CodeDeliveryNotFound {
		return page.FieldError("delivery", e.Message)
	}
	return v.Then(webhookPath(v.ID), "Event "+page.Text(delivery)+" is sent again.", err)
}
