package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// tryLock locks the file, exclusively or shared, and reports whether it got the lock.
// The kernel releases it when the process ends.
func tryLock(f *os.File, shared bool) (bool, error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB) //nolint:gosec // descriptors are small
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// DiskSpace returns how many bytes this user may still write to the disk of a folder,
// and how many the disk has.
func DiskSpace(dir string) (free, whole int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	block := int64(s.Bsize)                                      //nolint:unconvert // it is an int32 on some systems
	return int64(s.Bavail) * block, int64(s.Blocks) * block, nil //nolint:gosec,unconvert // disks are smaller
}

// inodeOf returns the number by which the filesystem knows a file.
func inodeOf(info fs.FileInfo) uint64 {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return s.Ino
}
