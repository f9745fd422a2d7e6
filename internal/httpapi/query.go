package httpapi

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/petstore/internal/petstore"
)

// A query has the parameters of a request. The methods that read them note faults,
// which err returns.
type query struct {
	values url.Values
	fields []petstore.Field
}

// parseQuery parses a query and notes unknown parameters.
func parseQuery(raw string, known []string) (*query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, petstore.Errorf(codeInvalidParameter, "The query of the URL is not well formed.")
	}
	q := &query{values: values}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, name) {
			q.add(name, petstore.UnknownField, "There is no parameter %.100q here%s.", name, withoutBrackets(name, values[name], known))
		}
	}
	return q, nil
}

// add notes a fault.
func (q *query) add(name string, code petstore.FieldCode, format string, args ...any) {
	q.fields = append(q.fields, petstore.Field{Parameter: name, Code: code, Message: fmt.Sprintf(format, args...)})
}

func (q *query) err() error {
	if len(q.fields) == 0 {
		return nil
	}
	fields := petstore.Bounded(q.fields)
	return &petstore.Error{Code: codeInvalidParameter, Message: fields[0].Message, Fields: fields}
}

// one returns the value of a parameter that may not be repeated.
func (q *query) one(name string) (string, bool) {
	values := q.values[name]
	if len(values) == 0 {
		return "", false
	}
	if len(values) > 1 {
		q.add(name, petstore.InvalidFormat, "%s may stand once only, not %d times.", name, len(values))
		return "", false
	}
	return values[0], true
}

// id reads a parameter that is an id. It returns 0 if that is absent.
func (q *query) id(name string) int64 { return q.number(name, 0, 1, 1<<63-1) }

// number reads an integer. It returns absent if the parameter is missing.
func (q *query) number(name string, absent, least, most int64) int64 {
	text, ok := q.one(name)
	if !ok {
		return absent
	}
	return q.integer(name, text, least, most)
}

// ids reads a repeatable parameter of ids. It returns them sorted and without
// duplicates.
func (q *query) ids(name string) []int64 {
	var ids []int64
	if len(q.values[name]) > petstore.MaxPage {
		q.add(name, petstore.OutOfRange, "%s may stand at most %d times.", name, petstore.MaxPage)
		return nil
	}
	for _, text := range q.values[name] {
		if strings.Contains(text, ",") {
			q.add(name, petstore.InvalidType, "%s must be an integer, not %.40q%s.", name, text, repeating(name, text))
			return nil
		}
		ids = append(ids, q.integer(name, text, 1, 1<<63-1))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// integer reads a decimal integer as JSON writes one.
func (q *query) integer(name, text string, least, most int64) int64 {
	digits := strings.TrimPrefix(text, "-")
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case digits == "" || len(digits) > 1 && digits[0] == '0' || strings.Trim(digits, "0123456789") != "":
		q.add(name, petstore.InvalidType, "%s must be an integer, not %.40q.", name, text)
	case err != nil || n < least || n > most:
		q.add(name, petstore.OutOfRange, "%s must be between %d and %d, not %.40q.", name, least, most, text)
	default:
		return n
	}
	return least
}

// readID reads the id in a path.
func readID(name, text string) (int64, error) {
	var q query
	id := q.integer(name, text, 1, 1<<63-1)
	return id, q.err()
}

// several reads a repeatable parameter whose values must be in all.
func several[T ~string](q *query, name string, all []T) []T {
	var out []T
	for _, text := range q.values[name] {
		if !slices.Contains(all, T(text)) {
			q.add(name, petstore.InvalidEnum, "%s must be one of %s, not %.40q%s.", name, listed(all), text, repeating(name, text))
			return nil
		}
		out = append(out, T(text))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// listed joins values with commas.
func listed[T ~string](all []T) string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = string(one)
	}
	return strings.Join(names, ", ")
}

// choice reads a parameter with few possible values; "" if it is absent.
func (q *query) choice(name string, values ...string) string {
	text, ok := q.one(name)
	if ok && !slices.Contains(values, text) {
		q.add(name, petstore.InvalidEnum, "%s must be one of %s, not %.40q.", name, strings.Join(values, ", "), text)
	}
	return text
}

// repeating says how to send the values of a parameter that may be repeated, if
// they came as one, with commas, as some clients send them; "" if they did not.
func repeating(name, text string) string {
	parts := strings.Split(text, ",")
	if len(parts) < 2 || len(text) > 40 {
		return ""
	}
	return "; repeat the parameter: ?" + repeated(name, parts)
}

// withoutBrackets says how to send the values of a parameter that was named with
// brackets, such as status[] or status[0], as some clients name lists; "" if the
// name without them is not known.
func withoutBrackets(name string, values, known []string) string {
	base, rest, found := strings.Cut(name, "[")
	if !found || !strings.HasSuffix(rest, "]") || !slices.Contains(known, base) || len(strings.Join(values, "")) > 40 {
		return ""
	}
	return "; leave out the brackets: ?" + repeated(base, values)
}

// repeated returns a query that has a parameter once for each value.
func repeated(name string, values []string) string {
	pairs := make([]string, len(values))
	for i, v := range values {
		pairs[i] = name + "=" + url.QueryEscape(strings.TrimSpace(v))
	}
	return strings.Join(pairs, "&")
}

// part reads a part of a name, and folds it for comparison.
func (q *query) part(name string) string {
	text, ok := q.one(name)
	switch {
	case !ok:
	case !utf8.ValidString(text):
		q.add(name, petstore.InvalidFormat, "%s must be UTF-8.", name)
	case text == "":
		q.add(name, petstore.TooShort, "%s must have at least 1 character.", name)
	case utf8.RuneCountInString(text) > petstore.MaxName:
		q.add(name, petstore.TooLong, "%s must have at most %d characters.", name, petstore.MaxName)
	default:
		return petstore.Fold(text)
	}
	return ""
}

func (q *query) boolean(name string) *bool {
	text, ok := q.one(name)
	if !ok {
		return nil
	}
	if text != "true" && text != "false" {
		q.add(name, petstore.InvalidType, "%s must be true or false, not %.40q.", name, text)
		return nil
	}
	value := text == "true"
	return &value
}

func (q *query) time(name string) petstore.Time {
	text, ok := q.one(name)
	if !ok {
		return petstore.Time{}
	}
	t, ok := petstore.ParseTime(text)
	if !ok {
		q.add(name, petstore.InvalidFormat, "%s must be a date-time of RFC 3339 with an offset, such as 2026-01-31T12:00:00Z, not %.40q; in a URL a + is written %%2B.", name, text)
	}
	return t
}

// limit reads the number of entries of a page.
func (q *query) limit() int {
	return int(q.number("limit", petstore.DefaultPage, 1, petstore.MaxPage))
}
