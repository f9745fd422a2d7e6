//go:build unix

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// mapIndex maps the page that begins with the header.
func mapIndex(path string) (*walIndex, error) {
	file, err := os.OpenFile(path, os.O_RDONLY, 0) //nolint:gosec // beside the database
	if err != nil {
		return nil, err
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_SHARED) //nolint:gosec // descriptors are small
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &walIndex{file, data}, nil
}

// close leaves the page mapped: who reads while the database is closed may still
// look at it.
func (w *walIndex) close() { _ = w.file.Close() } // it was only read
