package api_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/api"
	"github.com/getkin/kin-openapi/openapi3"
)

// common are the statuses that every operation can answer with.
const common = "400 401 403 406 414 429 431 500 503"

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.YAML())
	if err != nil {
		t.Fatalf("load the description: %v", err)
	}
	return doc
}

func TestDescriptionIsValid(t *testing.T) {
	t.Parallel()
	for name, text := range map[string][]byte{"YAML": api.YAML(), "JSON": api.JSON()} {
		doc, err := openapi3.NewLoader().LoadFromData(text)
		if err != nil {
			t.Fatalf("load %s: %v", name, err)
		}
		if err := doc.Validate(context.Background(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation()); err != nil {
			t.Errorf("validate %s: %v", name, err)
		}
		if doc.OpenAPI != "3.0.3" || doc.Info.Version != "1.0.0" {
			t.Errorf("%s is OpenAPI %s, version %s, want 3.0.3 and 1.0.0", name, doc.OpenAPI, doc.Info.Version)
		}
	}
}

func TestServerIsBaseURL(t *testing.T) {
	t.Parallel()
	const base = "https://pets.example.com/shop"
	for name, text := range map[string][]byte{"YAML": api.YAMLAt(base), "JSON": api.JSONAt(base)} {
		doc, err := openapi3.NewLoader().LoadFromData(text)
		if err != nil {
			t.Fatalf("load %s: %v", name, err)
		}
		if len(doc.Servers) != 1 || doc.Servers[0].URL != base {
			t.Errorf("%s: servers are %v, want %s", name, doc.Servers, base)
		}
	}
	if string(api.YAMLAt("")) != string(api.YAML()) || string(api.JSONAt("")) != string(api.JSON()) {
		t.Errorf("without a base URL the description is another")
	}
}

func TestJSONIsGenerated(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openapi", "admin"} {
		out := filepath.Join(t.TempDir(), "out.json")
		cmd := exec.Command("go", "run", "./internal/yamljson", name+".yaml", out)
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("yamljson: %v\n%s", err, msg)
		}
		want, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name + ".json")
		if err != nil || string(got) != string(want) {
			t.Errorf("%s.json differs from %[1]s.yaml, %v: run go generate ./api", name, err)
		}
	}
}

// operations returns every operation, by its method and path.
func operations(t *testing.T) map[string]*openapi3.Operation {
	t.Helper()
	all := map[string]*openapi3.Operation{}
	for path, item := range load(t).Paths.Map() {
		for method, op := range item.Operations() {
			all[method+" "+path] = op
		}
	}
	return all
}

// TestOperations: each is described, and has the responses that all have. Which operations, statuses and tags there are,
// and what is marked as deprecated or not yet stable, is held against the released description in test/contract.
func TestOperations(t *testing.T) {
	t.Parallel()
	for name, op := range operations(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if op.OperationID == "" || len(op.Tags) != 1 || op.Summary == "" || op.Description == "" {
				t.Errorf("%s %v %q is not described", op.OperationID, op.Tags, op.Summary)
			}
			for status := range strings.FieldsSeq(common) {
				free := op.Security != nil && len(*op.Security) == 0 // so that no scope is needed
				if has := op.Responses.Value(status) != nil; has == (free && status == "403") {
					t.Errorf("%s has the status %s: %t", op.OperationID, status, has)
				}
			}
			checkResponses(t, op)
		})
	}
}

func checkResponses(t *testing.T, op *openapi3.Operation) {
	t.Helper()
	for status, ref := range op.Responses.Map() {
		checkHeaders(t, op, status, ref.Value)
		if status < "400" {
			continue
		}
		codes := errorCodes(t, ref.Value.Extensions)
		examples := ref.Value.Content.Get("application/json").Examples
		if len(codes) == 0 || !slices.Equal(keys(examples), sorted(codes)) {
			t.Errorf("%s %s has the examples %v, want one for each of its codes %v", op.OperationID, status, keys(examples), codes)
		}
		for _, code := range codes {
			if !strings.Contains(*ref.Value.Description, "`"+code+"`") {
				t.Errorf("%s %s does not name %s in its description", op.OperationID, status, code)
			}
			checkExample(t, status, code, examples[code])
		}
	}
}

