package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"example.com/petstore/api"
)

// A description is what the commands need of the OpenAPI description of the API.
type description struct {
	Tags       []struct{ Name, Description string }
	Paths      map[string]struct{ Get, Post, Put, Patch, Delete *operation }
	Components struct {
		Parameters map[string]parameter
		Schemas    map[string]*schema
	}
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

type content struct {
	Content map[string]struct{ Schema *schema } // by media type
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
	Open                               []string `json:"x-extensible-enum"` // the values of today, of a list that may grow
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
	_, err := d.Token() // the brace
	for err == nil && d.More() {
		var name json.Token
		var s *schema
		if name, err = d.Token(); err == nil {
			err = d.Decode(&s)
		}
		*p = append(*p, property{fmt.Sprint(name), s})
	}
	return err
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

// operations returns all operations.
func (d *description) operations() []*operation {
	var all []*operation
	for at, item := range d.Paths {
		for method, o := range map[string]*operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete} {
			if o != nil {
				full := *o
				full.method, full.path = method, at
				all = append(all, &full)
			}
		}
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

// json returns the schema of a body of JSON, or nil.
func (d *description) json(c content) *schema { return d.resolve(c.Content["application/json"].Schema) }

// result returns the schema of the successful response to o, or nil if it has no body.
func (d *description) result(o *operation) *schema {
	for status, response := range o.Responses {
		if strings.HasPrefix(status, "2") {
			return d.json(response)
		}
	}
	return nil
}

// about returns the description of the tag of o.
func (d *description) about(o *operation) string {
	for _, t := range d.Tags {
		if slices.Contains(o.Tags, t.Name) {
			return plain(t.Description)
		}
	}
	return ""
}

// words returns the verb of the operationId, and what it is about: get and pet for getPet. An operationId of one word is a
// verb.
func (o *operation) words() (verb, item string) {
	i := strings.IndexFunc(o.ID, unicode.IsUpper)
	if i < 0 {
		return o.ID, "resource"
	}
	return o.ID[:i], strings.ToLower(o.ID[i:])
}

// names returns the noun and the verb of the command of o: orders of /store/orders, and rotate of /keys/{keyId}/rotate. If
// the path has no verb, it is that of the operationId.
func (o *operation) names() (noun, verb string) {
	verb, _ = o.words()
	before, after, _ := strings.Cut(o.path, "/{")
	if _, last, found := strings.Cut(after, "}/"); found {
		verb = path.Base(last)
	}
	return path.Base(before), verb
}

// label returns the name of a member in lower-case words: "ship date" for shipDate, and "category" for categoryId.
func label(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.TrimSuffix(strings.TrimSuffix(b.String(), " id"), " at")
}

// plain returns a text of the description, which is Markdown, as plain text in one line and without its last full stop.
func plain(markdown string) string {
	return strings.TrimSuffix(strings.ReplaceAll(strings.Join(strings.Fields(markdown), " "), "`", ""), ".")
}

// firstSentence returns a plain text up to the end of its first sentence.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return first
}
