package clients

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/test/npmtest"
)

// patience is how long a program may take before a test fails.
const patience = 10 * time.Minute

// description is the path of the description under test.
func description(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../api/openapi.yaml")
	must(t, err)
	return path
}

var others = npmtest.Packages{From: ".", Without: "the clients of others are not tested"}

// run runs a program, which must succeed, and returns what it printed.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := output(t.Context(), dir, name, args...)
	must(t, err)
	return out
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1", "GOFLAGS=-mod=readonly")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %v: %w\n%s", filepath.Base(name), args, err, out)
	}
	return string(out), err
}
