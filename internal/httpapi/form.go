package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/internal/petstore"
)

// maxDepth is how deep arrays and objects may be nested.
const maxDepth = 16

// A form reads the members of a body, and collects their errors.
type form struct {
	body      []byte
	id        int64 // the id of the resource, which the body may repeat; 0 for a new one
	malformed error // why the body cannot be read
	fields    []petstore.Field
}

// A member is one value of the body's object.
type member struct {
	name string
	raw  jsontext.Value
}

// members are the members that a body may have, with the functions that read their
// values.
type members map[string]func(member)

// assignTo returns a function that sets *to to the value of a member.
func assignTo[T any](to *T, read func(member) T) func(member) {
	return func(m member) { *to = read(m) }
}

// intoOptional is like assignTo for a member of a merge patch, which may be null.
func intoOptional[T any](to *petstore.Optional[T], read func(member) T) func(member) {
	return func(m member) {
		if m.raw.Kind() == 'n' {
			*to = petstore.Null[T]()
		} else {
			*to = petstore.Some(read(m))
		}
	}
}

// read reads the body, which must be an object. err returns what is wrong with it.
func (f *form) read(known members, required ...string) {
	all, err := f.readMembers()
	if f.malformed = err; all == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if take := known[name]; take != nil {
			take(member{name, all[name]})
		} else {
			f.add(pointerTo(name), petstore.UnknownField, "There is no member %.100q here; names are case-sensitive.", name)
		}
	}
	for _, name := range required {
		if all[name] == nil && !f.faulty("/"+name) {
			f.add("/"+name, petstore.Required, "%s is required.", name)
		}
	}
}

// readMembers returns malformed_json if the body is not one JSON value in UTF-8, has
// duplicate names, or is nested too deep. Without an error, it returns nil for a body that
// is no object.
func (f *form) readMembers() (all map[string]jsontext.Value, err error) {
	if tooDeep(f.body) {
		return nil, petstore.Errorf(codeMalformedJSON, "The body is nested deeper than %d levels.", maxDepth)
	}
	if jsontext.Value(f.body).Kind() == '{' {
		if err := json.Unmarshal(f.body, &all); err != nil {
			return nil, malformed(err)
		}
		return all, nil
	}
	var value jsontext.Value
	if err := json.Unmarshal(f.body, &value); err != nil {
		return nil, malformed(err)
	}
	f.add("", petstore.InvalidType, "The body must be a JSON object, not %s.", member{raw: value}.received())
	return nil, nil
}

// malformed returns the error for a body that is not JSON, with the position of the
// fault.
func malformed(err error) error {
	e := &petstore.Error{Code: codeMalformedJSON, Message: "The body is not valid JSON."}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		reason := syntax.Err.Error()
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			reason = "a member name occurs twice"
		case errors.Is(err, io.ErrUnexpectedEOF):
			reason = "it ends too early"
		case len(reason) > 100: // it quotes the body
			reason = "a string is not valid"
		}
		e.Message = fmt.Sprintf("The body is not valid JSON at byte %d: %s.", syntax.ByteOffset, reason)
	}
	return e
}

