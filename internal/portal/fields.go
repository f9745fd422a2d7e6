package portal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	consoles "example.com/petstore/internal/portal/page"
)

// A member is a parameter, a header, or a member of a body, as the reference shows it.
type member struct {
	Name, Description string
	Required          bool
	In                string // where a parameter stands: in the path, the query or a header
	Schema            *schema
	Example           json.RawMessage
}

// Repeats reports whether a parameter takes several values.
func (m member) Repeats() bool { return m.In != "" && m.Schema.Type == "array" }

// Options returns the values that can be chosen where the operation is tried out, or nil if any can be entered.
func (m member) Options() []any {
	if m.Schema.Type == "boolean" {
		return []any{true, false}
	}
	return slices.Concat(m.Schema.Enum, m.Schema.Open)
}

// members returns the members of the object that s describes, or of the items if it is an array.
func (d *description) members(s *schema) (list []member) {
	of := d.item(s)
	for _, p := range of.Properties {
		s := d.Schema(p.Value)
		list = append(list, member{Name: p.Key, Description: s.Description, Required: slices.Contains(of.Required, p.Key), Schema: s, Example: s.Example})
	}
	return list
}

// item returns the schema of the items if s is an array, otherwise s.
func (d *description) item(s *schema) *schema {
	if s = d.Schema(s); s.Type == "array" {
		return d.item(s.Items)
	}
	return s
}

// typeName is "integer int64", "PetStatus" or "array of Pet".
func (d *description) typeName(s *schema) string {
	switch {
	case s.Type == "array":
		return "array of " + d.typeName(d.Schema(s.Items))
	case s.Name != "":
		return s.Name
	case s.Format != "":
		return s.Type + " " + s.Format
	}
	return s.Type
}

// limits says in words what the schema allows.
func (d *description) limits(s *schema) (list []string) {
	add := func(low, high *int64, of string) {
		switch {
		case low != nil && high != nil && *low == *high:
			list = append(list, group(*high)+of)
		case low != nil && high != nil:
			list = append(list, group(*low)+" to "+group(*high)+of)
		case low != nil && of == "":
			list = append(list, "at least "+group(*low)+of)
		case high != nil:
			list = append(list, "at most "+group(*high)+of)
		}
	}
	add(s.Minimum, s.Maximum, "")
	add(s.MinLength, s.MaxLength, " characters")
	add(nil, s.MaxItems, " values")
	if s.Type == "array" {
		list = append(list, d.limits(d.Schema(s.Items))...)
	}
	return list
}

// maxID is the greatest integer that every JSON reader holds exactly.
const maxID = 1<<53 - 1

// group writes n, and the greatest id as the power that it is.
func group(n int64) string {
	if n == maxID {
		return "2⁵³ − 1"
	}
	return consoles.Number(n)
}

// plain writes a JSON value as a reader would type it: strings without quotes, lists with commas.
func plain(text json.RawMessage) string {
	var v any
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return string(text)
	}
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	var parts []string
	for _, item := range list {
		parts = append(parts, fmt.Sprint(item))
	}
	return strings.Join(parts, ", ")
}
