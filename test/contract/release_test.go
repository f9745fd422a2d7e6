package contract

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"example.com/petstore/api"
	"example.com/petstore/test/servertest"
)

// must ends a test if there is an error.
var must = servertest.Must

// oasdiff installs the program below the user's cache directory, and returns its path.
var oasdiff = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "petstore-test-clients", "oasdiff-1.33.0")
	cmd := exec.Command("go", "install", "github.com/oasdiff/oasdiff@v1.33.0")
	cmd.Env = append(os.Environ(), "GOBIN="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install oasdiff: %w\n%s", err, out)
	}
	return filepath.Join(dir, "oasdiff"), nil
})

// A document is a description, without its comments and its layout.
type document = map[string]any

func parse(t *testing.T, text []byte) document {
	t.Helper()
	var d document
	must(t, yaml.Unmarshal(text, &d))
	return d
}

// version returns the version of a description, or "".
func version(d document) string {
	info, _ := d["info"].(document) // nil if there is none
	v, _ := info["version"].(string)
	return v
}

// number returns a version as numbers, to be compared; nil if it is none.
func number(version string) []int {
	var n []int
	for part := range strings.SplitSeq(version, ".") {
		i, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		n = append(n, i)
	}
	return n
}

// baseline returns the path of the last released description.
func baseline(t *testing.T) string {
	t.Helper()
	released, err := filepath.Glob("../../api/released/*.yaml")
	if err != nil || len(released) == 0 {
		t.Fatalf("api/released has no description (%v)", err)
	}
	return slices.MaxFunc(released, func(a, b string) int { return slices.Compare(number(versionIn(a)), number(versionIn(b))) })
}

// versionIn returns the version in the name of a released description.
func versionIn(path string) string { return strings.TrimSuffix(filepath.Base(path), ".yaml") }

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return text
}

func TestReleasedDescriptionsHaveTheirVersion(t *testing.T) {
	t.Parallel()
	path := baseline(t)
	if got, want := version(parse(t, read(t, path))), versionIn(path); got != want {
		t.Errorf("%s describes version %s, want %s", path, got, want)
	}
}

// TestReleasedDescriptionsStay fails if a released description was changed, even together with api/openapi.yaml and without
// the tag that scripts/release-description looks for.
func TestReleasedDescriptionsStay(t *testing.T) {
	t.Parallel()
	want := map[string]string{ // each version and the SHA-256 of its description
		"1.0.0": "5aea203f23b419d10956b741e7ee432500cee5ea19446a96a340fa58c7b98d41",
	}
	paths, err := filepath.Glob("../../api/released/*.yaml")
	must(t, err)
	got := map[string]string{}
	for _, path := range paths {
		got[versionIn(path)] = fmt.Sprintf("%x", sha256.Sum256(read(t, path)))
	}
	if !maps.Equal(got, want) {
		t.Errorf("api/released has %q, want %q; a released description never changes: restore it, and give api/openapi.yaml another "+
			"version, as docs/lifecycle.md says; one that has no tag yet gets its line here", got, want)
	}
}

// unannounced returns what is wrong with a change from one description to another, or "".
func unannounced(released, now document, changelog string) string {
	if reflect.DeepEqual(released, now) {
		return ""
	}
	was, is := version(released), version(now)
	if slices.Compare(number(is), number(was)) <= 0 {
		return fmt.Sprintf("it differs from the released %s, but its version is %q", was, is)
	}
	if !regexp.MustCompile(`(?m)^- .*\binterface ` + regexp.QuoteMeta(is) + `\b`).MatchString(changelog) {
		return fmt.Sprintf("CHANGELOG.md has no line that says what interface %s brings", is)
	}
	return ""
}

func TestChangesAreAnnounced(t *testing.T) {
	t.Parallel()
	released := parse(t, read(t, baseline(t)))
	if wrong := unannounced(released, parse(t, api.YAML()), string(read(t, "../../CHANGELOG.md"))); wrong != "" {
		t.Errorf("api/openapi.yaml: %s; docs/lifecycle.md says what to do (before a version has a tag: scripts/release-description)", wrong)
	}
}

// breaking returns what oasdiff says of the step from a released description to another: an error if it breaks clients.
// A stable operation must have been deprecated for 180 days before it goes, a beta one for 30; an experimental one may go.
func breaking(t *testing.T, from, to string) (string, error) {
	t.Helper()
	tool, err := oasdiff()
	must(t, err)
	return program(t, tool, "breaking", from, to, "--fail-on", "ERR", "--deprecation-days-stable", "180", "--deprecation-days-beta", "30")
}

func TestNothingBreaks(t *testing.T) {
	t.Parallel()
	if out, err := breaking(t, baseline(t), "../../api/openapi.yaml"); err != nil {
		t.Errorf("oasdiff breaking: %v\n%s", err, out)
	}
}
