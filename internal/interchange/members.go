package interchange

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/internal/petstore"
)

// A member is one member of a line's object.
type member struct {
	name  string
	raw   jsontext.Value
	taken bool
}

// members are the members of one line. The methods that read them note the first fault.
type members struct {
	line int
	all  []member
	err  error
	dec  *jsontext.Decoder
	in   bytes.Reader
}

// read parses text, which must be an object. text must not change while the members are
// used.
func (m *members) read(line int, text []byte) {
	m.line, m.all, m.err = line, m.all[:0], nil
	if !utf8.Valid(text) {
		m.err = notText(line)
		return
	}
	m.in.Reset(text)
	if m.dec == nil {
		m.dec = jsontext.NewDecoder(&m.in)
	} else {
		m.dec.Reset(&m.in)
	}
	if m.dec.PeekKind() != '{' {
		m.refuse("the line is not a JSON object")
		return
	}
	if err := m.object(text); err != nil {
		m.err = m.malformed(err)
	}
}

func (m *members) object(text []byte) error {
	if _, err := m.dec.ReadToken(); err != nil {
		return err
	}
	for m.dec.PeekKind() == '"' {
		name, err := m.dec.ReadToken()
		if err != nil {
			return err
		}
		called := name.String()
		value, err := m.dec.ReadValue()
		if err != nil {
			return err
		}
		end := m.dec.InputOffset()
		m.all = append(m.all, member{name: called, raw: jsontext.Value(text[end-int64(len(value)) : end])})
	}
	if _, err := m.dec.ReadToken(); err != nil {
		return err
	}
	if _, err := m.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("the line continues after its object")
	}
	return nil
}

// malformed returns the fault for an error of the decoder.
func (m *members) malformed(err error) error {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return faultf(m.line, "a member occurs twice in the line")
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return faultf(m.line, "the line is not JSON: it ends too early")
	case ok:
		return faultf(m.line, "the line is not JSON at byte %d: %v", syntax.ByteOffset+1, syntax.Err)
	}
	return faultf(m.line, "the line is not JSON: %v", err)
}

func (m *members) refuse(format string, args ...any) {
	if m.err == nil {
		m.err = faultf(m.line, format, args...)
	}
}

// take returns the value of a member, or nil if it is absent. A null is returned as a
// value; the methods below refuse it.
func (m *members) take(name string, required bool) jsontext.Value {
	for i := range m.all {
		if m.all[i].name == name {
			m.all[i].taken = true
			return m.all[i].raw
		}
	}
	if required {
		m.refuse("%s is missing", name)
	}
	return nil
}

// end notes a member that was not read.
func (m *members) end(kind string) {
	for _, member := range m.all {
		if !member.taken {
			m.refuse("a line of the type %s has no member %s", kind, quoted(member.name))
		}
	}
}

func (m *members) text(name string, required bool) string {
	raw := m.take(name, required)
	if raw == nil {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if raw.Kind() != '"' || err != nil {
		m.refuse("%s must be a string", name)
	}
	return string(text)
}

// int reads a whole number. It refuses a fraction or an exponent.
func (m *members) int(name string, required bool) int64 {
	raw := m.take(name, required)
	if raw == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		m.refuse("%s must be a whole number", name)
	}
	return n
}

// id reads the id of a row: 1 or more.
func (m *members) id(name string, required bool) int64 {
	n := m.int(name, required)
	if m.err == nil && (n < 1 || n > petstore.MaxID) && m.take(name, false) != nil {
		m.refuse("%s must be between 1 and %d", name, int64(petstore.MaxID))
	}
	return n
}

func (m *members) bool(name string) bool {
	raw := m.take(name, true)
	if raw != nil && raw.Kind() != 't' && raw.Kind() != 'f' {
		m.refuse("%s must be true or false", name)
	}
	return raw != nil && raw.Kind() == 't'
}

func (m *members) time(name string, required bool) petstore.Time {
	if m.take(name, required) == nil {
		return petstore.Time{}
	}
	t, ok := petstore.ParseTime(m.text(name, required))
	if !ok {
		m.refuse("%s must be a date-time of RFC 3339 with an offset, such as 2026-01-31T12:00:00Z", name)
	}
	return t
}
