// Package npmtest installs the packages of npm that tests use, as package-lock.json pins them, out of the source tree: what
// they hold is not ours to build, vet or commit.
package npmtest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// patience is how long an installation may take.
const patience = 10 * time.Minute

// Packages are those of one folder, for all the tests of a package. The first of them that asks installs them. Its methods
// may be called concurrently.
type Packages struct {
	From    string // the folder, which has package.json, package-lock.json and .npmrc
	Without string // what a test that is skipped says, such as "the description is not linted"

	once sync.Once
	dir  string
	err  error
}

// Dir returns the folder that has node_modules. It skips the test if there is no npm on this machine, and fails it if CI is
// "true".
func (p *Packages) Dir(tb testing.TB) string {
	tb.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		missing := "npm is not installed: " + p.Without
		if os.Getenv("CI") == "true" {
			tb.Fatal(missing)
		}
		tb.Skip(missing)
	}
	p.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		p.dir, p.err = install(ctx, p.From)
	})
	if p.err != nil {
		tb.Fatal(p.err)
	}
	return p.dir
}

// Program returns the path of a program of the packages. It ends the test as Dir does.
func (p *Packages) Program(tb testing.TB, name string) string {
	tb.Helper()
	return filepath.Join(p.Dir(tb), "node_modules", ".bin", name)
}

// install installs the packages below the user's cache directory, unless these very files were installed before. Several
// processes may do so at once.
func install(ctx context.Context, from string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	texts, name, err := pinned(from)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "petstore-test-clients", name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if err := ci(ctx, fresh, texts); err != nil {
		return "", err
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, other := os.Stat(dir); other != nil {
			return "", err
		}
	}
	return dir, nil
}

// pinned returns the files that say what is installed, and a name for exactly that.
func pinned(from string) (texts map[string][]byte, name string, err error) {
	texts, hash := map[string][]byte{}, sha256.New()
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		text, err := os.ReadFile(filepath.Join(from, name)) //nolint:gosec // the tests name the folder
		if err != nil {
			return nil, "", err
		}
		texts[name] = text
		hash.Write(text)
	}
	return texts, fmt.Sprintf("%x", hash.Sum(nil)[:8]), nil
}

func ci(ctx context.Context, dir string, texts map[string][]byte) error {
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "npm", "ci")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
}
