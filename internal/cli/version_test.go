package cli

import (
	"os"
	"regexp"
	"testing"
)

// TestVersionIsThatOfTheChangelog: a build from the sources says which version it is, or follows.
func TestVersionIsThatOfTheChangelog(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindSubmatch(text)
	if newest == nil || version().Version != "v"+string(newest[1]) {
		t.Errorf("petstore version is %q, and the newest in CHANGELOG.md is %q", version().Version, newest)
	}
}
