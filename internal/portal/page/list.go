package page

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
)

// A List is a page of rows.
type List struct {
	Filters
	Title, Lead string
	Columns     []string
	Numbers     map[int]bool // the columns of numbers
	Rows        [][]Cell
	Next, First string // addresses of the next page and the first, or ""
	CSV         string
	New         *Link
	Others      []Link // what else there is, before New
	Empty       string
	Live        bool // the script keeps it up to date
	ReadOnly    bool // what its rows offer cannot be done
	Views       []Link
	Whole       bool // a row leads where its first link does
}

// A Cell is one value of a row.
type Cell struct {
	Text  string
	Name  bool // user input, whose text direction is not known
	Code  bool
	Prose bool // text of the console, whose instants are shown as times
	URL   string
	Badge string // the class of a badge, or ""
	At    time.Time
	Links []Link
	Acts  []Form // small forms, which open when they are wanted
	Note  string
	Meter *Gauge // how much of a limit is used
}

// NewList returns a list without rows.
func NewList(title, lead, empty string, columns ...string) List {
	return List{Title: title, Lead: lead, Empty: empty, Columns: columns, Numbers: map[int]bool{}}
}

// PageSize is how many rows a page shows.
const PageSize = 25

// PlaceIn returns the place in a list that a member of the query contains, or 0, the first page.
func PlaceIn(query url.Values, name string) int64 {
	n, _ := strconv.ParseInt(query.Get(name), 10, 64)
	return max(n, 0)
}

// Cut returns the rows of the page at an address, and sets the addresses of the other pages. If rows has more than a
// page, there is a next page; next returns its place, after the last row.
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
		status, l.Live = http.StatusUnprocessableEntity, false
	}
	return v.Render(status, "list", l.Title, l)
}

// Address returns a path with a query.
func Address(path string, query url.Values) string {
	return (&url.URL{Path: path, RawQuery: query.Encode()}).String()
}

// Extend extends the write deadline of the connection. It is on the real clock.
func Extend(w http.ResponseWriter, by time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(by)) // if there is no deadline to set, none is needed
}

// Text returns n in decimal.
func Text(n int64) string { return strconv.FormatInt(n, 10) }

// Filters are the fields above a list, with values from the query. A value that cannot be
// applied is a fault of its field, since without it the list would look filtered though it
// is not.
type Filters struct {
	Query  url.Values
	Fields []Field
}

// Add adds a field, and returns what was entered into it.
func (f *Filters) Add(field Field) string {
	value := strings.TrimSpace(f.Query.Get(field.Name))
	if field.Error = field.fault(value); field.Kind == "select" {
		Choose(field.Options, value)
	} else {
		field.Value = petstore.Shorten(value, maxShown(&field))
	}
	if field.Kind == "number" && strings.HasPrefix(value, "-") {
		field.Error = "Enter 0 or more."
	}
	f.add(field)
	return value
}

// Day adds a field for a day, and returns the instant at which it begins or, if the field
// is named "to", ends. A date is a day of UTC; a script sends the instant.
func (f *Filters) Day(name, label string) petstore.Time {
	field, text := Field{Name: name, Label: label, Kind: "date"}, f.Query.Get(name)
	if name == "to" {
		field.Kind = "last"
	}
	at, ok := petstore.ParseTime(text)
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		if field.Value, ok = text, true; field.Kind == "last" {
			day = day.Add(24*time.Hour - time.Millisecond)
		}
		at = petstore.At(day)
	} else if ok {
		field.At = at.UTC()
		field.Value = field.At.Format(time.DateOnly)
	}
	if text != "" && !ok {
		field.Error = "Enter a day such as 2026-03-01."
	}
	f.add(field)
	return at
}

func (f *Filters) add(field Field) {
	field.Filter = true
	f.Fields = append(f.Fields, field)
}

// Filtered reports whether anything was entered into a field.
func (f Filters) Filtered() bool {
	return slices.ContainsFunc(f.Fields, func(field Field) bool {
		return field.Value != "" || field.Error != "" || slices.ContainsFunc(field.Options, func(o Option) bool { return o.Chosen && o.Value != "" })
	})
}

// Fault notes what is wrong with the last field.
func (f *Filters) Fault(message string) { f.Fields[len(f.Fields)-1].Error = message }

// Wrong returns the error of the first field with a fault, or nil.
func (f Filters) Wrong() error {
	for _, field := range f.Fields {
		if field.Error != "" {
			return FieldError(field.Name, field.Label+": "+field.Error)
		}
	}
	return nil
}
