package archtest

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/internal/processtest"
)

const module = "example.com/petstore"

// A table says what each package, and the packages below it, may import of
// ours apart from tests; nil for anything. With "!" before it, a package is the
// only one that may not be imported.
type table map[string][]string

// tableRow matches a row of the table of docs/design.md: the package in code
// quotes, what it is, and the packages that it may import.
func tableRow() *regexp.Regexp {
	return regexp.MustCompile("(?m)^\\| `([a-z0-9/]+)` \\|.*\\| ([a-z0-9/, ]+) \\|$")
}

// readTable reads the table of docs/design.md.
func readTable(t *testing.T) table {
	t.Helper()
	all := table{}
	for _, row := range tableRow().FindAllStringSubmatch(string(read(t, "docs/design.md")), -1) {
		all[row[1]] = imports(row[2])
	}
	if len(all) < 10 {
		t.Fatalf("docs/design.md has only %d packages in its table", len(all))
	}
	return all
}

// imports reads the last cell of a row.
func imports(cell string) []string {
	switch cell {
	case "anything":
		return nil
	case "nothing":
		return []string{}
	}
	if except, ok := strings.CutPrefix(cell, "anything but "); ok {
		return []string{"!internal/" + except}
	}
	var all []string
	for name := range strings.SplitSeq(cell, ", ") {
		if name != "api" && name != "examples" {
			name = "internal/" + name
		}
		all = append(all, name)
	}
	return all
}

// home returns the entry of the table that rules a folder, or "".
func (all table) home(dir string) string {
	home := ""
	for entry := range all {
		if within(dir, entry) && len(entry) > len(home) {
			home = entry
		}
	}
	return home
}

func within(dir, parent string) bool { return dir == parent || strings.HasPrefix(dir, parent+"/") }

// free are the folders of no part of the program.
func free() []string { return []string{"internal/archtest", "test"} }

// onlyIn names, for a module, the one package of ours that may import it.
func onlyIn() map[string]string {
	return map[string]string{
		"zombiezen.com/go/sqlite":      "internal/store/sqlite",
		"modernc.org/sqlite":           "internal/store/sqlite",
		"github.com/jackc/pgx":         "internal/store/postgres internal/store/postgres/postgrestest",
		"github.com/redis/rueidis":     "internal/ratelimit",
		"github.com/VictoriaMetrics":   "internal/httpapi",
		"go.opentelemetry.io":          "internal/trace",
		"github.com/prometheus":        "internal/node",
		"github.com/spf13":             "internal/config internal/cli deploy/manual",
		"go.yaml.in/yaml/v3":           "internal/config api/internal/yamljson",
		"github.com/coreos/go-systemd": "internal/node",
	}
}

// A file is a Go file of this module.
type file struct {
	path    string // from the root, with slashes
	dir     string
	pkg     string
	test    bool
	imports []string
}

// product reports whether a file is of the program, not of its tests, or a
// package that is for tests alone, as net/http/httptest is.
func (f file) product() bool { return !f.test && !forTests(f.dir) }

// forTests reports whether a folder is of a package that is for tests alone.
func forTests(dir string) bool { return strings.HasSuffix(dir, "test") }

// files parses every Go file of the module; nested modules are others.
func files(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..")
	var all []file
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(root, name, d)
		}
		if strings.HasSuffix(name, ".go") {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			all = append(all, parse(t, name, filepath.ToSlash(rel)))
		}
		return nil
	})
	processtest.Must(t, err)
	if len(all) < 50 {
		t.Fatalf("only %d Go files were found", len(all))
	}
	return all
}

// enter returns SkipDir for folders that are not of this module.
func enter(root, name string, d fs.DirEntry) error {
	if name == root {
		return nil
	}
	_, err := os.Stat(filepath.Join(name, "go.mod"))
	if nested := err == nil; nested || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" {
		return fs.SkipDir
	}
	return nil
}

func parse(t *testing.T, name, rel string) file {
	t.Helper()
	ast, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	processtest.Must(t, err)
	f := file{path: rel, dir: path.Dir(rel), pkg: ast.Name.Name, test: strings.HasSuffix(rel, "_test.go")}
	for _, spec := range ast.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		processtest.Must(t, err)
		f.imports = append(f.imports, imported)
	}
	return f
}

func TestImportsOfOurs(t *testing.T) {
	t.Parallel()
	all := readTable(t)
	for _, f := range files(t) {
		entry := all.home(f.dir)
		may := all[entry]
		if f.test || may == nil {
			continue
		}
		for _, imported := range f.imports {
			ours, ok := strings.CutPrefix(imported, module+"/")
			if !ok || all.home(ours) == entry || forTests(f.dir) && forTests(ours) {
				continue
			}
			if !allows(may, ours) {
				t.Errorf("%s imports %s; by docs/design.md %s may import %v of ours", f.path, ours, entry, may)
			}
		}
	}
}

