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
	"example.com/petstore/internal/portal/page"
)

// readsForPage is how often a page reads on in a feed to find events of one type.
const readsForPage = 5

// listEvents reads the page of events that the query asks for, the newest first.
func listEvents(ctx context.Context, v *visit) (page.List, error) {
	l := page.NewList("Events", "Every change in this workspace, newest first.", "Nothing has changed yet.", "Event", "Type", "What", "When", "Request")
	query := v.R.URL.Query()
	wanted := petstore.EventType(query.Get("type"))
	l.Filters = []page.Field{{Name: "type", Label: "Type", Kind: "select", Options: page.Choose(page.OptionsOf("Any type", petstore.EventTypes()...), string(wanted))}}
	q := petstore.EventQuery{After: page.PlaceIn(query, "after"), Newest: true, Limit: page.PageSize}
	if l.Filtered = wanted.Valid(); l.Filtered {
		q.Types = []petstore.EventType{wanted}
	}
	found, err := readEvents(ctx, v, q)
	for i := range found.Events {
		l.Rows = append(l.Rows, eventCells(&found.Events[i]))
	}
	l.Turn(v.R.URL, "after", page.Text(found.Next), found.More)
	return l, err
}

// readEvents returns the events that the query asks for, as far as a few reads find them.
func readEvents(ctx context.Context, v *visit, q petstore.EventQuery) (found petstore.EventPage, err error) {
	found.More = true
	for reads, most := 0, q.Limit; found.More && reads < readsForPage && q.Limit > 0; reads++ {
		more, err := v.Events.Events(ctx, v.who.Workspace.Shop, q)
		if err != nil {
			return found, err
		}
		found = petstore.EventPage{Events: append(found.Events, more.Events...), Next: more.Next, More: more.More}
		q.After, q.Limit = more.Next, most-len(found.Events)
	}
	return found, nil
}

// maxCancelled is among how many of the orders that were cancelled last one is looked for.
const maxCancelled = 200

// cancelledAt returns when an order was cancelled, or the zero time if the latest events do not say so.
func cancelledAt(v *visit, order int64) (time.Time, error) {
	if v.Events == nil {
		return time.Time{}, nil
	}
	found, err := readEvents(v.R.Context(), v, petstore.EventQuery{Newest: true, Types: []petstore.EventType{petstore.OrderCancelled}, Limit: maxCancelled})
	for i := range found.Events {
		e := &found.Events[i]
		if subjectOf(e).Text == "order "+page.Text(order) {
			return e.CreatedAt.UTC(), nil
		}
	}
	return time.Time{}, err
}

func eventCells(e *petstore.Event) []page.Cell {
	id := page.Text(e.ID)
	return []page.Cell{
		{Text: id, URL: "/console/events/" + id}, {Text: string(e.Type), Code: true}, subjectOf(e),
		{At: e.CreatedAt.UTC()}, requestCell(e.RequestID),
	}
}

// requestCell leads to a request, which the log may have.
func requestCell(id string) page.Cell {
	if id == "" {
		return page.Cell{Text: "a command"}
	}
	return page.Cell{Text: id, URL: "/console/requests/" + url.PathEscape(id)}
}

// subjectOf names what an event tells of, with its page unless this event ended it. A later one may have.
func subjectOf(e *petstore.Event) page.Cell {
	var data struct {
		ID, PetID int64
		Name      string
	}
	kind, what, _ := strings.Cut(string(e.Type), ".")
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return page.Cell{}
	}
	c := page.Cell{Text: "everything"}
	switch kind {
	case "pet":
		c = page.Cell{Text: data.Name, Name: true, URL: "/console/pets/" + page.Text(data.ID)}
	case "category":
		c = page.Cell{Text: data.Name, Name: true, URL: "/console/categories/" + page.Text(data.ID)}
	case "order":
		c = page.Cell{Text: "order " + page.Text(data.ID), URL: "/console/orders/" + page.Text(data.ID)}
	case "inventory":
		c = page.Cell{Text: "pet " + page.Text(data.PetID), URL: "/console/stock/" + page.Text(data.PetID)}
	}
	if what == "deleted" || what == "cancelled" {
		c.URL = ""
	}
	return c
}

func showEvent(v *visit) error {
	e, err := inPath(v, v.Events.Event)
	if err != nil {
		return err
	}
	changed, err := changeOf(&e)
	if err != nil {
		return err
	}
	return v.Render(http.StatusOK, "sheets", "Event "+page.Text(e.ID), sheetPage{
		Title: "Event " + page.Text(e.ID), Lead: "What changed.", Back: page.Link{Title: "Events", URL: "/console/events"},
		Sheets: []page.List{changed},
		Facts: []page.Fact{
			{Title: "Type", Cell: page.Cell{Text: string(e.Type), Code: true}}, {Title: "What", Cell: subjectOf(&e)}, {Title: "When", Cell: page.Cell{At: e.CreatedAt.UTC()}},
			{Title: "Request", Cell: requestCell(e.RequestID)},
		},
	})
}

// changeOf returns the members of what an event tells of: of an update those that
// changed, before and now, else all.
func changeOf(e *petstore.Event) (page.List, error) {
	now, err := membersOf(e.Data)
	if err != nil {
		return page.List{}, err
	}
	if len(e.Previous) == 0 {
		l := page.NewList("Content", "", "It has no members.", "Member", "Value")
		for _, m := range now {
			l.Rows = append(l.Rows, []page.Cell{{Text: m.name, Code: true}, {Text: m.value, Name: true}})
		}
		return l, nil
	}
	before, err := membersOf(e.Previous)
	l := page.NewList("What changed", "", "", "Member", "Before", "Now")
	was := map[string]string{}
	for _, m := range before {
		was[m.name] = m.value
	}
	for _, m := range now {
		if value, changed := was[m.name]; changed {
			l.Rows = append(l.Rows, []page.Cell{{Text: m.name, Code: true}, {Text: value, Name: true}, {Text: m.value, Name: true}})
		}
		delete(was, m.name)
	}
	for _, m := range before {
		if value, gone := was[m.name]; gone {
			l.Rows = append(l.Rows, []page.Cell{{Text: m.name, Code: true}, {Text: value, Name: true}, {Text: "none"}})
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
