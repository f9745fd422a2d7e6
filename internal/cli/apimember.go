package cli

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"example.com/petstore/client"
	"example.com/petstore/internal/config"
)

// The members that a command sets in its own way.
const (
	order    = "sort" // --newest
	pageSize = "limit"
	cursor   = "cursor"
	expiry   = "expiresAt" // a duration from now
	replayed = "Idempotency-Key"
)

// durationPattern is the pattern of durations in the description.
const durationPattern = "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"

// A member is a parameter of an operation, or a member of its body. It is an argument or a flag of the command, and
// implements pflag.Value.
type member struct {
	name     string // in the request
	in       string // path, query, header or body
	flag     string // the name of its flag
	about    string // what it means
	required bool
	nullable bool
	list     bool    // whether there may be several, separated by commas
	schema   *schema // of one of them
	now      func() time.Time

	value any // as it is sent: nil for null
}

// members returns the members of o that a command sends. The only header among them is the idempotency key.
func (d *description) members(o *operation, now func() time.Time) []*member {
	var all []*member
	add := func(name, in, about string, required bool, s *schema) {
		s = d.resolve(s)
		m := &member{name: name, in: in, required: required, schema: s, now: now, about: cmp.Or(about, s.Description),
			flag: strings.ReplaceAll(label(name), " ", "-"), nullable: s.Nullable && s.Type != "boolean", list: s.Type == "array"}
		if m.list {
			m.schema = d.resolve(s.Items)
		}
		switch {
		case in == "body" && m.list:
			m.flag = strings.TrimSuffix(m.flag, "s")
		case in == "header":
			m.flag = strings.ToLower(name)
		case name == order:
			m.flag, m.about, m.schema = "newest", "print the newest first", &schema{Type: "boolean"}
		}
		all = append(all, m)
	}
	for _, p := range o.Parameters {
		if p.Ref != "" {
			p = d.Components.Parameters[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
		}
		again := slices.ContainsFunc(all, func(m *member) bool { return m.name == p.Name && m.in == p.In })
		if !again && (p.In != "header" || p.Name == replayed) {
			add(p.Name, p.In, p.Description, p.Required, p.Schema)
		}
	}
	if o.RequestBody != nil {
		body := d.json(*o.RequestBody)
		for _, p := range body.Properties {
			if p.name != "id" { // it is the one of the path
				add(p.name, "body", "", slices.Contains(body.Required, p.name), p.schema)
			}
		}
	}
	return all
}

// isID reports whether m is the id of a resource.
func (m *member) isID() bool {
	return m.schema.Type == "integer" && (m.name == "id" || strings.HasSuffix(m.name, "Id"))
}

// lasts reports whether m is given as a duration.
func (m *member) lasts() bool { return m.name == expiry || m.schema.Pattern == durationPattern }

// argument returns the name of m as an argument of a command about a noun: the id of a pet is ID among pets, and PET
// elsewhere.
func (m *member) argument(noun string) string {
	name := label(m.name)
	if m.in == "path" && strings.HasPrefix(noun, name[:len(name)-1]) { // category, categories
		return "ID"
	}
	return strings.ToUpper(name)
}

// usage returns the help of the flag.
func (m *member) usage() string {
	text, _, _ := strings.Cut(plain(m.about), "; repeat the parameter") // commas do as well here
	if m.schema.Type != "boolean" {
		text = firstSentence(text)
	}
	switch words := strings.Join(m.Words(), ", "); {
	case m.name == expiry:
		text = "how long the key lasts, such as 30d or 12h"
	case words != "" && m.about == m.schema.Description && m.schema.name != "": // that of the type, and not of the member
		text = "one of " + words
	case words != "":
		text += " (" + words + ")"
	}
	if !unicode.IsUpper(rune(text[1])) {
		text = strings.ToLower(text[:1]) + text[1:]
	}
	if m.schema.Default != nil && m.schema.Type != "boolean" {
		text += fmt.Sprintf(" (default %v)", m.schema.Default)
	}
	if m.nullable {
		text += fmt.Sprintf(" (%s for null)", strings.Join(append(m.nulls()[1:], "empty"), " or "))
	}
	return text
}

// Type implements pflag.Value: it is the word that stands for the value.
func (m *member) Type() string {
	word := strings.ToUpper(m.flag[strings.LastIndexByte(m.flag, '-')+1:])
	switch {
	case m.schema.Type == "boolean":
		return "bool"
	case m.isID():
		word = "ID"
	case m.schema.Type == "integer":
		word = "N"
	case m.lasts():
		word = "DURATION"
	case m.schema.Format == "date-time":
		word = "INSTANT"
	}
	if m.list {
		return word + ",..."
	}
	return word
}

// String implements pflag.Value. No flag has a default of its own.
func (m *member) String() string { return "" }

// Set implements pflag.Value. The values of a list add up.
func (m *member) Set(text string) (err error) {
	if m.nullable && slices.Contains(m.nulls(), text) {
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
		all = append(all, one)
	}
	m.value = all
	return nil
}

// nulls returns what stands for null: the empty text first.
func (m *member) nulls() []string {
	switch {
	case len(m.Words()) > 0:
		return []string{"", "none"}
	case m.lasts():
		return []string{"", "never"}
	}
	return []string{""}
}

// Words returns all that m takes, if that is a few words: those of an enum, or of a pattern such as ^(active|paused)$, as
// the description has it for an enum with null.
func (m *member) Words() []string {
	inner, begins := strings.CutPrefix(m.schema.Pattern, "^(")
	inner, ends := strings.CutSuffix(inner, ")$")
	if begins && ends && !strings.ContainsAny(inner, `()[]\.*+?^$`) {
		return strings.Split(inner, "|")
	}
	return m.schema.Enum
}

// read returns a value of the type that the schema asks for. Its error says what would be right.
func (m *member) read(word string) (any, error) {
	s := m.schema
	switch {
	case len(m.Words()) > 0:
		return config.Word[string](nil, m.Words()...).Read(word)
	case s.Type == "integer":
		return config.Whole[int64](nil, bound(s.Minimum, math.MinInt64), bound(s.Maximum, math.MaxInt64)).Read(word)
	case m.name == order:
		newest, err := strconv.ParseBool(word)
		return map[bool]client.Sort{true: client.SortNewestFirst, false: client.SortOldestFirst}[newest], err
	case s.Type == "boolean":
		return strconv.ParseBool(word)
	case m.name == expiry:
		length, err := duration(nil, 1).Read(word)
		return m.now().Add(length), err
	case s.Pattern == durationPattern:
		length, err := duration(nil, 0).Read(word)
		return fmt.Sprintf("%ds", int64(length.Seconds())), err
	case s.Format == "date-time":
		return instantFlag(nil).Read(word)
	}
	return text(nil).Read(word)
}

// bound returns a limit of the description, or none. The largest id is no limit that people have to know.
func bound(given *int64, none int64) int64 {
	if given == nil || *given >= 1<<53-1 {
		return none
	}
	return *given
}

// setArgument takes the value of an argument. Its error names the argument.
func (m *member) setArgument(name, text string) (err error) {
	if m.isID() {
		m.value, err = idOf(name, text)
	} else if err = m.Set(text); err != nil {
		err = usagef("%s: %q: %v", name, text, err)
	}
	return err
}

// addTo adds the value to the path or the query of a request, or to its body.
func (m *member) addTo(req *client.Request, body map[string]any) {
	switch values, several := m.value.([]any); {
	case m.in == "body":
		body[m.name] = m.value
	case m.in == "path":
		req.Path = strings.Replace(req.Path, "{"+m.name+"}", url.PathEscape(m.text(m.value)), 1)
	case m.in == "query" && several:
		for _, one := range values {
			req.Query.Add(m.name, m.text(one))
		}
	case m.in == "query":
		req.Query.Set(m.name, m.text(m.value))
	}
}

// text returns a value as text in a path, a query or a header.
func (m *member) text(value any) string {
	if t, ok := value.(time.Time); ok {
		return t.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(value)
}
