// Package scratch makes temporary folders, and removes those of processes that were
// killed. It knows nothing of what is in them.
package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// prefix begins the name of each folder, and of nothing else: Sweep removes what has it and
// nobody keeps locked.
const prefix = "petstore-scratch-"

// A Folder is a temporary folder, which its process keeps locked.
type Folder struct {
	Path string
	lock *os.File
}

// Make makes a folder in [os.TempDir], whose name has what it is for, such as sandbox.
// First it calls Sweep.
func Make(what string) (*Folder, error) {
	Sweep()
	early, err := os.MkdirTemp("", "."+prefix+what+"-*") // Sweep knows it only when it is locked
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(early)
	f := &Folder{Path: filepath.Join(dir, name[1:])}
	if f.lock, err = tryLock(early); err == nil {
		err = os.Rename(early, f.Path)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(early))
	}
	return f, nil
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error {
	return errors.Join(os.RemoveAll(f.Path), f.lock.Close())
}

// Sweep removes the folders that processes left which have ended, as far as it may.
func Sweep() {
	entries, _ := os.ReadDir(os.TempDir()) // who needs the directory learns that it is not there
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		dir := filepath.Join(os.TempDir(), e.Name())
		if lock, err := tryLock(dir); err == nil {
			_ = os.RemoveAll(dir) // another user's may stay
			_ = lock.Close()
		}
	}
}

// tryLock locks a folder until this process ends or closes the file. It returns an error if
// somebody else has it locked.
func tryLock(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err == nil {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil { //nolint:gosec // descriptors are small
			_ = f.Close()
		}
	}
	return f, err
}
