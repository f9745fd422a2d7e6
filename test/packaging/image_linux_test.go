package packaging

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// TestImageByHand does what the Dockerfile does, without an engine: the static
// binary in a root with nothing else, as the user and with the variables that
// the file names, found healthy by the file's own check.
func TestImageByHand(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root may change the root and the user")
	}
	dockerfile := servertest.Text(t, filepath.Join(root(t), "deploy", "Dockerfile"))
	image := t.TempDir()
	if err := os.Chmod(image, 0o755); err != nil { //nolint:gosec // another user runs in it
		t.Fatal(err)
	}
	run(t, root(t), []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(image, "petstore"), "./cmd/petstore")
	const user = 65532
	if want := fmt.Sprintf("USER %d:%d\n", user, user); !strings.Contains(dockerfile, want) {
		t.Fatalf("the Dockerfile lacks %q", want)
	}
	data := filepath.Join(image, "data")
	must(t, os.Mkdir(data, 0o700))
	must(t, os.Chown(data, user, user))
	inside := func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "/petstore", args...)
		cmd.Path, cmd.Err = "/petstore", nil // of the new root
		cmd.Dir = "/data"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: image, Credential: &syscall.Credential{Uid: user, Gid: user}}
		// The ports of the file may be taken on this machine.
		cmd.Env = append(variables(dockerfile), "PETSTORE_ADDR=127.0.0.1:28080", "PETSTORE_OPS_ADDR=127.0.0.1:28090")
		return cmd
	}
	service := inside(t.Context(), "serve")
	var log strings.Builder
	service.Stdout, service.Stderr = io.Discard, &log
	must(t, service.Start())
	healthy(t, func() ([]byte, error) { return inside(t.Context(), "healthcheck").CombinedOutput() })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:28080/openapi.yaml", http.NoBody)
	must(t, err)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("GET /openapi.yaml = %d, want 200", resp.StatusCode)
	}
	must(t, service.Process.Signal(syscall.SIGTERM))
	if err := service.Wait(); err != nil {
		t.Errorf("after SIGTERM the service ended with %v\n%s", err, log.String())
	}
	if _, err := os.Stat(filepath.Join(data, "petstore.db")); err != nil {
		t.Error(err)
	}
}

// variables returns those that the Dockerfile's ENV sets.
func variables(dockerfile string) []string {
	return regexp.MustCompile(`\bPETSTORE_\w+=\S+`).FindAllString(dockerfile, -1)
}

// healthy waits until a check succeeds.
func healthy(t *testing.T, check func() ([]byte, error)) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		out, err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not become healthy: %v\n%s", err, out)
		}
	}
}
