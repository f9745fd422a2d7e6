package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// suites is where the guide "Test your client" has its test suites.
const suites = "../../examples/suite"

// TestSuitesOfTheGuide runs each as the guide says: with petstore sandbox.
func TestSuitesOfTheGuide(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs(suites)
	must(t, err)
	for name, command := range map[string]func(t *testing.T) []string{
		"Python": func(*testing.T) []string { return []string{"python3", filepath.Join(dir, "suite.py")} },
		"shell":  func(*testing.T) []string { return []string{"sh", filepath.Join(dir, "suite.sh")} },
		"Go": func(*testing.T) []string {
			return []string{"go", "test", "-count=1", filepath.Join(dir, "suite_test.go")}
		},
		"TypeScript": func(t *testing.T) []string {
			t.Helper()
			to, packages := t.TempDir(), filepath.Join(others.Dir(t), "node_modules")
			run(t, ".", "cp", filepath.Join(dir, "suite.ts"), "package.json", to)
			run(t, to, "node", filepath.Join(packages, "typescript/bin/tsc"), "--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck",
				"--types", "node", "--typeRoots", filepath.Join(packages, "@types"), "--outDir", to, "suite.ts")
			return []string{"node", "--test", filepath.Join(to, "suite.js")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := run(t, t.TempDir(), string(petstore), append([]string{"sandbox", "--"}, command(t)...)...)
			if strings.Contains(out, "no test files") || strings.Contains(out, "[no tests to run]") {
				t.Errorf("nothing was tested:\n%s", out)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join(suites, "suite*"))
	if err != nil || len(files) != 4 {
		t.Fatalf("the suites are %v, %v, want four", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || strings.Count(string(text), "\n") >= 60 {
			t.Errorf("%s has %d lines, %v, want fewer than 60", file, strings.Count(string(text), "\n"), err)
		}
	}
}
