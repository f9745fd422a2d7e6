package httpapi

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/internal/access"
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

// A field of a Go type takes the value of a member.
type field struct {
	name     string // of the member
	index    []int  // for reflect.Value.FieldByIndex
	required bool
	most     time.Duration // the longest value of a duration
}

// fieldsOf returns the fields with names in their tags, also those of embedded types.
func fieldsOf(t reflect.Type) (all []field) {
	for f := range t.Fields() {
		if f.Anonymous {
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append(f.Index, inner.index...)
				all = append(all, inner)
			}
			continue
		}
		name, _, optional := strings.Cut(f.Tag.Get("json"), ",")
		most, _ := time.ParseDuration(f.Tag.Get("most"))
		if name != "" && name != "-" {
			all = append(all, field{name, f.Index, !optional, most})
		}
	}
	return all
}

// decode returns the reader of bodies for a T, which has a field for each member. A member
// is required if the tag of its field has only a name; a field whose member is absent keeps
// the value of the prototype. The members in readOnly may not be set by the client. If T has
// a method Check, that checks the values.
func decode[T any](prototype T, readOnly ...string) reader[T] {
	fields := fieldsOf(reflect.TypeFor[T]())
	return func(f *form) (T, error) {
		t := prototype
		f.read(reflect.ValueOf(&t).Elem(), fields, readOnly)
		var faults []petstore.Field
		if values, ok := any(&t).(interface{ Check() []petstore.Field }); ok {
			faults = values.Check()
		}
		return t, f.err(faults)
	}
}

// A member is one value of the body's object.
type member struct {
	name string
	raw  jsontext.Value
	most time.Duration // of its field
}

// read reads the body, which must be an object, into the fields of a struct. err returns
// what is wrong with it.
func (f *form) read(into reflect.Value, fields []field, readOnly []string) {
	all, err := f.readMembers()
	if f.malformed = err; all == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at := slices.IndexFunc(fields, func(to field) bool { return to.name == name })
		switch {
		case at >= 0:
			to := &fields[at]
			f.value(member{name, all[name], to.most}, into.FieldByIndex(to.index).Addr().Interface())
		case slices.Contains(readOnly, name):
			f.readOnly(member{name: name, raw: all[name]})
		default:
			f.add(pointerTo(name), petstore.UnknownField, "There is no member %.100q here; names are case-sensitive.", name)
		}
	}
	for _, to := range fields {
		if to.required && all[to.name] == nil && !f.faulty("/"+to.name) {
			f.add("/"+to.name, petstore.Required, "%s is required.", to.name)
		}
	}
}

// value reads the value of a member into a field.
func (f *form) value(m member, pointer any) {
	switch to := pointer.(type) {
	case interface{ Fill(null bool) any }: // a petstore.Optional
		null := m.raw.Kind() == 'n'
		if value := to.Fill(null); !null {
			f.value(m, value)
		}
	case *petstore.Time:
		*to = f.time(m)
	case *time.Duration:
		*to = f.duration(m)
	case *petstore.Status:
		*to = f.status(m)
	case *access.Scopes:
		*to = f.scopes(m)
	case *[]petstore.EventType:
		*to = f.eventTypes(m)
	case *catalogue:
		*to = f.catalogue(m)
	default:
		f.scalar(m, pointer)
	}
}

// wanted describes the values of members by the kinds of their fields.
var wanted = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Pointer: "a string", reflect.Bool: "true or false", reflect.Int64: "an integer, without fraction or exponent",
}

// scalar reads a string, a boolean or an integer. A number with a fraction or an exponent is
// no integer, and one that int64 cannot hold is out of range.
func (f *form) scalar(m member, pointer any) {
	switch err := json.Unmarshal(m.raw, pointer); {
	case errors.Is(err, strconv.ErrRange):
		f.add(pointerTo(m.name), petstore.OutOfRange, "%s is beyond the range of int64.", m.name)
	case err != nil || m.raw.Kind() == 'n':
		f.mistyped(m, wanted[reflect.TypeOf(pointer).Elem().Kind()])
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

func (f *form) text(m member) (text string) {
	f.scalar(m, &text)
	return text
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

// duration reads a duration of hours, minutes and seconds.
func (f *form) duration(m member) time.Duration {
	text := f.text(m)
	d, err := time.ParseDuration(text)
	switch {
	case f.faulty(pointerTo(m.name)):
	case err != nil || !durations.MatchString(text):
		f.add(pointerTo(m.name), petstore.InvalidFormat, "%s must be a duration such as 24h or 1h30m, not %.40s.", m.name, string(m.raw))
	case d > m.most:
		f.add(pointerTo(m.name), petstore.OutOfRange, "%s must be at most %.0fh, not %s.", m.name, m.most.Hours(), text)
	}
	return d
}

// readOnly notes that a member may not be set by the client. The id of the resource may
// be repeated.
func (f *form) readOnly(m member) {
	if m.name == "id" && f.id != 0 {
		var id int64
		if f.scalar(m, &id); id != f.id && !f.faulty("/id") {
			f.add("/id", petstore.ReadOnly, "id must be the %d of the path, not %d.", f.id, id)
		}
		return
	}
	f.add(pointerTo(m.name), petstore.ReadOnly, "%s is set by the server.", m.name)
}
