//go:build linux || darwin

package cli

import (
	"io/fs"
	"syscall"
)

// freeBytes returns the room that this user may still fill on the disk of a
// folder.
func freeBytes(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // Bsize is an int32 on some systems
}

// ownerOf returns the id of the user that owns the file, or -1.
func ownerOf(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}
