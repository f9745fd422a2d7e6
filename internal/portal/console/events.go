package console

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
)

// readsForPage is how often a page reads on in a feed to find events of one type.
const readsForPage = 5

// listEvents reads the page of events that the query asks for, the newest first.
func listEvents(ctx context.Context, v *visit) (list, error) {
	l := listOf("Events", "Every change in this workspace, newest first.", "Nothing has changed yet.", "Event", "Type", "What", "When", "Request")
	query := v.r.URL.Query()
	wanted := petstore.EventType(query.Get("type"))
	l.Filters = []field{{Name: "type", Label: "Type", Kind: "select", Options: choose(optionsOf("Any type", petstore.EventTypes()...), string(wanted))}}
	q := petstore.EventQuery{After: placeIn(query, "after"), Newest: true, Limit: pageSize}
	if l.Filtered = wanted.Valid(); l.Filtered {
		q.Types = []petstore.EventType{wanted}
	}
	page, err := v.readEvents(ctx, q)
	for i := range page.Events {
		l.Rows = append(l.Rows, eventCells(&page.Events[i]))
	}
	l.turn(v.r.URL, "after", text(page.Next), page.More)
	return l, err
}

// readEvents returns the events that the query asks for, as far as a few reads find them.
func (v *visit) readEvents(ctx context.Context, q petstore.EventQuery) (found petstore.EventPage, err error) {
	found.More = true
	for reads, most := 0, q.Limit; found.More && reads < readsForPage && q.Limit > 0; reads++ {
		page, err := v.Events.Events(ctx, v.who.Workspace.ID, q)
		if err != nil {
			return found, err
		}
		found = petstore.EventPage{Events: append(found.Events, page.Events...), Next: page.Next, More: page.More}
		q.After, q.Limit = page.Next, most-len(found.Events)
	}
	return found, nil
}

// latestCancelled is among how many of the orders that were cancelled last one is looked for.
const latestCancelled = 200

// cancelledAt returns when an order was cancelled, or the zero time if the latest events do not say so.
func (v *visit) cancelledAt(order int64) (time.Time, error) {
	if v.Events == nil {
		return time.Time{}, nil
	}
	page, err := v.readEvents(v.r.Context(), petstore.EventQuery{Newest: true, Types: []petstore.EventType{petstore.OrderCancelled}, Limit: latestCancelled})
	for i := range page.Events {
		e := &page.Events[i]
		if subjectOf(e).Text == "order "+text(order) {
			return e.CreatedAt.UTC(), nil
		}
	}
	return time.Time{}, err
}

func eventCells(e *petstore.Event) []cell {
	id := text(e.ID)
	return []cell{
		{Text: id, URL: "/console/events/" + id}, {Text: string(e.Type), Code: true}, subjectOf(e),
		{At: e.CreatedAt.UTC()}, requestCell(e.RequestID),
	}
}

// requestCell leads to a request, which the log may have.
func requestCell(id string) cell {
	if id == "" {
		return cell{Text: "a command"}
	}
	return cell{Text: id, URL: "/console/requests/" + url.PathEscape(id)}
}

// subjectOf names what an event tells of, with its page unless this event ended it. A later one may have.
func subjectOf(e *petstore.Event) cell {
	var data struct {
		ID, PetID int64
		Name      string
	}
	kind, what, _ := strings.Cut(string(e.Type), ".")
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return cell{}
	}
	c := cell{Text: "everything"}
	switch kind {
	case "pet":
		c = cell{Text: data.Name, Name: true, URL: "/console/pets/" + text(data.ID)}
	case "category":
		c = cell{Text: data.Name, Name: true, URL: "/console/categories/" + text(data.ID)}
	case "order":
		c = cell{Text: "order " + text(data.ID), URL: "/console/orders/" + text(data.ID)}
	case "inventory":
		c = cell{Text: "pet " + text(data.PetID), URL: "/console/stock/" + text(data.PetID)}
	}
	if what == "deleted" || what == "cancelled" {
		c.URL = ""
	}
	return c
}

func showEvent(v *visit) error {
	id, err := v.number()
	if err != nil {
		return err
	}
	e, err := v.Events.Event(v.r.Context(), v.who.Workspace.ID, id)
	if err != nil {
		return err
	}
	changed, err := changeOf(&e)
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "sheets", "Event "+text(id), sheetPage{
		Title: "Event " + text(id), Lead: "What changed.", Back: link{Title: "Events", URL: "/console/events"},
		Sheets: []list{changed},
		Facts: []fact{
			{"Type", cell{Text: string(e.Type), Code: true}}, {"What", subjectOf(&e)}, {"When", cell{At: e.CreatedAt.UTC()}},
			{"Request", requestCell(e.RequestID)},
		},
	})
}

// changeOf returns the members of what an event tells of: of an update those that
// changed, before and now, else all.
func changeOf(e *petstore.Event) (list, error) {
	now, err := membersOf(e.Data)
	if err != nil {
		return list{}, err
	}
	if len(e.Previous) == 0 {
		l := listOf("Content", "", "It has no members.", "Member", "Value")
		for _, m := range now {
			l.Rows = append(l.Rows, []cell{{Text: m.name, Code: true}, {Text: m.value, Name: true}})
		}
		return l, nil
	}
	before, err := membersOf(e.Previous)
	l := listOf("What changed", "", "", "Member", "Before", "Now")
	was := map[string]string{}
	for _, m := range before {
		was[m.name] = m.value
	}
	for _, m := range now {
		if value, changed := was[m.name]; changed {
			l.Rows = append(l.Rows, []cell{{Text: m.name, Code: true}, {Text: value, Name: true}, {Text: m.value, Name: true}})
		}
		delete(was, m.name)
	}
	for _, m := range before {
		if value, gone := was[m.name]; gone {
			l.Rows = append(l.Rows, []cell{{Text: m.name, Code: true}, {Text: value, Name: true}, {Text: "none"}})
		}
	}
	return l, err
}

// A member is one of an object of JSON, as people see it.
type member struct{ name, value string }

// membersOf returns the members of an object in their order.
func membersOf(object []byte) (all []member, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	_, err = d.Token()
	for err == nil && d.More() {
		var name json.Token
		var value json.RawMessage
		if name, err = d.Token(); err == nil {
			err = d.Decode(&value)
		}
		m := member{value: string(value)}
		m.name, _ = name.(string)
		var words string
		if m.value == "null" {
			m.value = "none"
		} else if json.Unmarshal(value, &words) == nil {
			m.value = words
		}
		all = append(all, m)
	}
	return all, err
}
