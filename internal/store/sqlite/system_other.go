//go:build !unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
)

// tryLock has no lock to take here.
func tryLock(*os.File, bool) (bool, error) { return true, nil }

func inodeOf(fs.FileInfo) uint64 { return 0 }

// Room reports that it is not known.
func Room(string) (free, whole int64, err error) { return 0, 0, errors.ErrUnsupported }
