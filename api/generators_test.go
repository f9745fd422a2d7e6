package api_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// checkPointers checks that an example of a fault in the body names no member that only another operation has: a response is
// shared by many, and mocks send its example for each.
func checkPointers(t *testing.T, op *openapi3.Operation, example *openapi3.ExampleRef) {
	t.Helper()
	if example == nil {
		return
	}
	for _, fault := range example.Value.Value.(map[string]any)["errors"].([]any) {
		f := fault.(map[string]any)
		member := strings.TrimPrefix(f["pointer"].(string), "/")
		if op.RequestBody.Value.Content["application/json"].Schema.Value.Properties[member] == nil && f["code"] != "unknown_field" {
			t.Errorf("%s: the example of validation_failed names /%s, which the body does not have", op.OperationID, member)
		}
	}
}

var listItem = regexp.MustCompile(`(?m)^ *\d+[.)]`)

// TestGeneratorsUnderstand holds the description to what makers of clients, mocks and forms were seen to need.
func TestGeneratorsUnderstand(t *testing.T) {
	t.Parallel()
	doc := load(t)
	for path, item := range doc.Paths.Map() {
		if len(item.Parameters) > 0 {
			t.Errorf("%s has parameters beside its operations, which some generators list twice", path)
		}
		for _, op := range item.Operations() {
			seen := map[string]bool{}
			for _, ref := range op.Parameters {
				p := ref.Value
				if p.Name == "X-Request-Id" || p.Name == "Idempotency-Key" && (p.Example != nil || p.Examples != nil) || seen[p.Name] {
					t.Errorf("%s has %s twice, or as something that tools fill in the same way for every request", op.OperationID, p.Name)
				}
				seen[p.Name] = true
			}
			for status, ref := range op.Responses.Map() {
				if codes := errorCodes(t, ref.Value.Extensions); slices.Index(codes, "validation_failed") > 0 {
					t.Errorf("%s %s begins with %s, want validation_failed, which mocks then answer", op.OperationID, status, codes[0])
				}
				for _, media := range ref.Value.Content {
					checkOpen(t, op.OperationID+" "+status, media.Schema, map[*openapi3.Schema]bool{})
				}
			}
			checkExamples(t, op)
			if item := listItem.FindString(op.Description); item != "" {
				t.Errorf("the description of %s has a line that begins with %s, which Swagger UI shows as an item of a list", op.OperationID, item)
			}
		}
	}
	for name, s := range doc.Components.Schemas {
		for member, ref := range s.Value.Properties {
			if ref.Value.UniqueItems {
				t.Errorf("%s.%s has uniqueItems, which makes it a Set that JSON has no form for", name, member)
			}
		}
	}
}

// checkExamples checks that forms, collections and mocks have something to begin with, and need not make it up. What can only
// come from a response, or from the client, has none.
func checkExamples(t *testing.T, op *openapi3.Operation) {
	t.Helper()
	for _, ref := range op.Parameters {
		p := ref.Value
		if s := p.Schema.Value; p.Example == nil && s.Default == nil && s.Enum == nil && p.Name != "cursor" && p.Name != "Idempotency-Key" {
			t.Errorf("%s: the parameter %s has no example", op.OperationID, p.Name)
		}
	}
	contents := map[string]openapi3.Content{}
	if op.RequestBody != nil {
		contents["the body"] = op.RequestBody.Value.Content
	}
	for status, ref := range op.Responses.Map() {
		contents[status] = ref.Value.Content
		if status == "400" {
			checkPointers(t, op, ref.Value.Content["application/json"].Examples["validation_failed"])
		}
	}
	for where, content := range contents {
		for name, media := range content {
			if media.Example == nil && len(media.Examples) == 0 {
				t.Errorf("%s: %s as %s has no example", op.OperationID, where, name)
			}
		}
	}
}

// checkOpen checks that what the server sends is bound to no pattern: generators that check one refuse what a later server
// sends. An object of any members says so.
func checkOpen(t *testing.T, where string, ref *openapi3.SchemaRef, seen map[*openapi3.Schema]bool) {
	t.Helper()
	if ref == nil || seen[ref.Value] {
		return
	}
	seen[ref.Value] = true
	if ref.Value.Pattern != "" {
		t.Errorf("%s has the pattern %s", where, ref.Value.Pattern)
	}
	if s := ref.Value; s.Type.Is("object") && len(s.Properties) == 0 && s.AdditionalProperties.Has == nil {
		t.Errorf("%s lists no members and does not say additionalProperties: true, without which generators drop what it has", where)
	}
	checkOpen(t, where, ref.Value.Items, seen)
	for name, p := range ref.Value.Properties {
		checkOpen(t, where+" "+name, p, seen)
	}
}
