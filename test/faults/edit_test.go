//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An edit is a defect that is put into one place of a package. The place is found by names, in whichever file it is, so
// that an edit outlives a refactoring that keeps them; one whose names are gone fails the test.
type edit struct {
	dir   string // of the package, from the root
	where string // the function, as "name" or "type.name"; "" for anywhere in the package
	find  func(function, source) []place
	what  string // for the message
}

// A source is a file of the package.
type source struct {
	path string
	text string
	file *ast.File
	base token.Pos
}

// A function is one that is declared, or all of a file.
type function struct {
	node ast.Node
	decl *ast.FuncDecl // nil for a file
}

// A place is bytes of a file, and what stands there instead.
type place struct {
	path     string
	from, to int
	with     string
}

func (s source) at(from, to token.Pos, with string) place {
	return place{s.path, int(from - s.base), int(to - s.base), with}
}

func (s source) of(n ast.Node) string { return s.text[n.Pos()-s.base : n.End()-s.base] }

// begins puts statements at the beginning of a function, in which $0 is the receiver and $1 the first parameter.
func begins(dir, where, statements string) edit {
	return edit{dir, where, func(f function, s source) []place {
		at := f.decl.Body.Lbrace + 1
		return []place{s.at(at, at, "\n"+named(f.decl, statements)+"\n")}
	}, "beginning"}
}

// calls puts another function in the place of the one called that has the name, whatever it is a method of. In its text
// $f is the one that was called, and $0, $1 as with begins.
func calls(dir, where, name, instead string) edit {
	return edit{dir, where, func(f function, s source) (all []place) {
		ast.Inspect(f.node, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && nameOf(call.Fun) == name {
				with := strings.ReplaceAll(named(f.decl, instead), "$f", s.of(call.Fun))
				all = append(all, s.at(call.Fun.Pos(), call.Fun.End(), with))
			}
			return true
		})
		return all
	}, "call of " + name}
}

// says puts another text in the place of one in a string.
func says(dir, text, instead string) edit {
	return edit{dir, "", func(f function, s source) (all []place) {
		ast.Inspect(f.node, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && strings.Contains(l.Value, text) {
				all = append(all, s.at(l.Pos(), l.End(), strings.ReplaceAll(l.Value, text, instead)))
			}
			return true
		})
		return all
	}, "string with " + text}
}

// names puts another name in the place of one.
func names(dir, where, name, instead string) edit {
	return edit{dir, where, func(f function, s source) (all []place) {
		ast.Inspect(f.node, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == name {
				all = append(all, s.at(id.Pos(), id.End(), instead))
			}
			return true
		})
		return all
	}, "use of " + name}
}

// nameOf returns the last name of what is called.
func nameOf(called ast.Expr) string {
	switch e := called.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// named puts the names of the receiver and the parameters in the places of $0, $1 and so on.
func named(f *ast.FuncDecl, text string) string {
	if f == nil {
		return text
	}
	lists := []*ast.FieldList{f.Recv, f.Type.Params}
	if f.Recv == nil {
		lists[0] = &ast.FieldList{List: []*ast.Field{{Names: []*ast.Ident{ast.NewIdent("$0")}}}}
	}
	n := 0
	for _, list := range lists {
		for _, field := range list.List {
			for _, id := range field.Names {
				text = strings.ReplaceAll(text, fmt.Sprint("$", n), id.Name)
				n++
			}
		}
	}
	return text
}

// functions returns those of a file that an edit means.
func (e edit) functions(s source) (all []function) {
	if e.where == "" {
		return []function{{s.file, nil}}
	}
	kind, name, method := strings.Cut(e.where, ".")
	if !method {
		kind, name = "", e.where
	}
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name && f.Body != nil && receiver(f) == kind {
			all = append(all, function{f, f})
		}
	}
	return all
}

// receiver returns the type that a function is a method of, or "".
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	return nameOf(t)
}

// places returns where the edit is made. It fails unless there is a place, in one function.
func (e edit) places(root string) ([]place, error) {
	sources, err := parseDir(root, e.dir)
	if err != nil {
		return nil, err
	}
	var all []place
	functions := 0
	for _, s := range sources {
		for _, f := range e.functions(s) {
			functions++
			all = append(all, e.find(f, s)...)
		}
	}
	if e.where != "" && functions != 1 {
		return nil, fmt.Errorf("%s has %d functions %s, want one", e.dir, functions, e.where)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no %s in %s", e.dir, e.what, strings.TrimPrefix(e.where+" of the package", " of "))
	}
	return all, nil
}

// parseDir returns the files of a package, without its tests.
func parseDir(root, dir string) (all []source, err error) {
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		all = append(all, source{path, string(text), file, token.Pos(set.File(file.Package).Base())})
	}
	return all, nil
}

// A declaration is Go code that stands in a package besides.
type declaration struct{ dir, code string }

// overlay writes what "go build" lays over the sources, and returns its path.
func overlay(t *testing.T, edits []edit, more *declaration) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]place{}
	for _, e := range edits {
		places, err := e.places(root)
		if err != nil {
			t.Fatalf("%v: the mutant must follow the code", err)
		}
		for _, p := range places {
			files[p.path] = append(files[p.path], p)
		}
	}
	dir := t.TempDir()
	replace := map[string]string{}
	write := func(path, text string) {
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d%s", len(replace), filepath.Ext(path)))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, places := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write(path, edited(string(text), places))
	}
	if more != nil {
		write(filepath.Join(root, more.dir, "mutant.go"), more.code)
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// edited makes the edits from the end on, so that the places before them stay.
func edited(text string, places []place) string {
	slices.SortFunc(places, func(a, b place) int { return b.from - a.from })
	for _, p := range places {
		text = text[:p.from] + p.with + text[p.to:]
	}
	return text
}
