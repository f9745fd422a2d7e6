package servertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/petstore/internal/processtest"
)

// Text returns what a file has.
func Text(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name) //nolint:gosec // a test says what to read
	Must(t, err)
	return string(text)
}

// Started starts another program than petstore, until the test ends, and returns what tells what it has printed. Without
// env it has the environment of the test.
func Started(t testing.TB, env []string, program string, args ...string) (said func() string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	Must(t, err)
	defer out.Close() //nolint:errcheck // the program has it too
	said = func() string { return Text(t, out.Name()) }
	cmd := exec.Command(program, args...) //nolint:gosec // a program of the test
	cmd.Env, cmd.Stdout, cmd.Stderr = env, out, out
	processtest.EndWithParent(cmd)
	Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // of a killed process it says so
		if t.Failed() {
			t.Logf("%s printed %s", filepath.Base(program), said())
		}
	})
	return said
}
