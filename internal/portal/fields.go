package portal

import (
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"

	consoles "example.com/petstore/internal/portal/page"
)

// A field is a parameter or a member of a body, as the reference shows it.
type field struct {
	Name, Type  string
	Required    bool
	Nullable    bool
	Limits      []string
	Enum        []string
	Grows       bool // whether values may be added to Enum
	Default     string
	Example     string
	Description template.HTML
	Children    []field
	In          string // where a parameter stands: in the path, the query or a header
	Repeats     bool
}

// Options returns the values that can be chosen where the operation is tried out, or nil if any can be entered.
func (f field) Options() []string {
	switch {
	case f.Repeats:
		return nil
	case f.Type == "boolean":
		return []string{"true", "false"}
	}
	return f.Enum
}

func (d *description) parameterField(p *parameter) field {
	f := d.field(p.Name, p.Schema)
	f.Required, f.In, f.Repeats = p.Required, p.In, p.Schema.Type == "array"
	f.Description = inline(p.Description)
	if p.Example != nil {
		f.Example = plain(p.Example)
	}
	if f.Repeats {
		f.Type += ", repeatable"
	}
	return f
}

// fields returns the members of the object that s describes, or of the items if it is an array.
func (d *description) fields(s *schema) []field {
	s = d.Schema(s)
	if s.Type == "array" {
		return d.fields(s.Items)
	}
	var list []field
	for _, p := range s.Properties {
		f := d.field(p.Key, p.Value)
		f.Required = slices.Contains(s.Required, p.Key)
		list = append(list, f)
	}
	return list
}

func (d *description) field(name string, s *schema) field {
	s = d.Schema(s)
	f := field{Name: name, Type: d.typeName(s), Nullable: s.Nullable, Limits: d.limits(s), Description: inline(s.Description)}
	of := s
	if s.Type == "array" {
		of = d.Schema(s.Items)
	}
	f.Grows = of.Open != nil
	for _, v := range slices.Concat(of.Enum, of.Open) {
		if v != nil {
			f.Enum = append(f.Enum, fmt.Sprint(v))
		}
	}
	if s.Default != nil {
		f.Default = string(s.Default)
	}
	if s.Example != nil {
		f.Example = plain(s.Example)
	}
	if s.Type == "object" || s.Type == "array" {
		f.Children = d.fields(s)
	}
	return f
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
func (d *description) limits(s *schema) []string {
	var list []string
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		list = append(list, group(*s.Minimum)+" to "+group(*s.Maximum))
	case s.Minimum != nil:
		list = append(list, "at least "+group(*s.Minimum))
	}
	switch {
	case s.MinLength != nil && s.MaxLength != nil && *s.MinLength == *s.MaxLength:
		list = append(list, group(*s.MaxLength)+" characters")
	case s.MinLength != nil && s.MaxLength != nil:
		list = append(list, group(*s.MinLength)+" to "+group(*s.MaxLength)+" characters")
	case s.MaxLength != nil:
		list = append(list, "at most "+group(*s.MaxLength)+" characters")
	}
	if s.MaxItems != nil {
		list = append(list, "at most "+group(*s.MaxItems)+" values")
	}
	if s.Type == "array" {
		items := d.Schema(s.Items)
		list = append(list, d.limits(items)...)
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
