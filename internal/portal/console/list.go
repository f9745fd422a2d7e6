package console

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
)

// A list is a page of rows.
type list struct {
	Title, Lead string
	Filters     []field
	Filtered    bool
	Columns     []string
	Numbers     map[int]bool // the columns of numbers
	Rows        [][]cell
	Next, First string // addresses of the next page and the first, or ""
	CSV         string
	New         *link
	Empty       string
	Live        string // the address of what changes, or ""
}

// A cell is one value of a row. What a live page is sent of it is in the tags.
type cell struct {
	Text  string    `json:"text,omitempty"`
	Name  bool      `json:"name,omitempty"` // what people entered: of any direction
	Code  bool      `json:"code,omitempty"`
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
	path  string // of the page
	fetch func(context.Context, petstore.Page) ([]T, error)
	id    func(T) int64
}

// page reads the page that the query asks for, and fills in where the list goes on.
func (s source[T]) page(v *visit, l *list) ([]T, error) {
	query := v.r.URL.Query()
	after, _ := strconv.ParseInt(query.Get("after"), 10, 64) // anything else is the first page
	rows, err := s.fetch(v.r.Context(), petstore.Page{After: max(after, 0), Limit: pageSize + 1})
	if err != nil {
		return nil, err
	}
	query.Del("after")
	l.CSV, l.Filtered = s.path+".csv", false
	for _, f := range l.Filters {
		l.Filtered = l.Filtered || f.Value != "" || chosen(f.Options) != ""
	}
	if len(query) > 0 {
		l.CSV += "?" + query.Encode()
	}
	if after > 0 {
		l.First = address(s.path, query)
	}
	if len(rows) > pageSize {
		rows = rows[:pageSize]
		query.Set("after", strconv.FormatInt(s.id(rows[pageSize-1]), 10))
		l.Next = address(s.path, query)
	}
	return rows, nil
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

// csv writes the whole list, page by page.
func (s source[T]) csv(v *visit, head []string, line func(T) []string) error {
	w, err := v.csv(s.path, head)
	if err != nil {
		return err
	}
	for page := (petstore.Page{Limit: 1000}); ; {
		rows, err := s.fetch(v.r.Context(), page)
		if err != nil {
			return v.broken(err)
		}
		for _, row := range rows {
			if err := w.Write(line(row)); err != nil {
				return v.broken(err)
			}
		}
		w.Flush()
		v.extend(csvPatience)
		if len(rows) < page.Limit {
			return nil
		}
		page.After = s.id(rows[len(rows)-1])
	}
}

// csvPatience is how long a client may take for a thousand rows.
const csvPatience = 30 * time.Second

// csv begins a file of comma-separated values.
func (v *visit) csv(path string, head []string) (*csv.Writer, error) {
	name := strings.TrimPrefix(path, "/console/")
	v.w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
	v.w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.csv"`, name))
	w := csv.NewWriter(v.w)
	return w, w.Write(head)
}

// broken ends a response that has begun and cannot be finished, so that nobody takes it for the whole.
func (v *visit) broken(err error) error {
	if v.r.Context().Err() == nil {
		v.Log.Error("a download failed", "path", v.r.URL.Path, "err", err)
	}
	panic(http.ErrAbortHandler)
}

// extend gives the client more time to take what comes next. The deadline of a socket is on the real clock.
func (v *visit) extend(by time.Duration) {
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(by)) // where there is none to set, none is needed
}

// plain returns text that a spreadsheet does not take for a formula.
func plain(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

func text(n int64) string { return strconv.FormatInt(n, 10) }
