package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// TestCommandLineGuide runs the commands of the guide as they stand there, one
// after the other, on an empty workspace.
func TestCommandLineGuide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	petstore := servertest.Binary(filepath.Join(bin, "petstore"))
	if err := petstore.NewWorkspace(dir, "acme"); err != nil {
		t.Fatal(err)
	}
	key, err := petstore.NewKey(dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	server, err := petstore.Serve(servertest.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	script := guideCommands(t, "../internal/portal/guides/command-line.html")
	script = strings.NewReplacer("BASE_URL", server.URL, "pst_…", key.Key).Replace(script)
	cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the commands of the guide: %v\n%s", err, out)
	}
	for _, want := range []string{`"name": "acme"`, `"name": "Laika"`, `"complete": true`, "404 pet_not_found", "not found, or"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the commands of the guide print no %s but\n%s", want, out)
		}
	}
}

// guideCommands returns what the panels of a guide have for the shell.
func guideCommands(t *testing.T, path string) string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, panel := range regexp.MustCompile("(?s)\\(snippet \"[^\"]*\" \"sh\" `(.*?)`\\)").FindAllStringSubmatch(string(page), -1) {
		all = append(all, panel[1])
	}
	if len(all) == 0 {
		t.Fatalf("%s has no commands", path)
	}
	return strings.Join(all, "\n")
}
