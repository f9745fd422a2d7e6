package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"
)

// How often a lock that is taken is asked for again.
const askForLock = 20 * time.Millisecond

// errServed is why a second server does not start.
func errServed(path string) error {
	return fmt.Errorf("is served by the process %s: stop that first", serverOf(path))
}

// serverOf names the process that serves the database at path.
func serverOf(path string) string {
	if who := lockedBy(path + lockEnd); who != "" {
		return who
	}
	if t := readTrace(path); t != nil {
		return process(t.PID)
	}
	return "that has locked " + path + lockEnd
}

// lockServing locks the database at path for a server, and waits so long for
// another to end.
func lockServing(ctx context.Context, path string, wait time.Duration, log *slog.Logger) (*os.File, error) {
	f, err := os.OpenFile(path+lockEnd, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fileError(path+lockEnd, err)
	}
	told := false
	for deadline := time.Now().Add(wait); ; {
		got, err := tryLock(f)
		if got && err == nil {
			return f, nil
		}
		if err == nil && time.Now().Before(deadline) && ctx.Err() == nil {
			if !told {
				log.Info("waiting for the server that has the database", "path", path, "process", serverOf(path))
				told = true
			}
			select {
			case <-ctx.Done():
			case <-time.After(askForLock):
			}
			continue
		}
		if err == nil {
			err = cmp.Or(ctx.Err(), errServed(path))
		}
		return nil, errors.Join(err, f.Close())
	}
}

// claim locks the database at path if o is a server's, and returns an error if its
// log is not its own.
func (o Options) claim(ctx context.Context, path string) (*os.File, error) {
	if !o.Serve {
		_, err := served(path, func() error { return checkLog(path) })
		return nil, err
	}
	f, err := lockServing(ctx, path, o.Wait, o.Log)
	if err != nil {
		return nil, err
	}
	if err := checkLog(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// served reports whether a server has the database at path. If not, it runs f,
// while none can start.
func served(path string, f func() error) (yes bool, err error) {
	file, err := os.OpenFile(path+lockEnd, os.O_RDWR, 0) // none is made
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false, f()
	} else if err != nil {
		return false, err
	}
	defer file.Close()
	got, err := tryLock(file)
	if err != nil || !got {
		return !got, err
	}
	return false, f()
}
