package contract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/api"
)

// TestEvolution makes the changes that docs/lifecycle.md says clients were tried with, and compares what it says of each with
// what oasdiff finds.
func TestEvolution(t *testing.T) {
	t.Parallel()
	const (
		colour     = "\n        colour: {type: string, maxLength: 20}"
		compatible = "No breaking changes to report, but the specs are different"
	)
	for _, c := range []struct {
		what, after, add string // add is inserted where the description first has after
		breaks           bool
		want             string
	}{
		{"a type of event", "x-extensible-enum: [pet.created,", " pet.photographed,", false, compatible},
		{"an error code", "x-extensible-enum: [malformed_json,", " pet_asleep,", false, compatible},
		{"a member of a response", "    Pet:\n      type: object\n      description: A pet.\n      required: [id, name, categoryId]\n      properties:", colour, false, compatible},
		{"an optional member of a request", "      description: A pet to create.\n      additionalProperties: false\n      required: [name, categoryId]\n      properties:", colour, false, compatible},
		{"an optional parameter", "        - {$ref: '#/components/parameters/PetNameFilter'}", "\n        - {name: colour, in: query, schema: {type: string}}", false, compatible},
		{"a value of a closed list", "    PetStatus:\n      type: string\n      enum: [available, pending, sold", ", asleep", true, "error\t[response-property-enum-value-added]"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "later.yaml")
			must(t, os.WriteFile(path, []byte(strings.Replace(string(api.YAML()), c.after, c.after+c.add, 1)), 0o600))
			out, err := breaking(t, "../../api/openapi.yaml", path)
			if (err != nil) != c.breaks || !strings.Contains(out, c.want) {
				t.Errorf("oasdiff breaking, after %s was added: %v, want an error %t and the text %q\n%s", c.what, err, c.breaks, c.want, out)
			}
		})
	}
}
