package servertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// buildRaced builds the binary into dir as the tests are built: with the race
// detector or without.
func buildRaced(dir string) (Binary, error) {
	if !Raced {
		return Build(dir, "petstore")
	}
	b, err := Build(dir, "petstore", "-race", "-gcflags=modernc.org/...=-race=false") // as .ci/run says
	if err != nil {
		return "", err
	}
	return b, b.makeReports()
}

// reports is the folder into which the race detector in the binary writes, a
// file for each process: what a killed one had found is there too.
func (b Binary) reports() string { return string(b) + "-races" }

func (b Binary) makeReports() error {
	return errors.Join(os.Mkdir(b.reports(), 0o700), os.Chmod(b.reports(), 0o777)) //nolint:gosec // tests run it as another user too
}

// reportRaces is the setting of the environment for that, and for an end without the
// second for which the detector waits. Without the race detector it has no effect.
func (b Binary) reportRaces() string {
	return "GORACE=atexit_sleep_ms=0 log_path=" + filepath.Join(b.reports(), "pid")
}

// races returns an error that holds what the race detector has found in any
// process of the binary so far, or nil.
func (b Binary) races() error {
	files, err := filepath.Glob(filepath.Join(b.reports(), "*"))
	for _, file := range files {
		text, fault := os.ReadFile(file)
		err = errors.Join(err, fault, fmt.Errorf("the race detector, in a process of petstore:\n%s", text))
	}
	return err
}
