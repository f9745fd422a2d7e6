// Package npm installs the packages that tests use, as package-lock.json pins them, out of the source tree: what they hold
// is not ours to build, vet or commit.
package npm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrAbsent is returned by Install if there is no npm on this machine.
var ErrAbsent = errors.New("npm is not installed")

// Install installs the packages of the folder from, which has package.json, package-lock.json and .npmrc, below the user's
// cache directory, unless these very files were installed before, and returns the folder that has node_modules. Several
// processes may install at once.
func Install(ctx context.Context, from string) (string, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return "", ErrAbsent
	}
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