// tooDeep reports whether body is nested deeper than maxDepth, without parsing
// it: brackets inside of strings do not count.
func tooDeep(body []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// pointerTo returns the JSON pointer (RFC 6901) of a member of the body.
func pointerTo(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// add notes a fault, unless there are petstore.MaxFields already.
func (f *form) add(pointer string, code petstore.FieldCode, format string, args ...any) {
	if len(f.fields) >= petstore.MaxFields {
		return
	}
	f.fields = append(f.fields, petstore.Field{Pointer: pointer, Code: code, Message: fmt.Sprintf(format, args...)})
}

// err returns all faults: those that the form has noted, and of values those about
// other members.
func (f *form) err(values []petstore.Field) error {
	if f.malformed != nil {
		return f.malformed
	}
	for _, v := range values {
		if len(f.fields) < petstore.MaxFields && !f.faulty(v.Pointer) {
			f.fields = append(f.fields, v)
		}
	}
	return petstore.Invalid(f.fields)
}

func (f *form) faulty(pointer string) bool {
	for _, known := range f.fields {
		if known.Pointer == pointer || known.Pointer == "" {
			return true
		}
	}
	return false
}

// The readers of values note invalid_type and return the zero value if the
// member has another type.

func (f *form) text(m member) string {
	text, err := jsontext.AppendUnquote(nil, m.raw)
	if err != nil {
		f.mistyped(m, "a string")
		return ""
	}
	return string(text)
}

func (f *form) boolean(m member) bool {
	if kind := m.raw.Kind(); kind != 't' && kind != 'f' {
		f.mistyped(m, "true or false")
		return false
	}
	return m.raw.Kind() == 't'
}

// integer reads an integer. A number with a fraction or an exponent has another type,
// and one that int64 cannot hold is out of range.
func (f *form) integer(m member) int64 {
	if m.raw.Kind() != '0' || bytes.ContainsAny(m.raw, ".eE") {
		f.mistyped(m, "an integer, without fraction or exponent")
		return 0
	}
	n, err := strconv.ParseInt(string(m.raw), 10, 64)
	if err != nil {
		f.add(pointerTo(m.name), petstore.OutOfRange, "%s is beyond the range of int64.", m.name)
		return 0
	}
	return n
}

func (f *form) time(m member) petstore.Time {
	t, ok := petstore.ParseTime(f.text(m))
	if !ok && !f.faulty(pointerTo(m.name)) {
		f.add(pointerTo(m.name), petstore.InvalidFormat, "%s must be a date-time of RFC 3339 with an offset, such as 2026-01-31T12:00:00Z, not %.40s.", m.name, string(m.raw))
	}
	return t
}

func (f *form) mistyped(m member, want string) {
	f.add(pointerTo(m.name), petstore.InvalidType, "%s must be %s, not %s.", m.name, want, m.received())
}

// received describes the value of a member in few words.
func (m member) received() string {
	switch m.raw.Kind() {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	default: // null, true, false, or a number as it was sent
		return fmt.Sprintf("%.40s", string(m.raw))
	}
}

// strings reads an array of strings. It calls take with each string and the pointer to
// it.
func (f *form) strings(m member, take func(pointer, text string)) {
	var all []jsontext.Value
	if m.raw.Kind() != '[' || json.Unmarshal(m.raw, &all) != nil {
		f.mistyped(m, "an array of strings")
		return
	}
	for i, raw := range all {
		pointer := pointerTo(m.name) + "/" + strconv.Itoa(i)
		if raw.Kind() != '"' {
			f.add(pointer, petstore.InvalidType, "%s[%d] must be a string, not %s.", m.name, i, member{raw: raw}.received())
			continue
		}
		take(pointer, f.text(member{raw: raw}))
	}
}

var durations = regexp.MustCompile(`^([0-9]+h)?([0-9]+m)?([0-9]+s)?$`)

// duration reads a duration of hours, minutes and seconds. It may not be longer than
// most.
func (f *form) duration(m member, most time.Duration) time.Duration {
	text := f.text(m)
	d, err := time.ParseDuration(text)
	switch {
	case f.faulty(pointerTo(m.name)):
	case err != nil || !durations.MatchString(text):
		f.add(pointerTo(m.name), petstore.InvalidFormat, "%s must be a duration such as 24h or 1h30m, not %.40s.", m.name, string(m.raw))
	case d > most:
		f.add(pointerTo(m.name), petstore.OutOfRange, "%s must be at most %.0fh, not %s.", m.name, most.Hours(), text)
	}
	return d
}

// readOnly notes that a member may not be set by the client. The id of the resource may
// be repeated.
func (f *form) readOnly(m member) {
	if m.name == "id" && f.id != 0 {
		if id := f.integer(m); id != f.id && !f.faulty("/id") {
			f.add("/id", petstore.ReadOnly, "id must be the %d of the path, not %d.", f.id, id)
		}
		return
	}
	f.add(pointerTo(m.name), petstore.ReadOnly, "%s is set by the server.", m.name)
}

// withReadOnly adds members that may not be set by the client.
func (f *form) withReadOnly(names []string, known members) members {
	for _, name := range names {
		known[name] = f.readOnly
	}
	return known
}
