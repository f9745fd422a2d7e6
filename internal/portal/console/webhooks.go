package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/webhook"
)

// testTimeout is how much longer a page that waits for a receiver may take.
const testTimeout = 30 * time.Second

func webhookPath(id string) string { return "/console/webhooks/" + id }

func webhookInPath(v *visit) (webhook.Webhook, error) {
	return v.Webhooks.Store.Webhook(v.R.Context(), v.shop(), v.ID)
}

// actor returns the user for the audit log.
func (v *visit) actor() string { return "console:" + v.who.Key.ID }

// listWebhooks reads the webhooks with their states.
func listWebhooks(v *visit) (page.List, error) {
	l := page.NewList("Webhooks", "Webhooks post the events of this workspace to your URLs.", "There are no webhooks yet.", "URL", "State", "Why it fails", "Events", "Created")
	l.Live, l.New = true, &page.Link{Title: "Create a webhook", URL: "/console/webhooks/new"}
	all, err := v.Webhooks.Store.Webhooks(v.R.Context(), v.shop())
	for i := range all {
		w := &all[i]
		l.Rows = append(l.Rows, []page.Cell{
			{Text: petstore.Shorten(w.URL, 60), Name: true, URL: webhookPath(w.ID)}, healthOf(w), {Text: cmp.Or(access.Printable(w.Failure), "–"), Name: true}, {Text: typesOf(w)}, {At: w.CreatedAt},
		})
	}
	return l, err
}

// failingWebhooks returns the webhooks that fail, for those who may see them.
func failingWebhooks(v *visit) (l page.List, err error) {
	if v.Webhooks != nil && v.May(access.Read|access.Manage) {
		l, err = listWebhooks(v)
		l.Title, l.Lead, l.New = "Webhooks that fail", "", nil
		l.Rows = slices.DeleteFunc(l.Rows, func(row []page.Cell) bool { return row[1].At.IsZero() })
	}
	return l, err
}

// healthOf returns the state of a webhook, and since when it fails.
func healthOf(w *webhook.Webhook) page.Cell {
	c := page.Cell{Text: string(w.State), Badge: string(w.State)}
	if !w.FailingSince.IsZero() {
		c.Note, c.At = "failing since", w.FailingSince
		if w.State == webhook.Active {
			c.Text, c.Badge, c.Note = "failing", string(webhook.Failed), "since"
		}
	}
	return c
}

func typesOf(w *webhook.Webhook) string {
	if len(w.Types) == 0 {
		return "all"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(w.Types), "[]"), " ", ", ")
}

// hookFacts are what there is to know of a webhook, first of all whether it fails, and why.
func hookFacts(w *webhook.Webhook) []page.Fact {
	facts := []page.Fact{{Title: "State", Cell: healthOf(w)}}
	for _, f := range []page.Fact{{Title: "Why it fails", Cell: page.Cell{Text: w.Failure}}, {Title: "URL", Cell: page.Cell{Text: w.URL}}, {Title: "Description", Cell: page.Cell{Text: w.Description}}} {
		if f.Text != "" {
			f.Text, f.Name = access.Printable(f.Text), true
			facts = append(facts, f)
		}
	}
	return append(facts, page.Fact{Title: "Events", Cell: page.Cell{Text: typesOf(w)}}, page.Fact{Title: "Created", Cell: page.Cell{At: w.CreatedAt}},
		page.Fact{Title: "Read up to event", Cell: page.Cell{Text: page.Text(w.After)}}, page.Fact{Title: "Id", Cell: page.Cell{Text: w.ID, Code: true}})
}

