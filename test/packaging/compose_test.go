package packaging

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// TestContainersUseSettingsThatExist holds the image and the nodes against the
// settings of the program, and the image against the packages of the program.
func TestContainersUseSettingsThatExist(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "petstore")
	run(t, root(t), nil, "go", "build", "-o", program, "./cmd/petstore")
	var settings []struct{ Name string }
	must(t, json.Unmarshal([]byte(run(t, t.TempDir(), nil, program, "config", "print", "-o", "json")), &settings))
	known := map[string]bool{}
	for _, s := range settings {
		known["PETSTORE_"+strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))] = true
	}
	for _, name := range []string{"Dockerfile", "compose.yaml"} {
		used := regexp.MustCompile(`PETSTORE_[A-Z_]+`).FindAllString(servertest.Text(t, filepath.Join(root(t), "deploy", name)), -1)
		if len(used) == 0 {
			t.Errorf("deploy/%s sets nothing", name)
		}
		for _, variable := range used {
			if !known[variable] {
				t.Errorf("deploy/%s uses %s, which is no setting", name, variable)
			}
		}
	}
}

func TestImageHasEveryPackage(t *testing.T) {
	t.Parallel()
	dockerfile := servertest.Text(t, filepath.Join(root(t), "deploy", "Dockerfile"))
	ignored := servertest.Text(t, filepath.Join(root(t), ".dockerignore"))
	for path := range strings.FieldsSeq(run(t, root(t), nil, "go", "list", "-deps", "./cmd/petstore")) {
		ours, ok := strings.CutPrefix(path, "example.com/petstore/")
		if !ok {
			continue
		}
		folder, _, _ := strings.Cut(ours, "/")
		if !strings.Contains(dockerfile, "COPY "+folder+" ") || !strings.Contains(ignored, "\n!"+folder+"\n") {
			t.Errorf("the image is built without %s, which the program needs", ours)
		}
	}
}

// TestBalancer has HAProxy read its configuration.
func TestBalancer(t *testing.T) {
	t.Parallel()
	program := servertest.Need(t, "haproxy", "haproxy")
	out, err := exec.CommandContext(t.Context(), program, "-c", "-f", filepath.Join(root(t), "deploy/haproxy.cfg")).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("is valid")) {
		t.Errorf("haproxy -c = %v\n%s", err, out)
	}
}
