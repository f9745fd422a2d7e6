package page

import (
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A List is a page of rows.
type List struct {
	Filters
	Title, Lead string
	Filtered    bool
	Columns     []string
	Numbers     map[int]bool // the columns of numbers
	Rows        [][]Cell
	Next, First string // addresses of the next page and the first, or ""
	CSV         string
	NDJSON      string
	New         *Link
	Others      []Link // what else there is, before New
	Empty       string
	Live        string // the address of what changes, or ""
	Facts       []Fact // beside it, without links, which change too
	ReadOnly    bool   // what its rows offer cannot be done
	Views       []NavLink
	Whole       bool // a row leads where its first link does
}

// A Cell is one value of a row. What a live page is sent of it is in the tags.
type Cell struct {
	Text  string    `json:"text,omitempty"`
	Name  bool      `json:"name,omitempty"` // what people entered: of any direction
	Code  bool      `json:"code,omitempty"`
	Prose bool      `json:"prose,omitempty"` // a text of ours, whose instants are times
	URL   string    `json:"url,omitempty"`
	Badge string    `json:"badge,omitempty"` // the class of a badge, or ""
	At    time.Time `json:"at,omitzero"`
	Links []Link    `json:"links,omitempty"`
	Acts  []Form    `json:"-"` // small forms, which open when they are wanted
	Note  string    `json:"note,omitempty"`
	Meter *Gauge    `json:"meter,omitempty"` // how much of a limit is used, in place of all else
}

// NewList returns a list without rows.
func NewList(title, lead, empty string, columns ...string) List {
	return List{Title: title, Lead: lead, Empty: empty, Columns: columns, Numbers: map[int]bool{}}
}

// PageSize is how many rows a page shows.
const PageSize = 25

// PlaceIn returns the place in a list that a member of the query names. Anything else is the first page.
func PlaceIn(query url.Values, name string) int64 {
	n, _ := strconv.ParseInt(query.Get(name), 10, 64)
	return max(n, 0)
}

// Cut returns the rows of the page at an address, and fills in where the list goes on: more rows than the page has were
// read if it does, and next names the place after the last one.
func Cut[T any](l *List, page *url.URL, rows []T, name string, next func(last *T) string) []T {
	if len(rows) <= PageSize {
		l.Turn(page, name, "", false)
		return rows
	}
	l.Turn(page, name, next(&rows[PageSize-1]), true)
	return rows[:PageSize]
}

// Turn fills in the addresses of the first page and, if there is more, of the next one, which the member of the query names.
func (l *List) Turn(page *url.URL, name, next string, more bool) {
	query := page.Query()
	begun := query.Get(name) != ""
	query.Del(name)
	if begun {
		l.First = Address(page.Path, query)
	}
	if more {
		query.Set(name, next)
		l.Next = Address(page.Path, query)
	}
}

// List shows a list.
func (v *Visit) List(l List, err error) error {
	if err != nil {
		return err
	}
	l.ReadOnly = v.locked() != ""
	status := http.StatusOK
	if l.Wrong() != nil {
		status, l.Filtered = http.StatusUnprocessableEntity, true
	}
	return v.Render(status, "list", l.Title, l)
}

// Address returns a path with a query.
func Address(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// Extend gives the client more time to take what comes next. The deadline of a socket is on the real clock.
func Extend(w http.ResponseWriter, by time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(by)) // where there is none to set, none is needed
}

// Text returns n in decimal.
func Text(n int64) string { return strconv.FormatInt(n, 10) }
