package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// bin is the folder of the binary under test; TestMain sets it once.
var bin string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds the binary, as go build does for users, and runs the tests on it.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "petstore-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "petstore"), "../cmd/petstore")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params("testdata"))
}

func params(dir string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			b := &bench{servers: map[string]*server{}}
			env.Values[benchKey{}] = b
			env.Defer(b.killAll)
			return copyFile(filepath.Join(env.WorkDir, "README.md"), "../README.md")
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve":     serve,
			"end":       end,
			"signal":    signal,
			"wait-end":  waitEnd,
			"exits":     exits,
			"http":      request,
			"within":    within,
			"paste":     paste,
			"paste-all": pasteAll,
			"capture":   capture,
			"newer":     newer,
		},
	}
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}