// allows reports whether a cell of the table lets a package be imported.
func allows(may []string, ours string) bool {
	if len(may) == 0 {
		return false
	}
	if except, ok := strings.CutPrefix(may[0], "!"); ok {
		return !within(ours, except)
	}
	return slices.Contains(may, ours)
}

func TestEveryPackageIsInTheTable(t *testing.T) {
	t.Parallel()
	all := readTable(t)
	for _, f := range files(t) {
		if all.home(f.dir) == "" && !slices.ContainsFunc(free(), func(dir string) bool { return within(f.dir, dir) }) {
			t.Errorf("%s is in no package of the table of docs/design.md", f.path)
		}
	}
}

func TestDriversStayInTheirPackage(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		for _, imported := range f.imports {
			for prefix, homes := range onlyIn() {
				if !strings.HasPrefix(imported, prefix) || !f.product() {
					continue
				}
				if !slices.Contains(strings.Fields(homes), f.dir) {
					t.Errorf("%s imports %s, which only %s may", f.path, imported, homes)
				}
			}
		}
	}
}

func TestTestingStaysInTests(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if !f.product() {
			continue
		}
		for _, imported := range f.imports {
			if imported == "testing" || strings.HasPrefix(imported, module) && forTests(imported) {
				t.Errorf("%s imports %s, which only tests and packages for tests may", f.path, imported)
			}
		}
	}
}

func TestPackageNames(t *testing.T) {
	t.Parallel()
	forbidden := []string{"util", "utils", "common", "helper", "helpers", "base", "types", "model", "models", "http"}
	for _, f := range files(t) {
		if slices.Contains(forbidden, strings.TrimSuffix(f.pkg, "_test")) {
			t.Errorf("%s is of package %s, a name that says nothing", f.path, f.pkg)
		}
	}
}

// mayReadEnvironment names config, main, which hands os.Getenv on, and the
// sample program that the guides print for clients.
func mayReadEnvironment() []string {
	return []string{"internal/config", "cmd/petstore", "examples/retry"}
}

func TestTheEnvironmentIsReadInOnePlace(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if !f.product() || !slices.Contains(f.imports, "os") || slices.Contains(mayReadEnvironment(), f.dir) {
			continue
		}
		text := read(t, f.path)
		for _, call := range []string{"os.Getenv(", "os.LookupEnv(", "os.Environ("} {
			if bytes.Contains(text, []byte(call)) {
				t.Errorf("%s calls %s…), which only internal/config may", f.path, call)
			}
		}
	}
}

var anyPort = regexp.MustCompile(`Listen\w*\([^)]*:0"\)`)

// TestFreePortsAreChosenInOnePlace finds who lets the system choose a port for
// another process: a client's connection may get it meanwhile. Tests may, for
// listeners that they keep.
func TestFreePortsAreChosenInOnePlace(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if f.test || !slices.Contains(f.imports, "net") {
			continue
		}
		if call := anyPort.Find(read(t, f.path)); call != nil {
			t.Errorf("%s calls %s; free ports come from internal/processtest", f.path, call)
		}
	}
}

var method = regexp.MustCompile(`(?m)^func \(\w+ \*?(\w+)(?:\[\w+\])?\) \w+`)

// TestTypesHaveFewMethods leaves out the store, whose methods are those of the interfaces of many packages.
func TestTypesHaveFewMethods(t *testing.T) {
	t.Parallel()
	const most = 40
	methods := map[string]int{}
	for _, f := range files(t) {
		if !f.product() || !within(f.dir, "internal") || within(f.dir, "internal/store") {
			continue
		}
		for _, m := range method.FindAllSubmatch(read(t, f.path), -1) {
			methods[f.dir+"."+string(m[1])]++
		}
	}
	for name, n := range methods {
		if n > most {
			t.Errorf("%s has %d methods, want at most %d", name, n, most)
		}
	}
}

func TestMainOnlyWires(t *testing.T) {
	t.Parallel()
	const most = 40
	if lines := bytes.Count(read(t, "cmd/petstore/main.go"), []byte("\n")); lines >= most {
		t.Errorf("cmd/petstore/main.go has %d lines, want fewer than %d", lines, most)
	}
}

func read(t *testing.T, rel string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(rel)))
	processtest.Must(t, err)
	return text
}
