package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine describes it without its name, with the file system below a folder.
func machine(dir string) string {
	cores, processor := 0, runtime.GOARCH
	info, _ := os.ReadFile("/proc/cpuinfo") // what it does not say is left out
	for line := range strings.Lines(string(info)) {
		switch name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) {
		case "processor":
			cores++ // whatever this process may use
		case "model name":
			processor = strings.TrimSpace(value)
		}
	}
	return fmt.Sprintf("%s: %d cores of %s, %s, %s, databases on %s.", time.Now().UTC().Format(time.DateOnly), cores, processor,
		printed("uname", "-sr"), runtime.Version(), printed("findmnt", "-n", "-o", "FSTYPE", "-T", dir))
}

// loadAverage returns that of the last minute.
func loadAverage() string {
	first, _, _ := strings.Cut(printed("cat", "/proc/loadavg"), " ")
	return first
}

// printed returns what a program prints.
func printed(program string, args ...string) string {
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
