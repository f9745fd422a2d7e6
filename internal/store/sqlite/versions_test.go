package sqlite

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestVersionsFitTogether: modernc.org/sqlite is generated for one version of
// modernc.org/libc and works with no other, whatever a module graph would take
// (https://gitlab.com/cznic/sqlite/-/issues/177). A driver that does not fit the engine
// fails the other tests here.
func TestVersionsFitTogether(t *testing.T) {
	t.Parallel()
	linked := func(path string) (version, file string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-json", path).Output()
		var m struct {
			Version, GoMod string
			Replace        *struct{ Version, GoMod string }
		}
		if err == nil {
			err = json.Unmarshal(out, &m)
		}
		if err != nil {
			t.Fatalf("go list -m %s: %v", path, err)
		}
		if m.Replace != nil {
			t.Fatalf("%s is replaced by %s", path, m.Replace.Version)
		}
		return m.Version, m.GoMod
	}
	required := func(file, path string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", file).Output()
		var m struct {
			Require []struct{ Path, Version string }
		}
		if err == nil {
			err = json.Unmarshal(out, &m)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, r := range m.Require {
			if r.Path == path {
				return r.Version
			}
		}
		t.Fatalf("%s requires no %s", filepath.Base(file), path)
		return ""
	}
	libc, _ := linked("modernc.org/libc")
	engine, engineMod := linked("modernc.org/sqlite")
	if want := required(engineMod, "modernc.org/libc"); libc != want {
		t.Errorf("the build links modernc.org/libc %s, and modernc.org/sqlite %s was made for %s: require that", libc, engine, want)
	}
}
