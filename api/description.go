package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// A Description is what the reference and the commands read of the description.
type Description struct {
	Info struct {
		Title, Version, Description string
	}
	Tags      []struct{ Name, Description string }
	TagGroups []struct {
		Name string
		Tags []string
	} `json:"x-tagGroups"`
	Paths    Ordered[Ordered[*Operation]] // by path, then by method
	Unrouted Ordered[*Response]           `json:"x-unrouted-responses"`

	Components struct {
		Parameters map[string]*Parameter
		Schemas    map[string]*Schema
		Responses  map[string]*Response
		Headers    map[string]*Header
	}
}

// An Operation is one method of a path.
type Operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Deprecated                        bool
	Stability                         string   `json:"x-stability"`
	Sunset                            string   `json:"x-sunset"`
	Successor                         string   `json:"x-successor"` // the request that replaces a deprecated operation, or ""
	Scopes                            []string `json:"x-scopes"`    // all of which a key needs
	Parameters                        []*Parameter
	RequestBody                       *Body
	Responses                         Ordered[*Response] // by status

	Method, Path string `json:"-"`
}

// A Body is the body of a request.
type Body struct{ Content Ordered[*Media] }

// A Parameter is a parameter of an operation.
type Parameter struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
	Required              bool
	Schema                *Schema
	Example               json.RawMessage
}

// A Response is what an operation answers with one status.
type Response struct {
	Ref         string `json:"$ref"`
	Description string
	Headers     Ordered[*Header]
	Content     Ordered[*Media] // by media type
	Codes       []string        `json:"x-error-codes"`
}

// A Header is a header field of a response.
type Header struct {
	Ref         string `json:"$ref"`
	Description string
	Example     json.RawMessage
}

// A Media is a body in one media type.
type Media struct {
	Schema   *Schema
	Example  json.RawMessage
	Examples Ordered[*Example]
}

// An Example is a body, or a value.
type Example struct{ Value json.RawMessage }

// A Schema describes a value of JSON.
type Schema struct {
	Ref                                string `json:"$ref"`
	Type, Format, Pattern, Description string
	Nullable                           bool
	Enum                               []any
	Open                               []any `json:"x-extensible-enum"` // the values of today, of a list that may grow
	Default, Example                   json.RawMessage
	Minimum, Maximum                   *int64
	MinLength, MaxLength, MaxItems     *int64
	Items                              *Schema
	Properties                         Ordered[*Schema]
	Required                           []string

	Name string `json:"-"` // among the components, or ""
}

var (
	public = sync.OnceValue(func() *Description { return parse(jsonText) })
	admin  = sync.OnceValue(func() *Description { return parse(adminJSON) })
)

// Parse returns the description, which is read at the first call. All callers share it, and
// must not change it.
func Parse() *Description { return public() }

// ParseAdmin is Parse for the description of the operator's API.
func ParseAdmin() *Description { return admin() }

func parse(text string) *Description {
	d := new(Description)
	if err := json.Unmarshal([]byte(text), d); err != nil {
		panic(err) // the description is part of the program
	}
	for name, s := range d.Components.Schemas {
		s.Name = name
	}
	for _, p := range d.Paths {
		for _, o := range p.Value {
			o.Value.Method, o.Value.Path = strings.ToUpper(o.Key), p.Key
		}
	}
	return d
}

// Operations returns every operation in the order of the description.
func (d *Description) Operations() []*Operation {
	var list []*Operation
	for _, p := range d.Paths {
		for _, o := range p.Value {
			list = append(list, o.Value)
		}
	}
	return list
}

// Responses returns those of every operation and then the unrouted ones, by status. They may
// be references.
func (d *Description) Responses() (all Ordered[*Response]) {
	for _, o := range d.Operations() {
		all = append(all, o.Responses...)
	}
	return append(all, d.Unrouted...)
}

// Of returns the parameters of an operation: of the path, of the query, then of the headers.
func (d *Description) Of(o *Operation) []*Parameter {
	var list []*Parameter
	for _, in := range []string{"path", "query", "header"} {
		for _, p := range o.Parameters {
			if p = Follow(p.Ref, d.Components.Parameters, p); p.In == in {
				list = append(list, p)
			}
		}
	}
	return list
}

// Response follows a reference.
func (d *Description) Response(r *Response) *Response {
	return Follow(r.Ref, d.Components.Responses, r)
}

// Schema follows a reference.
func (d *Description) Schema(s *Schema) *Schema { return Follow(s.Ref, d.Components.Schemas, s) }

// Follow returns the component that a reference into the description names; what has no reference is itself.
func Follow[T any](ref string, components map[string]*T, itself *T) *T {
	if to, ok := components[ref[strings.LastIndexByte(ref, '/')+1:]]; ok {
		return to
	}
	return itself
}

// An Ordered is a JSON object whose members keep their order.
type Ordered[V any] []Member[V]

// A Member is a member of a JSON object.
type Member[V any] struct {
	Key   string
	Value V
}

// UnmarshalJSON reads an object.
func (o *Ordered[V]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	_, err := d.Token() // the brace
	for err == nil && d.More() {
		var key json.Token
		var m Member[V]
		if key, err = d.Token(); err == nil {
			m.Key = fmt.Sprint(key)
			err = d.Decode(&m.Value)
		}
		*o = append(*o, m)
	}
	return err
}

// Last returns the last member. There must be one.
func (o Ordered[V]) Last() Member[V] { return o[len(o)-1] }

// Get returns the member with a name.
func (o Ordered[V]) Get(key string) (v V, ok bool) {
	for _, m := range o {
		if m.Key == key {
			return m.Value, true
		}
	}
	return v, false
}
