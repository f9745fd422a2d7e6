package console

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"example.com/petstore/internal/petstore"
)

// A list is a page of rows.
type list struct {
	Title, Lead string
	Filters     []field
	Filtered    bool
	Choices     []link // what a filter may have meant
	Columns     []string
	Numbers     map[int]bool // the columns of numbers
	Rows        [][]cell
	Next, First string // addresses of the next page and the first, or ""
	CSV         string
	NDJSON      string
	New, Other  *link
	Empty       string
	Live        string // the address of what changes, or ""
	ReadOnly    bool   // what its rows offer cannot be done
}

// A sheetPage is one thing, with forms that change it and tables of what is known of it.
type sheetPage struct {
	Title, Lead string
	Back        link
	Links       []link
	Forms       []form
	Sheets      []list
	Facts       []fact
	Wide        bool // the tables have the page's whole width
}

// A cell is one value of a row. What a live page is sent of it is in the tags.
type cell struct {
	Text  string    `json:"text,omitempty"`
	Name  bool      `json:"name,omitempty"` // what people entered: of any direction
	Code  bool      `json:"code,omitempty"`
	Prose bool      `json:"prose,omitempty"` // a text of ours, whose instants are times
	URL   string    `json:"url,omitempty"`
	Badge string    `json:"badge,omitempty"` // the class of a badge, or ""
	At    time.Time `json:"at,omitzero"`
	Links []link    `json:"links,omitempty"`
	Note  string    `json:"note,omitempty"`
	Meter *meter    `json:"meter,omitempty"` // how much of a limit is used, in place of all else
}

const pageSize = 25

// A source is what a list is read from.
type source[T any] struct {
	newest bool // the page shows the newest first; a download begins with the oldest
	fetch  func(context.Context, petstore.Page) ([]T, error)
	id     func(T) int64
}

// page reads the page that the query asks for, and fills in where the list goes on.
func (s source[T]) page(v *visit, l *list) ([]T, error) {
	query := v.r.URL.Query()
	rows, err := s.fetch(v.r.Context(), petstore.Page{After: placeIn(query, "after"), Limit: pageSize + 1, Newest: s.newest})
	if err != nil {
		return nil, err
	}
	query.Del("after")
	l.CSV = address(v.r.URL.Path+".csv", query)
	for _, f := range l.Filters {
		l.Filtered = l.Filtered || f.Value != "" || chosen(f.Options) != ""
	}
	return pageOf(v, l, rows, "after", func(last *T) string { return text(s.id(*last)) }), nil
}

// placeIn returns the place in a list that a member of the query names. Anything else is the first page.
func placeIn(query url.Values, name string) int64 {
	n, _ := strconv.ParseInt(query.Get(name), 10, 64)
	return max(n, 0)
}

// pageOf returns the rows of a page, and fills in where the list goes on: more rows than the page has were read if it
// does, and next names the place after the last one.
func pageOf[T any](v *visit, l *list, rows []T, name string, next func(last *T) string) []T {
	if len(rows) <= pageSize {
		l.turn(v.r.URL, name, "", false)
		return rows
	}
	l.turn(v.r.URL, name, next(&rows[pageSize-1]), true)
	return rows[:pageSize]
}

// turn fills in the addresses of the first page and, if there is more, of the next one, which the member of the query names.
func (l *list) turn(page *url.URL, name, next string, more bool) {
	query := page.Query()
	begun := query.Get(name) != ""
	query.Del(name)
	if begun {
		l.First = address(page.Path, query)
	}
	if more {
		query.Set(name, next)
		l.Next = address(page.Path, query)
	}
}

// list shows a list.
func (v *visit) list(l list, err error) error {
	if err != nil {
		return err
	}
	l.ReadOnly = !v.mayChange()
	return v.render(http.StatusOK, "list", l.Title, l)
}

func address(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

func chosen(options []option) string {
	for _, o := range options {
		if o.Chosen {
			return o.Value
		}
	}
	return ""
}

// extend gives the client more time to take what comes next. The deadline of a socket is on the real clock.
func (v *visit) extend(by time.Duration) {
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(by)) // where there is none to set, none is needed
}

func text(n int64) string { return strconv.FormatInt(n, 10) }
