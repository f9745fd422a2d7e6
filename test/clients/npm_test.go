package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.com/petstore/test/clients/npm"
)

// patience is how long a program may take before a test fails.
const patience = 3 * time.Minute

// description is the path of the description under test.
func description(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var installed = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return npm.Install(ctx, ".")
})

// modules returns the folder that has the packages of package-lock.json installed. It skips the test if there is no npm,
// unless CI is "true".
func modules(t *testing.T) string {
	t.Helper()
	dir, err := installed()
	switch {
	case errors.Is(err, npm.ErrAbsent) && os.Getenv("CI") != "true":
		t.Skip("npm is not installed: the clients of others are not tested")
	case err != nil:
		t.Fatal(err)
	}
	return dir
}

// tool returns the path of a program of an installed package.
func tool(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(modules(t), "node_modules", ".bin", name)
}

// run runs a program, which must succeed, and returns what it printed.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := output(t.Context(), dir, name, args...)
	if err != nil {
		t.Fatal(err)
	}
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
