package security

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// secretive are the packages that see keys, sessions, links or what they are
// sealed with.
func secretive() []string {
	const internal = "example.com/petstore/internal/"
	return []string{internal + "access", internal + "store", internal + "httpapi", internal + "portal/console", internal + "store/sqlite", internal + "store/postgres", internal + "cli"}
}

// compared are the functions that compare or look up what could be a secret by
// its name or type, and why the time that it takes tells nothing of one.
func compared() map[string]string {
	const public = "no secret: the name has another meaning here"
	return map[string]string{
		"access.Directory.find":   "a look-up of SHA-256 of what was sent, which nobody can steer towards that of a key",
		"access.Directory.put":    "the SHA-256 of what was sent and is no key",
		"access.Directory.take":   "hashes of the store among themselves",
		"access.wellFormed":       "a checksum of what was sent with what was sent",
		"httpapi.presentedKey":    "one header of a request with another",
		"httpapi.onceOf":          public, // Idempotency-Key, by its form
		"store.receiptID.compare": public, // Idempotency-Keys of one workspace among themselves
		"console.sieve.takes":     public, // the id of a key
		"cli.version":             public, // the name of a setting of the build
	}
}

// TestSecretsAreNotCompared holds that no secret is compared with what a caller
// sent, in a time that depends on how much of it is right, but where compared
// says why it may be.
func TestSecretsAreNotCompared(t *testing.T) {
	t.Parallel()
	found := map[string]string{}
	exports := exported(t)
	for _, path := range secretive() {
		maps.Copy(found, comparisons(t, path, exports))
	}
	allowed := compared()
	for where, what := range found {
		if allowed[where] == "" {
			t.Errorf("%s compares what may be a secret: %s", where, what)
		}
	}
	for where := range allowed {
		if found[where] == "" {
			t.Errorf("%s compares nothing any more: take it off the list", where)
		}
	}
}

// exported returns the files that hold the types of all packages, by path.
func exported(t *testing.T) map[string]string {
	t.Helper()
	list := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, secretive()...)...) //nolint:gosec // our own packages
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		path, file, _ := strings.Cut(lines.Text(), " ")
		files[path] = file
	}
	return files
}

// comparisons returns what a package compares that may be a secret, by the
// function that does.
func comparisons(t *testing.T, path string, exports map[string]string) map[string]string {
	t.Helper()
	positions := token.NewFileSet()
	files := sources(t, positions, strings.Replace(path, "example.com/petstore", "../..", 1))
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	config := types.Config{Importer: importer.ForCompiler(positions, "gc", lookup)}
	if _, err := config.Check(path, positions, files, info); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if sides := comparison(n, info); slices.ContainsFunc(sides, func(e ast.Expr) bool { return maySecret(e, info) }) && !slices.ContainsFunc(sides, func(e ast.Expr) bool { return isConstant(e, info) }) {
					found[filepath.Base(path)+"."+nameOf(f)] = positions.Position(n.Pos()).String()
				}
				return true
			})
		}
	}
	return found
}

// sources parses the files of a package that are built here, without its tests.
func sources(t *testing.T, positions *token.FileSet, dir string) (files []*ast.File) {
	t.Helper()
	list := exec.Command("go", "list", "-f", `{{range .GoFiles}}{{.}} {{end}}`, ".")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		file, err := parser.ParseFile(positions, filepath.Join(dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// nameOf returns the name of a function, with its receiver.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	return fmt.Sprint(of) + "." + f.Name.Name
}

// comparison returns what an expression compares, or looks up in a map.
func comparison(n ast.Node, info *types.Info) []ast.Expr {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			return []ast.Expr{n.X, n.Y}
		}
	case *ast.SwitchStmt:
		if n.Tag != nil {
			return []ast.Expr{n.Tag}
		}
	case *ast.IndexExpr:
		if t := info.TypeOf(n.X); t != nil {
			if _, is := t.Underlying().(*types.Map); is {
				return []ast.Expr{n.Index}
			}
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && compares(info.Uses[f.Sel]) {
			return n.Args
		}
	}
	return nil
}

// compares reports whether a function compares its arguments, and takes the
// longer the more of them is equal.
func compares(f types.Object) bool {
	if f == nil || f.Pkg() == nil {
		return false
	}
	switch f.Pkg().Path() {
	case "bytes", "strings", "slices", "reflect", "cmp", "maps":
		return slices.Contains([]string{
			"Equal", "EqualFold", "Compare", "DeepEqual", "HasPrefix", "HasSuffix", "Contains", "Index", "IndexFunc", "ContainsFunc", "Cut", "CutPrefix", "BinarySearch",
		}, f.Name())
	}
	return false
}

// maySecret reports whether an expression may be a secret, by its type or its
// name.
func maySecret(e ast.Expr, info *types.Info) bool {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return maySecret(x.X, info)
	case *ast.SliceExpr:
		return maySecret(x.X, info)
	case *ast.IndexExpr:
		return maySecret(x.X, info)
	case *ast.CallExpr: // a conversion, or the sum of a MAC
		if f, ok := x.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sum" {
			return true
		}
		return len(x.Args) == 1 && info.Types[x.Fun].IsType() && maySecret(x.Args[0], info)
	}
	t := info.TypeOf(e)
	if named, ok := t.(*types.Named); ok && named.Obj().Name() == "Hash" {
		return true
	}
	name := ""
	switch x := e.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	switch strings.ToLower(name) {
	case "key", "secret", "token", "bearer", "plain", "presented", "cookie", "session", "raw", "mac", "sum", "hash", "digest", "password":
		return isText(t)
	}
	return false
}

// isText reports whether a type is that of a string, or of bytes.
func isText(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&types.IsString != 0
	case *types.Slice:
		return isByte(t.Elem())
	case *types.Array:
		return isByte(t.Elem())
	}
	return false
}

func isByte(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Byte
}

// isConstant reports whether an expression is a constant or nil: nothing secret.
func isConstant(e ast.Expr, info *types.Info) bool {
	v := info.Types[e]
	return v.Value != nil || v.IsNil()
}
