package portal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"example.com/petstore/internal/portal/asset"
)

// A description is what the reference reads of the OpenAPI document.
type description struct {
	Info struct {
		Title, Version, Description string
	}
	Tags      []struct{ Name, Description string }
	TagGroups []struct {
		Name string
		Tags []string
	} `json:"x-tagGroups"`
	Paths    ordered[ordered[*operation]] // by path, then by method
	Unrouted ordered[*response]           `json:"x-unrouted-responses"`

	Components struct {
		Parameters map[string]*parameter
		Schemas    map[string]*schema
		Responses  map[string]*response
		Headers    map[string]*header
	}
}

type operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Deprecated                        bool
	Stability                         string   `json:"x-stability"`
	Sunset                            string   `json:"x-sunset"`
	Successor                         string   `json:"x-successor"`
	Scopes                            []string `json:"x-scopes"` // all of which a key needs
	Parameters                        []*parameter
	RequestBody                       *struct{ Content ordered[*media] }
	Responses                         ordered[*response]

	Method, Path string `json:"-"`
}

type parameter struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
	Required              bool
	Schema                *schema
	Example               json.RawMessage
}

type response struct {
	Ref         string `json:"$ref"`
	Description string
	Headers     ordered[*header]
	Content     ordered[*media]
	Codes       []string `json:"x-error-codes"`
}

type header struct {
	Ref         string `json:"$ref"`
	Description string
	Example     json.RawMessage
}

type media struct {
	Schema   *schema
	Example  json.RawMessage
	Examples ordered[*example]
}

type example struct{ Value json.RawMessage }

type schema struct {
	Ref                            string `json:"$ref"`
	Type, Format, Description      string
	Nullable                       bool
	Enum                           []any
	Open                           []any `json:"x-extensible-enum"` // the values of today, of a list that may grow
	Default, Example               json.RawMessage
	Minimum, Maximum               *int64
	MinLength, MaxLength, MaxItems *int64
	Items                          *schema
	Properties                     ordered[*schema]
	Required                       []string
}

// parse reads the document, which is built in. It panics if that is none.
func parse(text []byte) *description {
	d := new(description)
	return asset.Must(d, json.Unmarshal(text, d))
}

// operations returns every operation in the order of the document.
func (d *description) operations() []*operation {
	var list []*operation
	for _, p := range d.Paths {
		for _, o := range p.Value {
			o.Value.Method, o.Value.Path = strings.ToUpper(o.Key), p.Key
			list = append(list, o.Value)
		}
	}
	return list
}

// parameters returns what applies to the operation: path, query, then headers.
func (d *description) parameters(o *operation) []*parameter {
	var list []*parameter
	for _, in := range []string{"path", "query", "header"} {
		for _, p := range o.Parameters {
			if p, _ = follow(p.Ref, d.Components.Parameters, p); p.In == in {
				list = append(list, p)
			}
		}
	}
	return list
}

func (d *description) response(r *response) *response {
	to, _ := follow(r.Ref, d.Components.Responses, r)
	return to
}

// schema follows a reference and returns the schema with its name, if it has one.
func (d *description) schema(s *schema) (*schema, string) {
	return follow(s.Ref, d.Components.Schemas, s)
}

// follow returns the component that a reference into the document names, and its name; what has none is itself.
func follow[T any](ref string, components map[string]*T, itself *T) (*T, string) {
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	if to, ok := components[name]; ok {
		return to, name
	}
	return itself, ""
}

// An ordered is a JSON object whose members keep their order.
type ordered[V any] []member[V]

type member[V any] struct {
	Key   string
	Value V
}

// UnmarshalJSON reads an object.
func (o *ordered[V]) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		m := member[V]{Key: fmt.Sprint(key)}
		if err := dec.Decode(&m.Value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}

func (o ordered[V]) get(key string) (V, bool) {
	for _, m := range o {
		if m.Key == key {
			return m.Value, true
		}
	}
	var none V
	return none, false
}
