package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockInPageCache reads a file into the kernel's cache and keeps it there until release is
// called: what is measured is the service, not how much of a file the
// kernel has given away meanwhile.
//
// It is read in small pieces, as a server reads that is asked for this and that.
// What is read in one go the kernel may keep in pieces of many pages (large
// folios), and to write one page of such a piece cost ten times as much here.
func lockInPageCache(path string) (release func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Sync(); err != nil {
		return nil, err
	}
	for _, advice := range []int{unix.FADV_DONTNEED, unix.FADV_RANDOM} {
		if err := unix.Fadvise(int(f.Fd()), 0, 0, advice); err != nil {
			return nil, fmt.Errorf("fadvise %s: %w", path, err)
		}
	}
	size, err := io.Copy(io.Discard, struct{ io.Reader }{f})
	if err != nil {
		return nil, err
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap %s: %w", path, err)
	}
	if err := unix.Mlock(data); err != nil {
		return nil, errors.Join(fmt.Errorf("mlock %s: %w; run this as root, or with a higher ulimit -l", path, err), unix.Munmap(data))
	}
	return func() error { return unix.Munmap(data) }, nil
}
