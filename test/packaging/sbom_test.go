package packaging

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/npmtest"
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
	cmd.Dir, cmd.Stdin = modules, strings.NewReader(read(t, filepath.Join("sbom", "validate.mjs")))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestValidatorRefuses damages a bill, each time in one place, and expects the
// validator to say so: else its silence about a release would mean nothing.
func TestValidatorRefuses(t *testing.T) {
	t.Parallel()
	program, bill := filepath.Join(t.TempDir(), "sbom"), filepath.Join(t.TempDir(), "bill.json")
	run(t, root(t), []string{"CGO_ENABLED=0"}, "go", "build", "-o", program, "./deploy/sbom")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	whole := run(t, "", nil, program, self, "v1.2.3", date)
	write := func(text string) {
		if err := os.WriteFile(bill, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(whole)
	if out, err := validate(t, bill); err != nil {
		t.Fatalf("the bill of this test: %v\n%s", err, out)
	}
	for _, damage := range []struct{ from, to string }{
		{`"type": "library"`, `"type": "book"`},
		{`"alg"`, `"algorithm"`},
		{`"SHA-256"`, `"SHA-255"`},
		{`"urn:uuid:`, `"urn:uid:`},
		{`"specVersion": "1.6"`, `"specVersion": "0.9"`},
		{`"timestamp": "`, `"timestamp": "on `},
		{`"ref": "pkg:golang/`, `"ref": "pkg:golong/`},
		{`"purl": "pkg:golang/`, `"purl": "pkg:Golang/`},
	} {
		write(strings.Replace(whole, damage.from, damage.to, 1))
		if out, err := validate(t, bill); err == nil || out == "" {
			t.Errorf("with %s for %s the validator finds nothing wrong", damage.to, damage.from)
		}
	}
}
