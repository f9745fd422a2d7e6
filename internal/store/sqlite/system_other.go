//go:build !unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
)

// tryLock always succeeds: there are no such locks here.
func tryLock(*os.File, bool) (bool, error) { return true, nil }

func inodeOf(fs.FileInfo) uint64 { return 0 }

// DiskSpace returns errors.ErrUnsupported.
func DiskSpace(string) (free, whole int64, err error) { return 0, 0, errors.ErrUnsupported }
