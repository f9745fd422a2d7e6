package console

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

// listEvents reads the page of events that the query asks for, the newest first. Of events of one type a page has those that one
// read of the feed finds.
func listEvents(v *visit) (page.List, error) {
	l := page.NewList("Events", "Every change in this workspace, newest first.", "Nothing has changed yet.", "Event", "Type", "What", "When", "By", "Request")
	l.Live = true
	f := page.Filters{Query: v.R.URL.Query()}
	q := petstore.EventQuery{After: page.PlaceIn(f.Query, "after"), Newest: true, Limit: page.PageSize}
	if wanted := petstore.EventType(f.Add(page.Field{Name: "type", Label: "Type", Kind: "select", Options: page.OptionsOf("Any type", petstore.EventTypes()...)})); wanted != "" {
		q.Types = []petstore.EventType{wanted}
	}
	q.Order = orderFilter(&f, page.Field{Name: "order", Label: "Order", Hint: "Its number"})
	pet, err := petPicker.filter(v, &f)
	if q.Pet = pet; q.Pet != 0 && q.Order != 0 {
		f.Fault("Choose an order or a pet, not both.")
	}
	if l.Filters = f; err != nil || f.Wrong() != nil {
		return l, err
	}
	by, err := keyCells(v)
	if err != nil {
		return l, err
	}
	asked := requestKeyCells(v, by)
	found, err := v.Events.Events(v.R.Context(), v.shop(), q)
	for i := range found.Events {
		e := &found.Events[i]
		l.Rows = append(l.Rows, []page.Cell{
			{Text: page.Text(e.ID), URL: "/console/events/" + page.Text(e.ID)}, {Text: string(e.Type), Code: true}, subjectOf(e), {At: e.CreatedAt.UTC()}, asked(e), requestCell(e.RequestID),
		})
	}
	l.Turn(v.R.URL, "after", page.Text(found.Next), found.More)
	return l, err
}

// requestKeyCells returns a function that returns a cell with the key of an event's request, if the log
// still has the request.
func requestKeyCells(v *visit, by func(keyID string) page.Cell) func(*petstore.Event) page.Cell {
	keys := map[string]string{}
	for _, e := range v.Usage.Latest(v.who.Workspace.ID) {
		keys[e.RequestID] = e.KeyID
	}
	return func(e *petstore.Event) page.Cell {
		if id := keys[e.RequestID]; id != "" || e.RequestID == "" {
			return by(id)
		}
		return page.Cell{Text: "–"}
	}
}

// requestCell returns a link to a request, which the log may still have.
func requestCell(id string) page.Cell {
	if id == "" {
		return page.Cell{Text: "–"}
	}
	return page.Cell{Text: id, URL: "/console/requests/" + url.PathEscape(id)}
}

// subjectOf returns a cell with the subject of an event and a link to its page, unless the event removed
// it. A later event may have removed it too.
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
		c = page.Cell{Text: data.Name, Name: true, URL: petPath(data.ID)}
	case "category":
		c = page.Cell{Text: data.Name, Name: true, URL: "/console/categories/" + page.Text(data.ID)}
	case "order":
		c = page.Cell{Text: "order " + page.Text(data.ID), URL: orderPath(data.ID)}
	case "inventory":
		c = page.Cell{Text: "pet " + page.Text(data.PetID), URL: petPath(data.PetID)}
	}
	if what == "deleted" {
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
	by, err := keyCells(v)
	title := "Event " + page.Text(e.ID) + ": " + string(e.Type)
	return cmp.Or(err, v.Show(http.StatusOK, page.Form{
		Title: title, Lead: "What changed, when, and by whom.", Back: page.Link{Title: "Events", URL: "/console/events"},
		Sheets: []page.List{changed},
		Facts: []page.Fact{
			{Title: "Type", Cell: page.Cell{Text: string(e.Type), Code: true}}, {Title: "What", Cell: subjectOf(&e)}, {Title: "When", Cell: page.Cell{At: e.CreatedAt.UTC()}},
			{Title: "By", Cell: requestKeyCells(v, by)(&e)}, {Title: "Request", Cell: requestCell(e.RequestID)},
		},
	}))
}

// changeOf returns the members of an event's data: for an update those that changed,
// before and after, otherwise all.
func changeOf(e *petstore.Event) (page.List, error) {
	var now, before map[string]json.RawMessage
	err := json.Unmarshal(e.Data, &now)
	l, members := page.NewList("Content", "", "It has no members.", "Member", "Value"), now
	if err == nil && len(e.Previous) > 0 {
		err = json.Unmarshal(e.Previous, &before)
		l, members = page.NewList("What changed", "", "", "Member", "Before", "Now"), before
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		row := []page.Cell{{Text: name, Code: true}}
		if before != nil {
			row = append(row, page.Cell{Text: inPlainText(before[name]), Name: true})
		}
		l.Rows = append(l.Rows, append(row, page.Cell{Text: inPlainText(now[name]), Name: true}))
	}
	return l, err
}

// inPlainText returns a JSON value, which may be absent, as text for display.
func inPlainText(value json.RawMessage) string {
	var text *string
	switch err := json.Unmarshal(value, &text); {
	case len(value) == 0 || err == nil && text == nil:
		return "none"
	case err == nil:
		return *text
	}
	return string(value)
}
