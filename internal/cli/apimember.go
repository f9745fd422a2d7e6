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

	"github.com/spf13/pflag"

	"example.com/petstore/client"
	"example.com/petstore/internal/config"
)

// A member is a parameter of an operation, or a member of its body. It is an argument or a flag of the command, and
// implements pflag.Value.
type member struct {
	name     string // in the request
	in       string // path, query, header or body
	flag     string // the name of its flag
	required bool
	schema   *schema // of one element if list is set
	list     bool    // whether there are several, separated by commas
	nullable bool
	about    string // what it means
	now      func() time.Time

	value any    // as it is sent: nil for null
	text  string // as it was given
}

// members returns the members of o that a command sends. Of the headers that is the idempotency key alone.
func (d *description) members(o *operation, now func() time.Time) []*member {
	var all []*member
	add := func(name, in, about string, required bool, s *schema) {
		s = d.resolve(s)
		m := &member{name: name, in: in, required: required, schema: s, nullable: s.Nullable && s.Type != "boolean", now: now, about: cmp.Or(about, s.Description)}
		m.flag = strings.ReplaceAll(label(name), " ", "-")
		if s.Type == "array" {
			m.list, m.schema = true, d.resolve(s.Items)
			if in == "body" {
				m.flag = strings.TrimSuffix(m.flag, "s")
			}
		}
		if in == "header" {
			m.flag = strings.ToLower(name)
		}
		all = append(all, m)
	}
	for _, p := range o.Parameters {
		if p.In != "header" || p.Name == "Idempotency-Key" {
			add(p.Name, p.In, p.Description, p.Required, p.Schema)
		}
	}
	if o.RequestBody != nil {
		body, _ := d.json(*o.RequestBody)
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

// argument returns the name of m as an argument of a command about a noun: the id of a pet is ID among pets, and PET
// elsewhere.
func (m *member) argument(noun string) string {
	name := label(m.name)
	if m.in == "path" && strings.HasPrefix(noun, name[:len(name)-1]) { // category, categories
		return "ID"
	}
	return strings.ToUpper(name)
}

// register adds the flag of m. A flag of a boolean needs no value.
func (m *member) register(flags *pflag.FlagSet) {
	f := flags.VarPF(m, m.flag, "", m.usage())
	if m.schema.Type == "boolean" {
		f.NoOptDefVal = "true"
	}
}

// usage returns the help of the flag.
func (m *member) usage() string {
	text, _, _ := strings.Cut(strings.TrimSuffix(plain(m.about), "."), "; repeat the parameter") // commas do as well here
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
		text += fmt.Sprintf(" (%s for null)", strings.Join(append(m.nullWords(), "empty"), " or "))
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

// String implements pflag.Value.
func (m *member) String() string { return m.text }

// Set implements pflag.Value. The values of a list add up.
func (m *member) Set(text string) error {
	m.text = text
	if m.nullable && (text == "" || slices.Contains(m.nullWords(), text)) {
		m.value = nil
		return nil
	}
	if !m.list {
		var err error
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

// nullWords returns what stands for null besides the empty value.
func (m *member) nullWords() []string {
	switch {
	case len(m.Words()) > 0:
		return []string{"none"}
	case m.lasts():
		return []string{"never"}
	}
	return nil
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

// The pattern of a duration, and the member that is an instant in the API and a duration from now on the command line.
const (
	durationPattern = "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
	expiry          = "expiresAt"
)

// lasts reports whether m is given as a duration.
func (m *member) lasts() bool { return m.name == expiry || m.schema.Pattern == durationPattern }

// read returns a value of the type that the schema asks for. Its error says what would be right.
func (m *member) read(word string) (any, error) {
	s := m.schema
	switch {
	case len(m.Words()) > 0:
		return config.Word[string](nil, m.Words()...).Read(word)
	case s.Type == "integer":
		return config.Whole[int64](nil, bound(s.Minimum, math.MinInt64), bound(s.Maximum, math.MaxInt64)).Read(word)
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

// maxSafeInteger is the maximum of ids in the description. To people it is no bound.
const maxSafeInteger = 1<<53 - 1

func bound(given *int64, none int64) int64 {
	if given == nil || *given >= maxSafeInteger {
		return none
	}
	return *given
}

// setArgument takes the value of an argument. Its error names the argument.
func (m *member) setArgument(name, text string) error {
	if m.isID() {
		id, err := idOf(name, text)
		m.value = id
		return err
	}
	if err := m.Set(text); err != nil {
		return usagef("%s: %q: %v", name, text, err)
	}
	return nil
}

// addTo adds the value to the path or the query of a request, or to its body.
func (m *member) addTo(req *client.Request, body map[string]any) {
	switch m.in {
	case "path":
		req.Path = strings.Replace(req.Path, "{"+m.name+"}", url.PathEscape(queryText(m.value)), 1)
	case "query":
		values, several := m.value.([]any)
		if !several {
			values = []any{m.value}
		}
		for _, one := range values {
			req.Query.Add(m.name, queryText(one))
		}
	case "body":
		body[m.name] = m.value
	}
}

// queryText returns a value as text in a path or a query.
func queryText(value any) string {
	if t, ok := value.(time.Time); ok {
		return t.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(value)
}
