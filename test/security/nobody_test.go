package security

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// nobody returns the attributes of a process of a user who may do nothing but
// use dir.
func nobody(t *testing.T, dir string) *syscall.SysProcAttr {
	t.Helper()
	const id = 65534
	if err := os.Chown(dir, id, id); err != nil {
		t.Skipf("a folder cannot be given to another user: %v", err)
	}
	for parent := filepath.Dir(dir); parent != "/" && parent != os.TempDir(); parent = filepath.Dir(parent) {
		must(t, os.Chmod(parent, 0o755))
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
}