func checkHeaders(t *testing.T, op *openapi3.Operation, status string, r *openapi3.Response) {
	t.Helper()
	var want []string
	if op.Deprecated && (status < "400" || status == "410") {
		want = append(want, "Deprecation", "Sunset", "Link")
	}
	if status < "300" || status == "429" {
		want = append(want, "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
	}
	switch status {
	case "200":
		if strings.HasPrefix(op.OperationID, "list") {
			want = append(want, "Link", "X-Has-More")
		}
	case "201":
		if op.OperationID == "createSandbox" { // what it makes is no resource of the caller's
			break
		}
		want = append(want, "Location", "ETag", "Idempotency-Replayed")
	case "304":
		want = append(want, "ETag")
	case "401":
		want = append(want, "WWW-Authenticate")
	case "429", "503":
		want = append(want, "Retry-After")
	}
	for _, name := range want {
		if r.Headers[name] == nil {
			t.Errorf("%s %s lacks the header %s", op.OperationID, status, name)
		}
	}
}

func checkExample(t *testing.T, status, code string, ref *openapi3.ExampleRef) {
	t.Helper()
	if ref == nil {
		return
	}
	body, ok := ref.Value.Value.(map[string]any)
	if !ok || body["code"] != code || strconv.Itoa(int(body["status"].(float64))) != status {
		t.Errorf("the example of %s %s = %v, want its own code and status", status, code, ref.Value.Value)
	}
}

// TestCommonHeaders: what every response has is said once, in words.
func TestCommonHeaders(t *testing.T) {
	t.Parallel()
	text := load(t).Info.Description
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit", "X-Request-Id", "Cache-Control", "Vary"} {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("the description does not say that every response has %s", name)
		}
	}
}

// TestCodes checks that the list of Error.code has the codes of all responses, and no other.
func TestCodes(t *testing.T) {
	t.Parallel()
	doc := load(t)
	used := map[string]bool{}
	for _, r := range doc.Components.Responses {
		for _, code := range errorCodes(t, r.Value.Extensions) {
			used[code] = true
		}
	}
	for _, r := range doc.Extensions["x-unrouted-responses"].(map[string]any) {
		for _, code := range errorCodes(t, r.(map[string]any)) {
			used[code] = true
		}
	}
	var listed []string
	for _, v := range doc.Components.Schemas["Error"].Value.Properties["code"].Value.Extensions["x-extensible-enum"].([]any) {
		listed = append(listed, v.(string))
	}
	if got, want := sorted(listed), keys(used); !slices.Equal(got, want) {
		t.Errorf("Error.code = %v, want the codes of the responses %v", got, want)
	}
}

// TestCodesHaveOneStatus: the server takes the status of a code from the description.
func TestCodesHaveOneStatus(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, op := range operations(t) {
		for status, ref := range op.Responses.Map() {
			for _, code := range errorCodes(t, ref.Value.Extensions) {
				if before := seen[code]; before != "" && before != status {
					t.Errorf("%s has %s with the status %s, another operation with %s", name, code, status, before)
				}
				seen[code] = status
			}
		}
	}
}

// TestSeedShapes checks the required members of the shapes that were given.
func TestSeedShapes(t *testing.T) {
	t.Parallel()
	doc := load(t)
	tests := []struct{ schema, required, members string }{
		{"NewPet", "name categoryId", "name categoryId status"},
		{"Pet", "id name categoryId", "id name categoryId status"},
		{"NewCategory", "name", "name description"},
		{"Category", "id name", "id name description"},
		{"Order", "", "id petId quantity shipDate complete"},
		{"InventoryItem", "petId quantity status", "petId quantity status"},
		{"InventoryUpdate", "quantity", "quantity"},
		{"Error", "code message status", "code message status requestId errors"},
	}
	for _, tt := range tests {
		s := doc.Components.Schemas[tt.schema].Value
		if got, want := sorted(s.Required), sorted(strings.Fields(tt.required)); !slices.Equal(got, want) {
			t.Errorf("required members of %s = %v, want %v", tt.schema, got, want)
		}
		if got, want := keys(s.Properties), sorted(strings.Fields(tt.members)); !slices.Equal(got, want) {
			t.Errorf("members of %s = %v, want %v", tt.schema, got, want)
		}
	}
}

func TestInputsAreClosed(t *testing.T) {
	t.Parallel()
	for name, op := range operations(t) {
		if op.RequestBody == nil {
			continue
		}
		for media, content := range op.RequestBody.Value.Content {
			if has := content.Schema.Value.AdditionalProperties.Has; has == nil || *has {
				t.Errorf("%s accepts unknown members as %s", name, media)
			}
		}
		if merge := op.RequestBody.Value.Content["application/merge-patch+json"]; (merge != nil) != strings.HasPrefix(name, "PATCH ") {
			t.Errorf("%s takes merge patches = %t", name, merge != nil)
		}
	}
}

func errorCodes(t *testing.T, extensions map[string]any) []string {
	t.Helper()
	list, _ := extensions["x-error-codes"].([]any)
	var codes []string
	for _, c := range list {
		codes = append(codes, c.(string))
	}
	return codes
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return sorted(out)
}

func sorted(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return out
}
