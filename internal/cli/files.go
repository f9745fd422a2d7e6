package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.com/petstore/internal/store/sqlite"
)

// replaceFile writes a file that appears under its name when it is whole and
// durable. It refuses to replace one unless force is set.
func (a *app) replaceFile(path string, force bool, write func(io.Writer) error) (err error) {
	if err := sqlite.CheckOverwrite(a.config.DB, path); err != nil {
		return err
	}
	if err := mayReplace(path, force); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if errors.Is(err, os.ErrNotExist) { // the error names the temporary file
		return fmt.Errorf("%s: the directory %s does not exist", path, filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// mayReplace returns an error if there is something at path that must stay:
// what is no file, whatever force says, and without it any file.
func mayReplace(path string, force bool) error {
	_, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	info, statErr := os.Stat(path) // a link is what it leads to
	switch {
	case err != nil:
		return err
	case statErr == nil && info.IsDir():
		return usagef("%s is a directory", path)
	case statErr == nil && !info.Mode().IsRegular():
		return usagef("%s is not a file, but a device, a pipe or a socket; %s is the standard output", path, standardStream)
	case !force:
		return usagef("%s exists already; --force replaces it", path)
	}
	return nil
}
