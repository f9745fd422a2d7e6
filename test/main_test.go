package test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/petstore/internal/store/postgres/postgrestest"
	"example.com/petstore/test/servertest"
)

var (
	// petstore is the binary under test; TestMain sets it once.
	petstore servertest.Binary
	// database is the server on which each test has a database of its own.
	database postgrestest.Shared
)

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(&petstore, func() int { return database.Main(m.Run) }))
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params("testdata"))
}

func params(dir string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(string(petstore))+string(os.PathListSeparator)+env.Getenv("PATH"))
			started := servers{}
			env.Values[serversKey{}] = started
			env.Defer(func() {
				for _, s := range started {
					s.Kill()
				}
			})
			return copyFile(filepath.Join(env.WorkDir, "README.md"), "../README.md")
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve":    serve,
			"end":      end,
			"signal":   signal,
			"wait-end": waitEnd,
			"exits":    exits,
			"http":     request,
			"within":   within,
			"capture":  capture,
			"newer":    newer,
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

// must ends a test if there is an error.
var must = servertest.Must
