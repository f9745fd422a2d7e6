package contract

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

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