func newWebhook(v *visit) (page.Form, error) {
	return page.Form{
		Title: "Create a webhook", Submit: "Create the webhook", Back: page.Link{Title: "Webhooks", URL: "/console/webhooks"},
		Lead: "It sends the events from now on to your URL.", Fields: hookFields(&webhook.Webhook{}),
		Send: func(in *page.Input) error {
			made, err := v.Webhooks.Create(v.R.Context(), v.shop(), hookOf(in), v.OnceHere(), v.actor())
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
	was := page.Field{Name: "was", Kind: "hidden", Value: cmp.Or(v.R.PostForm.Get("was"), string(w.State))} // the state that the form showed
	state := page.Field{Name: "state", Label: "State", Kind: "select", Options: page.Choose(page.OptionsOf("", webhook.Active, webhook.Paused)[1:], string(w.State)),
		Hint: "While it is paused, nothing is sent. When it is active again, it sends what happened in between, as far as those events are kept."}
	if w.State == webhook.Disabled {
		state.Hint = "It is disabled. " + state.Hint
	}
	return page.Form{
		Title: "Edit the webhook", Lead: "Events that are not delivered yet go to the new URL.", Submit: "Save", Fields: append(hookFields(&w), state, was),
		Back: page.Link{Title: "Webhook", URL: webhookPath(w.ID)},
		Send: func(in *page.Input) error {
			n, to := hookOf(in), webhook.State(in.Text("state"))
			patch := webhook.Patch{URL: petstore.Some(n.URL), Types: petstore.Some(n.Types), Description: petstore.Some(n.Description)}
			if to != webhook.State(was.Value) { // else it stays as somebody may have set it meanwhile
				patch.State = petstore.Some(to)
			}
			_, err := v.Webhooks.Update(v.R.Context(), v.shop(), w.ID, patch, petstore.Condition{}, v.actor())
			return v.Then(webhookPath(w.ID), "The webhook was saved.", err)
		},
	}, err
}

func madeSecret(v *visit, made webhook.Changed, err error) error {
	if err != nil {
		return err
	}
	return page.ShowSecret(v.Visit, page.Secret{
		Title: "The secret of your webhook", Lead: "With it your receiver verifies that events come from here. Copy it now: you cannot see it again.", Secret: made.Webhook.Secret,
		Next: page.Link{Title: "To the webhook", URL: webhookPath(made.Webhook.ID)},
	})
}

func showWebhook(v *visit) error {
	w, err := webhookInPath(v)
	if err != nil {
		return err
	}
	deliveries, err := deliveriesOf(v)
	at := webhookPath(w.ID)
	p := page.Form{
		Title: "Webhook", Lead: cmp.Or(access.Printable(w.Description), w.URL), Back: page.Link{Title: "Webhooks", URL: "/console/webhooks"},
		Sheets: []page.List{deliveries}, Facts: hookFacts(&w), Wide: true, Live: true,
		Links: []page.Link{{Title: "Edit", URL: at + "/edit"}, {Title: "Test", URL: at + "/test"}, {Title: "Rotate", URL: at + "/rotate"}, {Title: "Replay", URL: at + "/replay"}, {Title: "Delete", URL: at + "/delete", Danger: true}},
	}
	return cmp.Or(err, v.Show(http.StatusOK, p))
}

// deliveriesOf reads the page of deliveries of the webhook in the path that the query asks for, the newest first.
func deliveriesOf(v *visit) (page.List, error) {
	l := page.NewList("Deliveries", "", "No event was sent to it yet.", "Event", "Type", "State", "Tries", "Last try", "Answer", "Next try")
	l.Numbers[3] = true
	rows, err := v.Webhooks.Deliveries(v.R.Context(), v.shop(), v.ID, petstore.Page{After: page.PlaceIn(v.R.URL.Query(), "after"), Limit: page.PageSize + 1})
	rows = page.Cut(&l, v.R.URL, rows, "after", func(last *webhook.Delivery) string { return page.Text(last.ID) })
	for i := range rows {
		d, id := &rows[i], page.Text(rows[i].ID)
		l.Rows = append(l.Rows, []page.Cell{
			{Text: id, URL: webhookPath(v.ID) + "/delivery?event=" + id}, {Text: string(d.Type), Code: true}, stateOf(d), {Text: page.Number(int64(d.Tries))},
			{At: d.TriedAt}, {Text: cmp.Or(access.Printable(d.String()), "not tried yet"), Name: true}, nextTry(d, page.Cell{At: d.NextAt}),
		})
	}
	return l, err
}

// stateOf returns a cell with the state of a delivery.
func stateOf(d *webhook.Delivery) page.Cell {
	if d.State == webhook.Pending && !d.TriedAt.IsZero() && !d.OK() {
		return page.Cell{Text: "retrying", Badge: string(webhook.Failed)}
	}
	return page.Cell{Text: string(d.State), Badge: string(d.State)}
}

// nextTry returns when a delivery is tried next.
func nextTry(d *webhook.Delivery, at page.Cell) page.Cell {
	if d.State == webhook.Pending && d.NextAt.IsZero() {
		return page.Cell{Text: "once the webhook is active again"}
	}
	return at
}

// deliveryOf reads the delivery of the event that the query names, with its webhook.
func deliveryOf(v *visit) (w webhook.Webhook, d webhook.Delivery, err error) {
	event := min(page.PlaceIn(v.R.URL.Query(), "event"), 1<<62)
	if w, err = webhookInPath(v); err != nil {
		return w, d, err
	}
	found, err := v.Webhooks.Deliveries(v.R.Context(), v.shop(), v.ID, petstore.Page{After: event + 1, Limit: 1})
	if err == nil && len(found) > 0 && found[0].ID == event {
		return w, found[0], nil
	}
	return w, d, cmp.Or(err, webhook.NoDelivery(event))
}

// triesOf returns the tries of a delivery with their answers, the latest first. If another try is due, it
// comes first.
func triesOf(d *webhook.Delivery) page.List {
	l := page.NewList("Tries", "", "", "When", "Result", "Took", "Answer")
	l.Numbers[2] = true
	if d.State == webhook.Pending {
		l.Rows = append(l.Rows, []page.Cell{nextTry(d, exactly(d.NextAt)), {Text: "to come", Badge: string(webhook.Pending)}, {}, {}})
	}
	tries := append([]webhook.Attempt{}, d.Earlier...)
	if !d.TriedAt.IsZero() {
		tries = append(tries, webhook.Attempt{At: d.TriedAt, Answer: d.Answer})
	}
	for _, t := range slices.Backward(tries) {
		result := page.Cell{Text: cmp.Or(strings.TrimPrefix(page.Text(int64(t.Status)), "0"), "no answer"), Badge: string(webhook.Failed)}
		if t.OK() {
			result.Badge = string(webhook.Delivered)
		}
		text := strings.Join(strings.Fields(cmp.Or(t.Error, t.Answer.Text)), " ")
		l.Rows = append(l.Rows, []page.Cell{exactly(t.At), result, {Text: page.Number(t.Latency.Milliseconds()) + " ms"}, {Text: cmp.Or(access.Printable(text), "empty"), Name: true}})
	}
	return l
}

// exactly returns an instant with its second.
func exactly(t time.Time) page.Cell { return page.Cell{Text: page.InWords(t), Prose: true} }

// showDelivery shows a delivery: the request that is sent, and the outcome of each try.
func showDelivery(v *visit) (page.Form, error) {
	ctx, workspace := v.R.Context(), v.shop()
	w, d, err := deliveryOf(v)
	if err != nil {
		return page.Form{}, err
	}
	event, at := page.Text(d.ID), webhookPath(w.ID)+"/delivery"
	f := page.Form{
		Title: "Delivery of event " + event, Lead: "What is sent, and what became of each try. If you send it again and that fails, it is tried as often as a new event.",
		Back: page.Link{Title: "Webhook", URL: webhookPath(w.ID)}, Heading: "Send it again", Submit: "Try again",
		Sheets: []page.List{triesOf(&d)}, Live: true, Facts: []page.Fact{
			{Title: "State", Cell: stateOf(&d)}, {Title: "Event", Cell: page.Cell{Text: event, URL: "/console/events/" + event}},
			{Title: "Type", Cell: page.Cell{Text: string(d.Type), Code: true}}, {Title: "URL", Cell: page.Cell{Text: w.URL, Name: true}},
		},
	}
	f.Send = func(*page.Input) error {
		_, err := v.Webhooks.Retry(ctx, workspace, w.ID, d.ID)
		return v.Then(at+"?event="+event, "The event is sent again. What comes of it is in the table of tries.", err)
	}
	e, err := v.Events.Event(ctx, workspace, d.ID)
	if petstore.CodeOf(err) == petstore.CodeEventNotFound {
		f.Lead = "The event is no longer kept, and cannot be sent again."
		return f, nil
	}
	if err != nil {
		return f, err
	}
	sent, err := v.Webhooks.Request(ctx, &w, e)
	f.Code = page.Snippet{Title: "What is sent", Text: strings.ReplaceAll(access.Printable(string(sent)), `\u000d\u000a`, "\n"), Hint: "The timestamp and the signature are made anew for each try."}
	return f, err
}

// hookForm completes a form of the webhook in the path.
func hookForm(v *visit, f page.Form) (page.Form, error) {
	w, err := webhookInPath(v)
	f.Heading, f.Back, f.Facts = w.URL, page.Link{Title: "Webhook", URL: webhookPath(w.ID)}, hookFacts(&w)
	return f, err
}

func deleteWebhook(v *visit) (page.Form, error) {
	return hookForm(v, page.Form{
		Title: "Delete this webhook?", Lead: "Its deliveries go with it. This cannot be undone.", Submit: "Delete the webhook", Danger: true,
		Send: func(*page.Input) error {
			err := v.Webhooks.Delete(v.R.Context(), v.shop(), v.ID, petstore.Condition{}, v.actor())
			return v.Then("/console/webhooks", "The webhook was deleted.", err)
		},
	})
}

func rotateWebhook(v *visit) (page.Form, error) {
	return hookForm(v, page.Form{
		Title: "Rotate the secret?", Lead: "A new secret is made. Both sign for a day, so that your receiver can take over the new one.", Submit: "Create the new secret",
		Send: func(*page.Input) error {
			made, err := v.Webhooks.Rotate(v.R.Context(), v.shop(), v.ID, v.OnceHere(), v.actor())
			return madeSecret(v, made, err)
		},
	})
}

func testWebhook(v *visit) (page.Form, error) {
	return hookForm(v, page.Form{
		Title: "Send a test event", Lead: "An event of the type webhook.test is posted now, and the answer is shown here.", Submit: "Send it",
		Send: func(in *page.Input) error {
			page.Extend(v.W, testTimeout)
			answer, err := v.Webhooks.Test(v.R.Context(), v.shop(), v.ID)
			if err != nil {
				return err
			}
			if answer.OK() {
				in.Form.Said = "The receiver answered " + access.Printable(answer.String())
			} else {
				in.Form.Error = "It was not delivered: " + access.Printable(answer.String())
			}
			return v.Show(http.StatusOK, in.Form)
		},
	})
}

func replayWebhook(v *visit) (page.Form, error) {
	return hookForm(v, page.Form{
		Title: "Send events again", Lead: "The oldest are sent first, as far as they are kept.", Submit: "Send them again",
		Fields: []page.Field{{Name: "since", Label: "All since", Kind: "time", Hint: "Without a time, those that failed are sent."}},
		Send: func(in *page.Input) error {
			ctx, workspace, at := v.R.Context(), v.shop(), webhookPath(v.ID)
			since := in.Instant("since")
			if !since.Valid {
				n, err := v.Webhooks.RetryFailed(ctx, workspace, v.ID)
				return v.Then(at, page.Counted(n, "event that failed is", "events that failed are")+" sent again.", err)
			}
			after, err := lastEventBefore(v, since)
			if err == nil {
				_, err = v.Webhooks.Replay(ctx, workspace, v.ID, after, v.actor())
			}
			return v.Then(at, "The events since "+page.InWords(since.UTC())+" are sent again.", err)
		},
	})
}

// lastEventBefore returns the id after which the events since an instant come. Ids and times grow together.
func lastEventBefore(v *visit, t petstore.Time) (int64, error) {
	read := func(q petstore.EventQuery) (petstore.EventPage, error) {
		q.Limit = 1
		return v.Events.Events(v.R.Context(), v.shop(), q)
	}
	first, err := read(petstore.EventQuery{Oldest: true})
	if err != nil || len(first.Events) == 0 {
		return first.Last, err
	}
	begin := first.Events[0].ID - 1
	n := sort.Search(int(first.Last-begin), func(i int) bool {
		if err != nil {
			return true
		}
		var next petstore.EventPage
		next, err = read(petstore.EventQuery{After: begin + int64(i)})
		return err != nil || len(next.Events) == 0 || next.Events[0].CreatedAt.Millis >= t.Millis
	})
	return begin + int64(n), err
}
