package contract

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/api"
	"example.com/petstore/test/npmtest"
)

// patience is how long a linter may take.
const patience = 3 * time.Minute

var linters = npmtest.Packages{From: ".", Without: "the description is not linted"}

// spectral lints a description, warnings included, and returns what it prints.
func spectral(t *testing.T, path string) (string, error) {
	t.Helper()
	return program(t, linters.Program(t, "spectral"), "lint", "--fail-severity=warn", "--ruleset", "spectral.yaml", path)
}

func program(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestRedocly(t *testing.T) {
	t.Parallel()
	if out, err := program(t, linters.Program(t, "redocly"), "lint", "--config", "redocly.yaml", "../../api/openapi.yaml"); err != nil {
		t.Errorf("redocly lint: %v\n%s", err, out)
	}
}

func TestSpectral(t *testing.T) {
	t.Parallel()
	if out, err := spectral(t, "../../api/openapi.yaml"); err != nil {
		t.Errorf("spectral lint: %v\n%s", err, out)
	}
}

// TestSpectralSees has each rule of ours see the fault that it is there for.
func TestSpectralSees(t *testing.T) {
	t.Parallel()
	faults := map[string][2]string{
		"petstore-operation-id":       {"operationId: listPets", "operationId: list_pets"},
		"petstore-statuses":           {"        '429': {$ref: '#/components/responses/TooManyRequests'}\n", ""},
		"petstore-rate-limit-headers": {"X-RateLimit-Reset: {$ref", "X-Reset: {$ref"},
		"petstore-retry-after":        {"        Retry-After: {$ref: '#/components/headers/Retry-After'}\n", ""},
		"petstore-error":              {"schema: {$ref: '#/components/schemas/Error'}", "schema: {$ref: '#/components/schemas/Pet'}"},
		"petstore-sunset":             {"x-sunset:", "x-end:"},
		"petstore-idempotency":        {"        - {$ref: '#/components/parameters/IdempotencyKey'}\n", "        - {$ref: '#/components/parameters/IfMatch'}\n"},
		"petstore-bounded-list":       {"      maxItems: 100\n", ""},
	}
	var all []string
	for _, fault := range faults {
		all = append(all, fault[0], fault[1])
	}
	out, err := spectral(t, changed(t, all...))
	if err == nil {
		t.Error("spectral lint of a description full of faults succeeded, want findings")
	}
	for rule, fault := range faults {
		if !strings.Contains(out, rule) {
			t.Errorf("spectral lint has no finding of %s after %q became %q", rule, fault[0], fault[1])
		}
	}
}

// changed returns the path of the description in which, of each pair of texts, the first is replaced by the second.
func changed(t *testing.T, pairs ...string) string {
	t.Helper()
	text := string(api.YAML())
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the description has no %q to change", pairs[i])
		}
	}
	path := filepath.Join(t.TempDir(), "openapi.yaml")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
