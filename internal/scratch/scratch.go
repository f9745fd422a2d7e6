// Package scratch makes temporary folders, and removes those of processes that were
// killed. It knows nothing of what is in them.
package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// prefix begins the name of each folder, and lockName is the file in it that its
// process keeps locked.
const (
	prefix   = "petstore-"
	lockName = ".petstore-lock"
)

// A Folder is a temporary folder.
type Folder struct {
	Path string
	lock *os.File
}

// Make makes a folder in [os.TempDir], whose name has what it is for, such as backup.
// First it removes what Sweep does.
func Make(what string) (f *Folder, err error) {
	if err := Sweep(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", prefix+what+"-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	early := filepath.Join(dir, lockName+"-early") // nobody else locks it under this name
	lock, err := os.OpenFile(early, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err = tryLock(lock); err == nil {
		err = os.Rename(early, filepath.Join(dir, lockName))
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Folder{dir, lock}, nil
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error {
	return errors.Join(f.lock.Close(), os.RemoveAll(f.Path))
}

// Sweep removes the folders of this user that processes left which have ended.
func Sweep() error {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return nil //nolint:nilerr // who needs the folder learns it
	}
	var errs []error
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) {
			errs = append(errs, sweep(filepath.Join(os.TempDir(), e.Name())))
		}
	}
	return errors.Join(errs...)
}

// sweep removes a folder if it is one of ours and its process has ended.
func sweep(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || !mine(info) {
		return nil //nolint:nilerr // it is gone, or another's
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if err != nil {
		return nil //nolint:nilerr // it is not ours, or not whole yet
	}
	defer lock.Close()
	if ended, err := tryLock(lock); !ended || err != nil {
		return nil //nolint:nilerr // it is in use, as far as can be told
	}
	if err := os.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// tryLock locks the file until this process ends or closes it, and reports whether
// nobody else has it locked.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // descriptors are small
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// mine reports whether the file belongs to the user of this process.
func mine(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
