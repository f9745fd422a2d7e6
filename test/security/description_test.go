package security

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/api"
)

// An operation is one of the description's.
type operation struct {
	id, method, path string
	schema           *openapi3.Schema    // of the body; nil if it takes none
	query            openapi3.Parameters // of the query
	security         bool                // asks for a key
}

// operations returns every operation, in the order of paths and methods.
func operations(t *testing.T) []operation {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.JSON())
	must(t, err)
	var all []operation
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		item := doc.Paths.Value(path)
		methods := item.Operations()
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			all = append(all, newOperation(doc, path, method, methods[method]))
		}
	}
	if len(all) < 19 {
		t.Fatalf("the description has %d operations, want 19 or more", len(all))
	}
	return all
}

func newOperation(doc *openapi3.T, path, method string, o *openapi3.Operation) operation {
	op := operation{id: o.OperationID, method: method, path: path, security: len(doc.Security) > 0}
	if o.Security != nil {
		op.security = len(*o.Security) > 0
	}
	if o.RequestBody != nil {
		op.schema = o.RequestBody.Value.Content["application/json"].Schema.Value
	}
	for _, p := range o.Parameters {
		if p.Value.In == "query" {
			op.query = append(op.query, p)
		}
	}
	return op
}

// public reports whether the description says that an operation needs no key.
// These four, and no other, may.
func (o operation) public() bool {
	return !o.security && slices.Contains([]string{"/openapi.json", "/openapi.yaml", "/docs", "/sandboxes"}, o.path)
}

// named reports whether the path has the id of a resource.
func (o operation) named() bool { return strings.Contains(o.path, "{") }

// at returns the path with an id in the place of its parameter. An id within it, of a
// delivery, is 1.
func (o operation) at(id any) string {
	before, rest, found := strings.Cut(strings.Replace(o.path, "{deliveryId}", "1", 1), "{")
	if !found {
		return o.path
	}
	_, after, _ := strings.Cut(rest, "}")
	return fmt.Sprintf("%s%v%s", before, id, after)
}

// members returns the properties of the body by name, those of allOf too.
func members(s *openapi3.Schema) map[string]*openapi3.Schema {
	all := map[string]*openapi3.Schema{}
	for name, p := range s.Properties {
		all[name] = p.Value
	}
	for _, part := range s.AllOf {
		maps.Copy(all, members(part.Value))
	}
	return all
}

func required(s *openapi3.Schema) []string {
	names := slices.Clone(s.Required)
	for _, part := range s.AllOf {
		names = append(names, required(part.Value)...)
	}
	return names
}

// sample returns the least valid body, in which every reference is id 1.
func (o operation) sample(t *testing.T) map[string]any {
	t.Helper()
	if o.schema == nil {
		return nil
	}
	body, known := map[string]any{}, members(o.schema)
	for _, name := range required(o.schema) {
		body[name] = sampleOf(t, o, name, known[name])
	}
	return body
}

func sampleOf(t *testing.T, o operation, name string, s *openapi3.Schema) any {
	t.Helper()
	switch {
	case s == nil:
		t.Fatalf("%s: the required member %s has no schema", o.id, name)
	case s.Type.Is("string"):
		return "sample"
	case s.Type.Is("integer"):
		return 1
	case s.Type.Is("boolean"):
		return true
	}
	t.Fatalf("%s: no sample is known for the member %s; teach this test", o.id, name)
	return nil
}

// text returns a body as JSON; "" for none.
func text(t *testing.T, body map[string]any) string {
	t.Helper()
	if body == nil {
		return ""
	}
	b, err := json.Marshal(body)
	must(t, err)
	return string(b)
}
