package main

import (
	"cmp"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine describes it without its name, with the file system below a folder.
func machine(dir string) string {
	model := printed("sed", "-n", "0,/^model name/s/^model name.*: //p", "/proc/cpuinfo")
	kernel, _, _ := strings.Cut(printed("uname", "-sr"), "-") // what follows may name the host
	return fmt.Sprintf("%s: %s cores of %s, %s, %s, databases on %s.", time.Now().UTC().Format(time.DateOnly), printed("nproc", "--all"),
		cmp.Or(model, runtime.GOARCH), kernel, runtime.Version(), printed("findmnt", "-n", "-o", "FSTYPE", "-T", dir))
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
