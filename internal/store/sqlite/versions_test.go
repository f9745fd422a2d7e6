package sqlite

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestVersionsFitTogether: modernc.org/sqlite is generated for one version of
// modernc.org/libc and works with no other, whatever a module graph would take
// (https://gitlab.com/cznic/sqlite/-/issues/177). A driver that does not fit the engine
// fails the other tests here.
func TestVersionsFitTogether(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Path}} {{.Version}}{{.Replace}}\n{{.GoMod}}", "modernc.org/libc", "modernc.org/sqlite").Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 4 {
		t.Fatalf("go list = %q, %v", out, err)
	}
	libc := strings.TrimSuffix(lines[0], "<nil>")
	mod, err := os.ReadFile(lines[3]) // of the engine
	must(t, err)
	if !strings.Contains(string(mod), libc+"\n") {
		t.Errorf("the build links %s, and %s requires another: require that\n%s", libc, lines[2], mod)
	}
}
