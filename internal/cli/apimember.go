package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"example.com/petstore/api"
	"example.com/petstore/client"
	"example.com/petstore/internal/config"
)

// The members that a command sets in its own way.
const (
	order    = "sort" // --newest
	pageSize = "limit"
	cursor   = "cursor"
	expiry   = "expiresAt" // a duration from now

	workspaceID = "workspaceId" // the name of the workspace
	replayed    = "Idempotency-Key"
)

// durationPattern is the pattern of durations in the description.
const durationPattern = "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"

// A member is a parameter of an operation, or a member of its body. It is an argument or a flag of the command, and
// implements pflag.Value.
type member struct {
	name     string // in the request
	in       string // path, query, header or body; "" if the workspace with this name is looked up for the path
	flag     string // the name of its flag
	about    string // what it means
	required bool
	list     bool     // whether there may be several, separated by commas
	nulls    []string // what stands for null; none if it cannot be null
	schema   *schema  // of one of them
	form     string   // the word that stands for a value in the help
	words    []string // all that it takes, if that is a few words
	read     func(string) (any, error)

	value any // as it is sent: nil for null
}

// members returns the members of o that a command sends. The only header among them is the idempotency key. Commands of
// operators send that themselves, and always print whole lists.
func (d *description) members(o *operation, now func() time.Time) []*member {
	var all []*member
	for _, p := range d.Of(o) {
		if p.In == "path" || !d.forOperators && (p.In == "query" || p.Name == replayed) {
			all = append(all, d.member(p, now))
		}
	}
	if o.RequestBody == nil {
		return all
	}
	media, _ := o.RequestBody.Content.Get("application/json")
	body := d.Schema(media.Schema)
	for _, p := range body.Properties {
		if p.Key != "id" { // it is the one of the path
			all = append(all, d.member(&api.Parameter{Name: p.Key, In: "body", Required: slices.Contains(body.Required, p.Key), Schema: p.Value}, now))
		}
	}
	return all
}

// member returns the member for p, which may be a member of a body too.
func (d *description) member(p *api.Parameter, now func() time.Time) *member {
	s := d.Schema(p.Schema)
	m := &member{name: p.Name, in: p.In, required: p.Required, schema: s, about: cmp.Or(p.Description, s.Description), list: s.Type == "array"}
	m.flag = strings.ReplaceAll(label(p.Name), " ", "-")
	switch {
	case p.In == "header":
		m.flag = strings.ToLower(p.Name)
	case p.In == "body" && m.list:
		m.flag = strings.TrimSuffix(m.flag, "s")
	case p.Name == workspaceID:
		m.in, m.schema = "", &schema{Type: "string"}
	case p.Name == order:
		m.flag, m.about = "newest", "print the newest first"
	}
	if s.Nullable {
		m.nulls = []string{""}
	}
	if m.list {
		m.schema = d.Schema(s.Items)
	}
	m.form = strings.ToUpper(m.flag[strings.LastIndexByte(m.flag, '-')+1:])
	m.setType(now)
	return m
}

// setType sets how m reads a value, as its schema says.
func (m *member) setType(now func() time.Time) {
	s := m.schema
	m.words = wordsFor(s)
	switch {
	case m.name == order:
		m.form, m.words, m.read = "bool", nil, func(word string) (any, error) {
			newest, err := strconv.ParseBool(word)
			return map[bool]client.Sort{true: client.SortNewestFirst, false: client.SortOldestFirst}[newest], err
		}
	case len(m.words) > 0:
		m.read = reader(config.Word[string](nil, m.words...))
		m.addNull("none")
	case s.Type == "integer":
		m.form, m.read = "N", reader(config.Whole[int64](nil, bound(s.Minimum, math.MinInt64), bound(s.Maximum, math.MaxInt64)))
		if m.isID() {
			m.form = "ID"
		}
	case s.Type == "boolean":
		m.form, m.nulls = "bool", nil
		m.read = func(word string) (any, error) { return strconv.ParseBool(word) }
	case m.name == expiry:
		m.form, m.about = "DURATION", "how long the key lasts, such as 30d or 12h"
		m.read = func(word string) (any, error) {
			length, err := config.Duration(nil, 1).Read(word)
			return now().Add(length).Format(time.RFC3339Nano), err
		}
		m.addNull("never")
	case s.Pattern == durationPattern:
		m.form, m.read = "DURATION", func(word string) (any, error) {
			length, err := config.Duration(nil, 0).Read(word)
			return fmt.Sprintf("%ds", int64((length+time.Second-1)/time.Second)), err
		}
	case s.Format == "date-time":
		m.form = "INSTANT"
		m.read = func(word string) (any, error) {
			if _, err := time.Parse(time.RFC3339, word); err != nil || strings.Contains(word, ",") { // RFC 3339 has no comma
				return nil, errors.New("must be an instant such as 2026-03-01T09:30:00Z")
			}
			return word, nil
		}
	default:
		m.read = reader(text())
	}
}

