//go:build unix

package dbfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// tryLock locks the file for this process and reports whether it has the lock. The
// kernel gives it back when the process ends.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // descriptors are small
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// inodeOf returns the number by which the filesystem knows a file.
func inodeOf(info fs.FileInfo) uint64 {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return s.Ino
}
