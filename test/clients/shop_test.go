package clients

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

const (
	oapiCodegen = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"
	ogen        = "github.com/ogen-go/ogen/cmd/ogen@v1.24.0"
)

// A built is a folder of programs, made once for all tests.
type built struct {
	once sync.Once
	dir  string
}

var scripts, programs built

// build has fill make the programs, in the first test that needs it.
func (b *built) build(t *testing.T, fill func(dir string)) string {
	t.Helper()
	b.once.Do(func() {
		dir, err := os.MkdirTemp(filepath.Dir(string(petstore)), "built-")
		must(t, err)
		fill(dir)
		b.dir = dir
	})
	if b.dir == "" {
		t.Fatal("the clients did not compile: see the test that failed first")
	}
	return b.dir
}

// typeScript generates the clients in TypeScript, compiles them strictly and returns the folder of the programs.
func typeScript(t *testing.T) string {
	t.Helper()
	packages := others.Dir(t)
	dir := scripts.build(t, func(dir string) {
		run(t, ".", "cp", "-R", "src", "tsconfig.json", "package.json", "openapi-ts.config.mjs", "kubb.config.mjs", dir)
		must(t, os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(dir, "node_modules")))
		run(t, dir, others.Program(t, "openapi-typescript"), description(t), "--output", "src/schema.ts")
		run(t, dir, others.Program(t, "openapi-ts"), "--input", description(t))
		run(t, dir, others.Program(t, "swagger-typescript-api"), "generate", "--enum-style", "union", "-p", description(t), "-o", "src/generated", "-n", "swagger-typescript-api.ts")
		run(t, dir, others.Program(t, "kubb"), "generate", "--config", "kubb.config.mjs", description(t))
		for _, library := range []string{"fetch", "axios"} {
			run(t, dir, others.Program(t, "orval"), "--input", description(t), "--output", "src/generated/orval-"+library+".ts", "--client", library)
		}
		run(t, dir, others.Program(t, "tsc"), "--project", ".", "--strict")
	})
	return filepath.Join(dir, "dist")
}

// goPrograms generates the clients in Go, vets what uses them and returns the folder of the programs.
func goPrograms(t *testing.T) string {
	t.Helper()
	dir := programs.build(t, func(dir string) {
		run(t, ".", "cp", "-R", "goclient/.", dir)
		must(t, os.MkdirAll(filepath.Join(dir, "petstore"), 0o755))
		run(t, ".", "go", "run", oapiCodegen, "-generate", "types,client", "-package", "petstore", "-o", filepath.Join(dir, "petstore", "petstore.gen.go"), description(t))
		run(t, ".", "go", "run", ogen, "--config", "ogen.yml", "--package", "ogen", "--target", filepath.Join(dir, "ogen"), description(t))
		run(t, dir, "go", "vet", "./shop", "./limited", "./ogenshop")
		run(t, dir, "go", "build", "-o", "bin/", "./...")
	})
	return filepath.Join(dir, "bin")
}

// prism starts the validating proxy in front of a server. It notes in the header Sl-Violations what the description does
// not allow of a request or an answer; with the flag --errors it answers with an error of its own instead.
func prism(t *testing.T, upstream string, flags ...string) string {
	t.Helper()
	cmd := exec.Command(others.Program(t, "prism"), append([]string{"proxy", description(t), upstream, "--host", "127.0.0.1", "--port", "0"}, flags...)...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone
		_ = cmd.Wait()
	})
	for lines, address := bufio.NewScanner(out), regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+)`); lines.Scan(); {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, out)
			return m[1]
		}
	}
	t.Fatal("prism ended before it was ready")
	return ""
}

func TestShopOfOthers(t *testing.T) {
	t.Parallel()
	direct := serve(t, "business", "shop")
	behind, afterwards := prism(t, direct.URL, "--errors"), later(t, direct.URL)
	for _, tc := range []struct {
		name    string
		command func(t *testing.T) []string
	}{
		{"openapi-fetch", func(t *testing.T) []string { return []string{"node", filepath.Join(typeScript(t), "openapi-fetch.js")} }},
		{"hey-api", func(t *testing.T) []string { return []string{"node", filepath.Join(typeScript(t), "hey-api.js")} }},
		{"oapi-codegen", func(t *testing.T) []string { return []string{filepath.Join(goPrograms(t), "shop")} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			command := tc.command(t)
			for where, url := range map[string]string{"the server": direct.URL, "the validating proxy": behind, "a later server": afterwards} {
				args := append(command[1:], url, direct.keys["shop"])
				if out := run(t, ".", command[0], args...); !strings.Contains(out, "a shop's life is over") {
					t.Errorf("against %s it printed %q, want the end of the shop's life", where, out)
				}
			}
		})
	}
}

// TestProxySees has the proxy see what it is there to see.
func TestProxySees(t *testing.T) {
	t.Parallel()
	url := prism(t, serve(t, "business", "shop").URL, "--errors")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/categories", strings.NewReader(`{"name":""}`))
	must(t, err)
	req.Header.Set("Authorization", "Bearer pst_any")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("the proxy answered an empty name with %d %s, want a violation", resp.StatusCode, got)
	}
}
