package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/processtest"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	code    = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`")
	notSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// slugs returns the anchors of a page's headings, as GitHub makes them.
func slugs(page string) []string {
	var all []string
	for _, h := range heading.FindAllStringSubmatch(regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(page, ""), -1) {
		text := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(h[1], "$1")
		all = append(all, strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(text), ""), " ", "-"))
	}
	return all
}

// TestLinks follows every link between pages of the repository, to its anchor.
func TestLinks(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if filepath.Ext(name) == ".md" {
			checkLinks(t, name)
		}
		return nil
	})
	processtest.Must(t, err)
}

func checkLinks(t *testing.T, name string) {
	t.Helper()
	page := text(t, name)
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(page, ""), -1) {
		target := m[1] + m[2]
		if strings.Contains(target, "://") {
			continue
		}
		file, anchor, _ := strings.Cut(target, "#")
		to := name
		if file != "" {
			to = filepath.Join(filepath.Dir(name), file)
		}
		if _, err := os.Stat(to); err != nil {
			t.Errorf("%s links to %s, which does not exist", name, target)
		} else if anchor != "" && !slices.Contains(slugs(text(t, to)), anchor) {
			t.Errorf("%s links to %s, which has no such heading", name, target)
		}
	}
}

func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	processtest.Must(t, err)
	return string(data)
}