// text returns a flag that takes any text but none.
func text() *config.Value[string] {
	return &config.Value[string]{Read: func(s string) (string, error) {
		if s == "" {
			return "", errors.New("must not be empty")
		}
		return s, nil
	}}
}

// reader returns what reads a value as v does.
func reader[T any](v *config.Value[T]) func(string) (any, error) {
	return func(word string) (any, error) { return v.Read(word) }
}

// addNull lets a word stand for null too, if m can be null.
func (m *member) addNull(word string) {
	if m.nulls != nil {
		m.nulls = append(m.nulls, word)
	}
}

// wordsFor returns all values of s, if those are a few words: of an enum, of a list that may grow, or of a pattern such as
// ^(active|paused)$, as the description has it for an enum with null.
func wordsFor(s *schema) (words []string) {
	inner, begins := strings.CutPrefix(s.Pattern, "^(")
	inner, ends := strings.CutSuffix(inner, ")$")
	if begins && ends && !strings.ContainsAny(inner, `()[]\.*+?^$`) {
		return strings.Split(inner, "|")
	}
	for _, word := range slices.Concat(s.Enum, s.Open) {
		words = append(words, fmt.Sprint(word))
	}
	return words
}

// isID reports whether m is the id of a resource.
func (m *member) isID() bool {
	return m.schema.Type == "integer" && (m.name == "id" || strings.HasSuffix(m.name, "Id"))
}

// argument returns the name of m as an argument of a command about a noun: the id of a pet is ID among pets, and PET
// elsewhere.
func (m *member) argument(noun string) string {
	name := strings.ReplaceAll(m.flag, "-", " ")
	if m.in == "path" && strings.HasPrefix(noun, name[:len(name)-1]) { // category, categories
		return "ID"
	}
	return strings.ToUpper(name)
}

// usage returns the help of the flag.
func (m *member) usage() string {
	text, _, _ := strings.Cut(plain(m.about), "; repeat the parameter") // commas do as well here
	if m.form != "bool" {
		text = firstSentence(text)
	}
	if len(m.words) > 0 {
		text += " (" + strings.Join(m.words, ", ") + ")"
	}
	first, size := utf8.DecodeRuneInString(text)
	if second, _ := utf8.DecodeRuneInString(text[size:]); size > 0 && !unicode.IsUpper(second) { // URL stays
		text = string(unicode.ToLower(first)) + text[size:]
	}
	if m.schema.Default != nil && m.form != "bool" {
		text += fmt.Sprintf(" (default %s)", bytes.Trim(m.schema.Default, `"`))
	}
	if m.nulls != nil {
		text += fmt.Sprintf(" (%s for null)", strings.Join(slices.Concat(m.nulls[1:], []string{"empty"}), " or "))
	}
	return text
}

// Type implements pflag.Value: it is the word that stands for the value.
func (m *member) Type() string {
	if m.list {
		return m.form + ",..."
	}
	return m.form
}

// String implements pflag.Value. No flag has a default of its own.
func (m *member) String() string { return "" }

// Set implements pflag.Value. The values of a list add up, and each counts once.
func (m *member) Set(text string) (err error) {
	if !utf8.ValidString(text) { // JSON would have another character in its place
		return errors.New("must be valid UTF-8")
	}
	if slices.Contains(m.nulls, text) {
		m.value = nil
		return nil
	}
	if !m.list {
		m.value, err = m.read(text)
		return err
	}
	all, _ := m.value.([]any)
	for word := range strings.SplitSeq(text, ",") {
		one, err := m.read(strings.TrimSpace(word))
		if err != nil {
			return err
		}
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	m.value = all
	return nil
}

// bound returns a limit of the description, or none. The largest id is no limit that people have to know.
func bound(given *int64, none int64) int64 {
	if given == nil || *given >= 1<<53-1 {
		return none
	}
	return *given
}

// setArgument takes the value of an argument. Its error names the argument.
func (m *member) setArgument(name, text string) error {
	if err := m.Set(text); err != nil {
		return usagef("%s: %q: %v", name, text, err)
	}
	return nil
}

// addTo adds the value to the path or the query of a request, or to its body.
func (m *member) addTo(req *client.Request, body map[string]any) {
	switch values, several := m.value.([]any); {
	case m.in == "body":
		body[m.name] = m.value
	case m.in == "path":
		req.Path = strings.Replace(req.Path, "{"+m.name+"}", url.PathEscape(fmt.Sprint(m.value)), 1)
	case m.in == "query" && several:
		for _, one := range values {
			req.Query.Add(m.name, fmt.Sprint(one))
		}
	case m.in == "query":
		req.Query.Set(m.name, fmt.Sprint(m.value))
	}
}
