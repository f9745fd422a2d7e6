package processtest_test

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"example.com/petstore/internal/processtest"
)

// TestEndWithParent runs itself as the parent of a process, and kills that parent.
func TestEndWithParent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux ends a process with its parent")
	}
	const role = "PROCESSTEST_IS_PARENT"
	if os.Getenv(role) != "" {
		beParent(t)
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	parent := exec.Command(os.Args[0], "-test.run=^TestEndWithParent$") //nolint:gosec // itself
	parent.Env, parent.Stdout, parent.Stderr = append(os.Environ(), role+"=1"), in, os.Stderr
	processtest.EndWithParent(parent)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close() // the two processes have it still
	if err := out.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the parent says nothing: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // of a killed process it says so
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Errorf("the process goes on without its parent: %v", err)
	}
}

// beParent starts a process, says so, and waits to be killed.
func beParent(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.Stdout = os.Stdout
	processtest.EndWithParent(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdout.WriteString("\n") // who reads it has gone, or kills this
	_ = cmd.Wait()
}
