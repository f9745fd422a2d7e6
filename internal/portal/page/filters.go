package page

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/petstore"
)

// Filters are the fields above a list, filled in from a query. What cannot be applied is a
// fault of its field: a list that left it out would look as if it was filtered.
type Filters struct {
	Query   url.Values
	Fields  []Field
	Choices []Link // what one of them may have meant
}

// Add adds a field, and returns what was entered into it.
func (f *Filters) Add(field Field) string {
	value := strings.TrimSpace(f.Query.Get(field.Name))
	switch field.Kind {
	case "select":
		if !slices.ContainsFunc(field.Options, func(o Option) bool { return o.Value == value }) {
			field.Error = fmt.Sprintf("There is no choice %q.", petstore.Shorten(value, 40))
		}
		Choose(field.Options, value)
	case "number":
		if n, err := strconv.ParseInt(value, 10, 64); value != "" && (err != nil || n < 0) {
			field.Error = "Enter a whole number."
		}
		fallthrough
	default:
		field.Value = petstore.Shorten(value, maxShown(&field))
	}
	f.Fields = append(f.Fields, field)
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
	f.Fields = append(f.Fields, field)
	return at
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
