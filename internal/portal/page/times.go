package page

import (
	"fmt"
	"html/template"
	"regexp"
	"time"

	"example.com/petstore/internal/petstore"
)

// Pages name instants in UTC. The script puts them into the reader's zone, takes
// times and days in it, and sends them as instants.

// InWords returns an instant as texts name it: prose makes a time of it.
func InWords(t time.Time) string { return t.UTC().Format(time.RFC3339) }

var instants = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// prose returns a text with its instants as times.
func prose(text string) template.HTML {
	escaped := template.HTMLEscapeString(text)
	return template.HTML(instants.ReplaceAllStringFunc(escaped, func(instant string) string { //nolint:gosec // it is escaped
		t, err := time.Parse(time.RFC3339, instant)
		if err != nil {
			return instant
		}
		return fmt.Sprintf(`<time datetime="%s" data-form="exact">%s</time>`, instant, utc(t))
	}))
}

func utc(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05") + " UTC" }

// EntryLayout is how an input takes a time, without its zone: that of UTC without
// the script.
const EntryLayout = "2006-01-02T15:04"

// instantIn reads a time as an input of the kind "time" sends it.
func instantIn(text string) (petstore.Time, bool) {
	for _, layout := range []string{EntryLayout, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return petstore.At(t), true
		}
	}
	return petstore.ParseTime(text)
}

// entered returns a time that was sent as an input takes it, what is none as it is.
func entered(text string) string {
	if t, ok := petstore.ParseTime(text); ok {
		return t.UTC().Format(EntryLayout)
	}
	return text
}
