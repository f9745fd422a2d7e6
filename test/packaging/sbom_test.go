package packaging

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/npmtest"
	"example.com/petstore/test/servertest"
)

// patience is how long the validator may take.
const patience = 3 * time.Minute

var validator = npmtest.Packages{From: "sbom", Without: "bills of materials are not validated"}

// validate has CycloneDX's own library hold a bill of materials against the
// schema that it names, and returns what is wrong with it. It skips the test if
// there is no npm, unless CI is "true".
func validate(t *testing.T, bill string) (string, error) {
	t.Helper()
	modules := validator.Dir(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// From stdin, so that it finds the packages below the folder it runs in.
	cmd := exec.CommandContext(ctx, "node", "--input-type=module", "-", bill)
	cmd.Dir, cmd.Stdin = modules, strings.NewReader(servertest.Text(t, filepath.Join("sbom", "validate.mjs")))
	out, err := cmd.CombinedOutput()
	return string(out), err
}
