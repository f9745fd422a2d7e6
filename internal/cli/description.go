package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"sync"
	"unicode"

	"example.com/petstore/api"
)

// A description is what the commands need of the OpenAPI description of the API.
type description struct {
	Tags       []struct{ Name, Description string }
	Paths      map[string]pathItem
	Components struct {
		Parameters map[string]parameter
		Schemas    map[string]*schema
	}
}

type pathItem struct {
	Parameters                    []parameter
	Get, Post, Put, Patch, Delete *operation
}

// An operation is one method of a path.
type operation struct {
	ID          string `json:"operationId"`
	Tags        []string
	Summary     string
	Successor   string `json:"x-successor"` // the request that replaces a deprecated operation, or ""
	Parameters  []parameter
	RequestBody *content
	Responses   map[string]content

	method, path string
}

// A content is what a body holds, by its media type.
type content struct {
	Content map[string]struct{ Schema *schema }
}

type parameter struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
	Required              bool
	Schema                *schema
}

// A schema describes a value of JSON.
type schema struct {
	Ref                                string `json:"$ref"`
	Type, Format, Pattern, Description string
	Enum                               []string
	Minimum, Maximum                   *int64
	Default                            any
	Nullable                           bool
	Required                           []string
	Properties                         properties
	Items                              *schema

	name string // among the components, or ""
}

// The properties of an object are in the order of the description.
type properties []property

type property struct {
	name   string
	schema *schema
}

// UnmarshalJSON keeps the order, which a map would lose.
func (p *properties) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil { // the brace
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		one := property{name: fmt.Sprint(name)}
		if err := d.Decode(&one.schema); err != nil {
			return err
		}
		*p = append(*p, one)
	}
	return nil
}

// readDescription returns the embedded description, which is decoded when a command first needs it.
var readDescription = sync.OnceValue(func() *description {
	d := new(description)
	if err := json.Unmarshal(api.JSON(), d); err != nil {
		panic(err) // the description is part of the program
	}
	for name, s := range d.Components.Schemas {
		s.name = name
	}
	return d
})

// operations returns all operations, with their own parameters and those of their path.
func (d *description) operations() []*operation {
	var all []*operation
	for at, item := range d.Paths {
		for method, o := range map[string]*operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete} {
			if o != nil {
				complete := *o
				complete.method, complete.path = method, at
				complete.Parameters = d.parameters(item.Parameters, o.Parameters)
				all = append(all, &complete)
			}
		}
	}
	return all
}

// parameters returns the parameters of a path and of its operation, which may describe one of the path's again.
func (d *description) parameters(ofPath, own []parameter) []parameter {
	var all []parameter
	known := map[string]bool{}
	for _, p := range append(ofPath[:len(ofPath):len(ofPath)], own...) {
		if p.Ref != "" {
			p = d.Components.Parameters[path.Base(p.Ref)]
		}
		if !known[p.In+" "+p.Name] {
			all = append(all, p)
		}
		known[p.In+" "+p.Name] = true
	}
	return all
}

// resolve returns the schema that s refers to, or s.
func (d *description) resolve(s *schema) *schema {
	if s != nil && s.Ref != "" {
		return d.Components.Schemas[path.Base(s.Ref)]
	}
	return s
}

// json returns the schema of the JSON in a body, or nil, and the most specific media type for it.
func (d *description) json(c content) (s *schema, mediaType string) {
	for _, mediaType := range []string{"application/merge-patch+json", "application/json"} {
		if body, ok := c.Content[mediaType]; ok {
			return d.resolve(body.Schema), mediaType
		}
	}
	return nil, ""
}

// result returns the schema of the successful response to o, or nil if it has no body.
func (d *description) result(o *operation) *schema {
	for status, response := range o.Responses {
		if strings.HasPrefix(status, "2") {
			s, _ := d.json(response)
			return s
		}
	}
	return nil
}

// tag returns the description of the tag of o.
func (d *description) tag(o *operation) string {
	for _, t := range d.Tags {
		if t.Name == o.Tags[0] {
			return plain(t.Description)
		}
	}
	return ""
}

// names returns the noun and the verb of the command of o: of /store/orders the noun is orders, of
// /keys/{keyId}/rotate the verb is rotate. A path without a verb has that of the operationId.
func (o *operation) names() (noun, verb string) {
	inItem := false
	for segment := range strings.SplitSeq(o.path[1:], "/") {
		switch {
		case strings.HasPrefix(segment, "{"):
			inItem = true
		case inItem:
			verb = segment
		default:
			noun = segment
		}
	}
	if verb == "" {
		verb = o.ID[:strings.IndexFunc(o.ID, unicode.IsUpper)]
	}
	return noun, verb
}

// item returns what o is about, in the singular: pet for getPet.
func (o *operation) item() string {
	return strings.ToLower(o.ID[strings.IndexFunc(o.ID, unicode.IsUpper):])
}

// label returns the name of a member for people, in lower-case words: "ship date" for shipDate, and "category" for
// categoryId.
func label(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	words := b.String()
	return strings.TrimSuffix(strings.TrimSuffix(words, " id"), " at")
}

// plain returns a text of the description, which is Markdown, as plain text in one line.
func plain(markdown string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(markdown), " "), "`", "")
}

// firstSentence returns a text up to the end of its first sentence, without the full stop.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}
