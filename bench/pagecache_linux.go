package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockInPageCache reads a file into the kernel's cache and keeps it there until release is
// called, if held: what is measured is the service, not how much of a file the
// kernel has given away meanwhile.
//
// It is read in small pieces, as a server reads that is asked for this and that.
// What is read in one go the kernel may keep in pieces of many pages (large
// folios), and to write one page of such a piece cost ten times as much here.
func lockInPageCache(path string) (release func() error, held bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Sync(); err != nil {
		return nil, false, err
	}
	for _, advice := range []int{unix.FADV_DONTNEED, unix.FADV_RANDOM} {
		if err := unix.Fadvise(int(f.Fd()), 0, 0, advice); err != nil {
			return nil, false, fmt.Errorf("fadvise %s: %w", path, err)
		}
	}
	size, err := io.Copy(io.Discard, struct{ io.Reader }{f})
	if err != nil {
		return nil, false, err
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, false, fmt.Errorf("mmap %s: %w", path, err)
	}
	lock := unix.Mlock(data)
	if lock != nil {
		say("%s may leave the kernel's cache (mlock: %v); as root, or with a higher ulimit -l, it would stay", path, lock)
	}
	return func() error { return unix.Munmap(data) }, lock == nil, nil
}
